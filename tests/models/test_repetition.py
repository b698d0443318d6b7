from __future__ import annotations

import pytest

from hoptrail.models.prompt_text import start_of_loop


@pytest.mark.parametrize("piece", ["a", "and so on, ", "The river is long. It is wide.\n", "x" * 120 + " "])
def test_a9_endless_repetition_is_seen_wherever_it_is_cut(piece: str) -> None:
    for cut in (0, 1, len(piece) // 2):
        text = "It began well enough. " + piece * 500
        assert start_of_loop(text[: len(text) - cut]) is not None
    start = start_of_loop("It began well enough. " + piece * 500)
    assert start is not None
    assert start > 10


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no " * 20,
        "\n".join(f"{number}. Item number {number} of the list" for number in range(300)),
        '{"evidence": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}',
        "a" * 300,
    ],
)
def test_what_repeats_a_little_is_left_alone(text: str) -> None:
    assert start_of_loop(text) is None
