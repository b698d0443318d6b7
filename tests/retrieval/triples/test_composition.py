"""The algebra of composed triples: identities, what each composition can see, and agreement with an independent library."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail_papers.comprag.composition import (
    PRODUCTS,
    SLOTS,
    CompositionSettings,
    Method,
    bind,
    compose,
    permutations,
    role_vectors,
    unitary,
)

SIZE = 384
COMPOSED = [method for method in get_args(Method) if method != "text"]
SUMS = ("roles", "shift-sum", "concatenation")


@pytest.fixture
def chance() -> np.random.Generator:
    return np.random.default_rng(7)


def random_slots(chance: np.random.Generator, count: int, size: int = SIZE) -> FloatMatrix:
    return unit_length(chance.standard_normal((count, SLOTS, size)).astype(np.float32))


def composed(slots: FloatMatrix, settings: CompositionSettings, without: tuple[int, ...] = ()) -> FloatMatrix:
    known = np.ones(slots.shape[:2], dtype=bool)
    known[:, list(without)] = False
    return compose(slots, known, settings)


def swapped_cosine(slots: FloatMatrix, method: Method, *, turned: bool = False) -> float:
    """Mean cosine of triples with the same ones whose subject and object have changed places."""
    settings = CompositionSettings(method, unitary=turned)
    there, back = composed(slots, settings), composed(slots[:, ::-1], settings)
    return float((there * back).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("product", 1.0),
        ("mean", 1.0),
        ("permuted-product", 0.0),
        ("roles", 1 / 3),
        ("shift-sum", 1 / 3),
        ("concatenation", 1 / 3),
    ],
)
def test_who_does_it_to_whom_is_seen_or_not(method: Method, expected: float, chance: np.random.Generator) -> None:
    assert swapped_cosine(random_slots(chance, 400), method) == pytest.approx(expected, abs=0.02)


def test_shifting_or_binding_to_roles_does_not_mend_a_product(chance: np.random.Generator) -> None:
    slots = random_slots(chance, 1)[0]
    roles = role_vectors(SIZE)
    shifted = [np.roll(slots[place], place) for place in (0, 1, 2)]
    swapped = [np.roll(slots[2 - place], place) for place in (0, 1, 2)]
    bound = [bind(slots[place], roles[place]) for place in (0, 1, 2)]
    bound_swapped = [bind(slots[2 - place], roles[place]) for place in (0, 1, 2)]
    for there, back in ((shifted, swapped), (bound, bound_swapped)):
        products = [unit_length(bind(bind(a, b), c)) for a, b, c in (there, back)]
        assert float(products[0] @ products[1]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("method", SUMS)
def test_an_open_slot_leaves_what_the_others_say(method: Method, chance: np.random.Generator) -> None:
    slots, settings = random_slots(chance, 200), CompositionSettings(method)
    whole = composed(slots, settings)
    for left_out, share in (((2,), 2 / 3), ((0, 2), 1 / 3)):
        cosines = (whole * composed(slots, settings, without=left_out)).sum(axis=1)
        assert cosines.mean() == pytest.approx(np.sqrt(share), abs=0.01)


@pytest.mark.parametrize("method", PRODUCTS)
def test_a_product_with_an_open_slot_is_like_nothing(method: Method, chance: np.random.Generator) -> None:
    slots, settings = random_slots(chance, 200), CompositionSettings(method)
    cosines = (composed(slots, settings) * composed(slots, settings, without=(2,))).sum(axis=1)
    assert abs(cosines.mean()) < 0.02


def alike(chance: np.random.Generator, cosine: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Triples, and others each of whose slots has this cosine with theirs."""
    first, noise = random_slots(chance, 200), random_slots(chance, 200)
    noise = unit_length(noise - (noise * first).sum(axis=2, keepdims=True) * first)
    return first, (cosine * first + np.sqrt(1 - cosine**2) * noise).astype(np.float32)


@pytest.mark.parametrize(
    ("method", "turned", "expected"),
    [("roles", False, 0.8), ("concatenation", False, 0.8), ("product", False, 0.51), ("product", True, 0.34)],
)
def test_how_likeness_of_slots_becomes_likeness_of_triples(
    method: Method, turned: bool, expected: float, chance: np.random.Generator
) -> None:
    first, second = alike(chance, 0.8)
    settings = CompositionSettings(method, unitary=turned)
    cosines = (composed(first, settings) * composed(second, settings)).sum(axis=1)
    assert cosines.mean() == pytest.approx(expected, abs=0.02)


def test_concatenation_is_the_exact_mean_of_the_slots_and_roles_come_near(chance: np.random.Generator) -> None:
    first, second = random_slots(chance, 300), random_slots(chance, 300)
    exact = (first * second).sum(axis=2).mean(axis=1)
    settings = CompositionSettings("concatenation")
    np.testing.assert_allclose((composed(first, settings) * composed(second, settings)).sum(axis=1), exact, atol=1e-6)
    roles = (composed(first, CompositionSettings()) * composed(second, CompositionSettings())).sum(axis=1)
    assert 0.02 < (roles - exact).std() < 0.06


@pytest.mark.parametrize("size", [384, 15])
def test_a_unitary_key_is_undone_exactly(size: int, chance: np.random.Generator) -> None:
    vectors = random_slots(chance, 20, size)[:, 0]
    for key in role_vectors(size):
        assert np.linalg.norm(key) == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(np.abs(np.fft.rfft(key)), 1, atol=1e-5)
        undone = np.fft.irfft(np.fft.rfft(bind(vectors, key)) * np.conj(np.fft.rfft(key)), size)
        np.testing.assert_allclose(undone, vectors, atol=1e-5)
    np.testing.assert_allclose(np.abs(np.fft.rfft(unitary(vectors))), 1, atol=1e-5)


def test_slots_left_out_count_for_nothing_and_nothing_known_is_zero(chance: np.random.Generator) -> None:
    slots = random_slots(chance, 4)
    other = slots.copy()
    other[:, 1] = 9
    for method in COMPOSED:
        settings = CompositionSettings(method)
        np.testing.assert_allclose(composed(slots, settings, (1,)), composed(other, settings, (1,)), atol=1e-6)
        assert not composed(slots, settings, (0, 1, 2)).any()


def test_roles_and_permutations_are_drawn_once_for_all() -> None:
    first, other, _ = role_vectors(SIZE)
    assert np.array_equal(role_vectors(SIZE), role_vectors.__wrapped__(SIZE))
    assert abs(float(first @ other)) < 0.2
    assert np.array_equal(permutations(SIZE), permutations.__wrapped__(SIZE))


def test_text_does_not_compose(chance: np.random.Generator) -> None:
    slots = random_slots(chance, 1)
    with pytest.raises(ValueError, match="does not compose"):
        composed(slots, CompositionSettings("text"))


@pytest.mark.parametrize("size", [16, 15])
def test_binding_is_circular_convolution_as_defined(size: int, chance: np.random.Generator) -> None:
    """Plate 1995, section II: sums written out, where ours goes by FFT."""
    first, second = random_slots(chance, 1, size)[0, :2]
    places = range(size)
    convolved = [sum(first[k] * second[(j - k) % size] for k in places) for j in places]
    np.testing.assert_allclose(bind(first, second), convolved, atol=1e-6)


def test_permuted_slots_are_unitary_when_they_are_bound() -> None:
    """A product of unitary vectors is unitary: its spectrum has magnitude 1, up to its length."""
    slots = np.random.default_rng(3).standard_normal((2, 3, 64)).astype(np.float32)
    made = compose(slots, np.ones((2, 3), dtype=bool), CompositionSettings("permuted-product", unitary=True))
    magnitudes = np.abs(np.fft.rfft(made))
    assert np.allclose(magnitudes, magnitudes[:, :1], atol=1e-4)
