"""What holds for every executor: order, bounds, errors that come back as they are, and batches that are named."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import far_work
from command import Hoptrail
from hoptrail.errors import DocumentError, IndexMismatch, TaskFailed, UsageError, WorkFailed
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work, batched, from_to, is_remote_safe
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.encoder_factory import NamedEncoder, remote_safe_encoder
from hoptrail.models.endpoint import EndpointEncoder
from hoptrail.models.environment import Address
from hoptrail.models.local import MiniLmEncoder
from hoptrail.serving.options import open_executor
from hoptrail.types import Usage
from world import HashingEncoder


def test_results_come_in_the_order_of_the_batches(executor: Executor) -> None:
    work = Work("squaring", far_work.squared, str)
    assert list(executor.map(work, ([number, number + 1] for number in range(40)))) == [
        [number * number, (number + 1) * (number + 1)] for number in range(40)
    ]
    assert list(executor.map(work, iter(()))) == []


def test_a_function_brings_its_arrays(executor: Executor) -> None:
    matrix = np.arange(60_000, dtype=np.float32).reshape(20, -1)
    work: Work[int, FloatMatrix] = Work("shifting", partial(far_work.shifted, matrix), str)
    for _ in range(2):  # the second time, it is there already
        rows: list[FloatMatrix] = list(executor.map(work, range(20)))
        assert np.array_equal(np.stack(rows), matrix + 1)


def test_batches_are_drawn_as_there_is_room(executor: Executor) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[list[int]]:
        for number in range(10_000):
            drawn.append(number)
            yield [number]

    results = executor.map(Work("squaring", far_work.squared, str), endless())
    assert list(islice(results, 3)) == [[0], [1], [4]]
    assert len(drawn) <= 3 + 2 * (os.cpu_count() or 1)


def test_what_is_raised_on_purpose_comes_back_whole(executor: Executor) -> None:
    results = executor.map(Work("reading", far_work.unreadable, str), range(5))
    assert list(islice(results, 2)) == [0, 1]
    with pytest.raises(DocumentError) as torn:
        next(results)
    assert (torn.value.source, torn.value.reason, str(torn.value)) == ("page two", "is torn", "page two: is torn")
    with pytest.raises(TaskFailed, match="said nothing") as failed:
        list(executor.map(Work("asking", far_work.refused, str), range(5)))
    assert failed.value.usage == Usage(calls=3)


def test_a_fault_names_the_batch() -> None:
    with pytest.raises(ZeroDivisionError) as fault:
        list(LOCAL_EXECUTOR.map(Work("dividing", far_work.broken, lambda number: f"number {number}"), range(5)))
    assert fault.value.__notes__ == ["while dividing number 2"]


@pytest.mark.ray
@pytest.mark.parametrize(("function", "reason"), [(far_work.broken, "ZeroDivisionError"), (far_work.dying, "")])
def test_on_ray_a_fault_names_the_batch(on_ray: Executor, function: Callable[[int], int], reason: str) -> None:
    """Whether its function fails, or takes every worker that tries it along."""
    results = on_ray.map(Work("dividing", function, lambda number: f"number {number}"), range(5))
    assert len(list(islice(results, 2))) == 2
    with pytest.raises(WorkFailed, match=rf"dividing number 2 failed on Ray: .*{reason}"):
        next(results)
    assert list(on_ray.map(Work("squaring", far_work.squared, str), [[3]])) == [[9]]


@pytest.mark.ray
def test_on_ray_it_is_other_processes_that_work(on_ray: Executor) -> None:
    assert os.getpid() not in set(on_ray.map(Work("asking", far_work.process, str), range(8)))


# --- opening


def test_executors_are_opened_by_name() -> None:
    with open_executor("here") as executor:
        assert executor is LOCAL_EXECUTOR
    with pytest.raises(UsageError, match="here or ray, not on 'mars'"):
        open_executor("mars")
    with pytest.raises(UsageError, match="use it with --on ray"):
        open_executor("here", "auto")


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'hoptrail\[ray\]'"), open_executor("ray"):
        pass


def test_the_command_line_says_what_cannot_be_meant(hoptrail: Hoptrail, world: Path, tmp_path: Path) -> None:
    for options, said in ((("--on", "mars"), "here or ray"), (("--address", "auto"), "use it with --on ray")):
        ended = hoptrail("index", world, "--index", tmp_path / "index", *options)
        assert (ended.code, said in ended.err) == (2, True), ended.err
    assert not (tmp_path / "index").exists()


# --- batches, names, travelling


def test_batches_end_at_a_number_or_at_a_size() -> None:
    assert list(batched("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(batched([3, 1, 1, 9, 1], 3, lambda one: one, 4)) == [[3, 1], [1, 9], [1]]
    assert list(batched([], 3)) == []


def test_a_batch_is_called_by_its_items_or_by_its_ends() -> None:
    assert from_to(["a", "b", "c"]) == "a, b, c"
    assert from_to(["a", "b", "c", "d"]) == "4 items, a to d"


def test_only_what_says_so_travels() -> None:
    assert is_remote_safe(NamedEncoder("minilm", HashingEncoder().identity))
    assert is_remote_safe(OfflineLanguage())
    assert is_remote_safe(OfflineLanguage(far_work.FarEncoder()))
    assert not is_remote_safe(HashingEncoder())
    assert not is_remote_safe(OfflineLanguage(HashingEncoder()))


# --- encoding


def test_how_many_cores_encode_moves_no_bit() -> None:
    texts = [" ".join(["the river Isk rises in the hills"] * (1 + number % 9)) for number in range(80)]
    alone, together = (MiniLmEncoder(threads=threads).encode(texts) for threads in (1, 2))
    assert alone.tobytes() == together.tobytes()


def test_an_encoder_that_is_another_one_here_is_refused() -> None:
    meant = MiniLmEncoder().identity
    with pytest.raises(IndexMismatch, match=r"is another one on .* expected f00"):
        NamedEncoder("minilm", replace(meant, digest="f00")).encode(["a"])
    assert NamedEncoder("minilm", meant).encode(["a"]).tobytes() == MiniLmEncoder().encode(["a"]).tobytes()


def test_an_endpoint_stays_with_its_key() -> None:
    encoder = EndpointEncoder(Address("http://localhost:1/v1", "m", "secret"))
    assert remote_safe_encoder("endpoint:m", encoder) is encoder
    assert not is_remote_safe(encoder)
