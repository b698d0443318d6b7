"""The lease of an object store's writer: taken, renewed, lost and found again. Knows nothing of what is written under it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from hoptrail.errors import IndexBusy, StorageError
from hoptrail.store.lease import OBJECT, Lease
from hoptrail.store.place import Place
from object_store import Asked, Fault, FaultyStore, nth


@contextmanager
def taken(place: Place, term: float, holder: str) -> Iterator[Lease]:
    lease = Lease(place, term, holder)
    lease.take()
    try:
        yield lease
    finally:
        lease.give_back()


def test_a_lease_is_renewed_while_its_holder_lives(stored: Place) -> None:
    with taken(stored, 0.6, "one") as lease:
        time.sleep(1.2)
        lease.check()
        with pytest.raises(IndexBusy, match="written by one"):
            Lease(stored, 60, "two").take()
    with taken(stored, 60, "two"):
        pass


def test_a_dead_holders_lease_runs_out_and_a_living_one_hears_that_it_was_taken(
    stored: Place, object_store: FaultyStore
) -> None:
    def of_one(asked: Asked) -> Fault | None:
        """Nothing of the first holder's renewals gets through; then it is suspended."""
        return Fault.REFUSED if asked.method == "PUT" and asked.path.endswith(OBJECT) else None

    with taken(stored, 0.5, "one") as lease, ExitStack() as later:
        with object_store.failing(of_one):
            time.sleep(0.4)
        with lease._writing:  # which its renewals wait for
            time.sleep(0.8)
            other = later.enter_context(taken(stored, 60, "two"))
        with pytest.raises(IndexBusy, match="taken over by two"):
            lease.check()
        lease.give_back()
        other.check()
        with pytest.raises(IndexBusy, match="written by two"):
            Lease(stored, 60, "three").take()


def test_a_lease_of_a_store_that_failed_when_it_was_tried_is_given_back(
    stored: Place, object_store: FaultyStore
) -> None:
    writes = []

    def second(asked: Asked) -> Fault | None:
        """The lease is written; the store fails while it is asked whether it keeps to conditions."""
        if asked.method == "PUT":
            writes.append(asked)
        return Fault.REFUSED if asked.method == "PUT" and len(writes) == 2 else None

    with object_store.failing(second), pytest.raises(StorageError):
        Lease(stored, 60, "one").take()
    with taken(stored, 60, "two"):
        pass


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.CUT])
def test_a_lease_whose_answers_are_lost_is_held_all_the_same(
    stored: Place, object_store: FaultyStore, fault: Fault
) -> None:
    for number in range(3):
        with object_store.failing(nth(0, fault, again=False)), taken(stored, 60, f"holder {number}") as lease:
            lease.check()


def test_a_lease_outlives_a_renewal_of_which_nothing_was_heard(stored: Place, object_store: FaultyStore) -> None:
    """It took effect, but its answer was lost, and every further try failed: the object is ours, and newer than we know."""
    heard = []

    def silent(asked: Asked) -> Fault | None:
        heard.append(asked)
        return Fault.LOST if len(heard) == 1 else Fault.REFUSED

    with taken(stored, 60, "one") as lease:
        for _ in range(2):
            heard.clear()
            with object_store.failing(silent), pytest.raises(StorageError):
                lease._renew()
        lease._renew()
        lease.check()
        with pytest.raises(IndexBusy, match="written by one"):
            Lease(stored, 60, "two").take()
    with taken(stored, 60, "two"):
        pass


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no clock that goes on in its sleep")
def test_a_lease_runs_out_while_the_machine_sleeps(stored: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its usual clock stands still then, and so does the thread that renews (here there is none)."""
    stopped = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: stopped)
    lease = Lease(stored, 0.3, "one")
    lease._put()
    time.sleep(0.4)
    with taken(stored, 60, "two"), pytest.raises(IndexBusy, match="taken over by two"):
        lease.check()
