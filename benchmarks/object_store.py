"""An index on an object store against one in a folder: times, and whether any failure leaves a state that is not whole.

    python -m benchmarks.object_store [--protocol s3|gs] [--documents N] [--kills N] [--faults N] [--races N] [--seed N]
        [--out FILE.json]

The store is a server in this process, on the loopback: moto's for s3, for gs the one of the tests, which speaks Google's XML
interface as it is documented. What a request costs there is the server's Python, not a network, so the ratios say how many
requests are made and not what a cloud will take.

Kills: a process indexes turn after turn (a turn rewrites all documents) and is killed at a random moment; whoever looks must see
one turn, whole, and none that was told done may be missing; the next process waits for the lease to run out and goes on.
Faults: a turn during which the writes from a random one on are refused, or one write fails, or is done and its answer is lost or
cut off; then a look, the turn again, and a look. Races: two writers without leases, as one that was taken for dead and is not.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Barrier, Thread

from benchmarks.common import ROOT, parser, percentile, print_table, write_results
from benchmarks.known_states import NotingEncoder

sys.path.insert(0, str(ROOT / "tests"))
import cloud_storage
from hoptrail import Document, Kind, Span, Unit
from hoptrail.errors import HoptrailError, IndexBusy
from hoptrail.store.head import Head, HeadRecord
from hoptrail.store.place import Place
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import StorageSettings, connect
from hoptrail.store.writer import Writer, writing_to
from hoptrail.types import Usage, content_id
from object_store import Fault, FaultyStore, environment, nth, serving

ENCODER = NotingEncoder(Path(os.devnull))
STORAGE = StorageSettings(lease_seconds=1)
PARTS = 4
"""Documents of a turn in the trials."""
QUERIES = 30


@dataclass(slots=True)
class Tally:
    """What came of trials: `ended` counts what the writers said, `invalid` describes states that should not be."""

    trials: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    invalid: list[str] = field(default_factory=list)


# --- what is written and what must be seen


def write_turn(writer: Writer, turn: int, parts: int = PARTS) -> None:
    """Put a turn's documents in place of all others, with a checkpoint half-way."""
    before = {entry.id for entry in writer.snapshot().entries}
    documents = [
        _document(f"part {part}", f"Turn {turn} is about rivers. This is part {part}.") for part in range(parts)
    ]
    half = len(documents) // 2
    for some in (documents[:half], documents[half:]):
        units = [_passage(document) for document in some]
        writer.put_documents(some)
        writer.put_units(units, ENCODER.encode([unit.searchable for unit in units]))
        writer.checkpoint()
    writer.remove_documents(before - {document.id for document in documents})
    writer.publish(Usage())


def turn_of(place: Place) -> int:
    """The turn that an index shows, -1 where there is none.

    Raises:
        AssertionError: what it shows is mixed or not whole.
    """
    if not Snapshot.exists(place):
        return -1
    snapshot = Snapshot.open(place)
    documents = list(snapshot.documents())
    if not documents:
        return -1
    assert {unit.document: unit.text for unit in snapshot.units(Kind.PASSAGE)} == {
        one.id: one.text for one in documents
    }
    assert len(snapshot.vectors(Kind.PASSAGE).ids) == len(documents) == PARTS
    assert {unit.document for unit, _ in snapshot.search_keywords("rivers", 99)} == {d.id for d in documents}
    turns = {int(document.text.split()[1]) for document in documents}
    assert len(turns) == 1, turns
    return turns.pop()


def look(place: Place, allowed: Callable[[int], bool], tally: Tally, what: str) -> int:
    """Note what is wrong; gives the turn."""
    try:
        turn = turn_of(place)
    except (HoptrailError, AssertionError) as error:
        tally.invalid.append(f"{what}: {type(error).__name__} {error}"[:300])
        return -1
    if not allowed(turn):
        tally.invalid.append(f"{what}: turn {turn}")
    return turn


def _document(title: str, text: str) -> Document:
    return Document(content_id("d", title, text), title, text, (len(text),), (f"/made/{title}",))


def _passage(document: Document) -> Unit:
    end = len(document.text)
    return Unit(content_id("p", document.id), Kind.PASSAGE, document.title, document.text, (Span(document.id, 0, end),))


# --- kills


def work_on(address: str, first: int, line: Connection) -> None:
    """In a process of its own, until it is killed: turn after turn, each told when it is done."""
    turn = first
    while True:
        try:
            with writing_to(Place.of(address), ENCODER.identity, STORAGE) as writer:
                line.send(("writing", turn))
                write_turn(writer, turn)
            line.send(("done", turn))
            turn += 1
        except IndexBusy:  # the lease of the one before has not run out yet
            time.sleep(0.1)


def kill_trials(count: int, place: Place, chance: random.Random) -> Tally:
    context = multiprocessing.get_context("spawn")
    tally, turn = Tally(), -1
    span = 2.0
    for number in range(count):
        ours, theirs = context.Pipe()
        worker = context.Process(target=work_on, args=(place.address, turn + 1, theirs), daemon=True)
        worker.start()
        theirs.close()
        ours.recv()
        started = time.monotonic()
        time.sleep(chance.random() * span)
        worker.kill()
        worker.join()
        acknowledged = turn
        try:
            while ours.poll():
                said, which = ours.recv()
                acknowledged = which if said == "done" else acknowledged
                tally.ended[said] += 1
        except EOFError:
            pass
        span = max(1.0, time.monotonic() - started) if acknowledged > turn else span + 1.0
        tally.trials += 1
        seen = look(place, lambda turn, least=acknowledged: least <= turn <= least + 1, tally, f"kill {number}")  # type: ignore[misc]
        turn = max(turn, seen, acknowledged)
    return tally


# --- faults


def fault_trials(count: int, store: FaultyStore, place: Place, chance: random.Random) -> Tally:
    tally, turn = Tally(), 0
    with writing_to(place, ENCODER.identity, STORAGE) as writer:
        write_turn(writer, turn)
    store.requests.clear()
    with writing_to(place, ENCODER.identity, STORAGE) as writer:
        write_turn(writer, turn := 1)
    writes = sum(asked.method == "PUT" for asked in store.requests)
    for number in range(count):
        fault = chance.choice([Fault.REFUSED, Fault.FAILED, Fault.LOST, Fault.CUT])
        at = chance.randrange(writes)
        what = f"{fault.name.lower()} at write {at}"
        with store.failing(nth(at, fault, again=fault is Fault.REFUSED)):
            said = _try_turn(place, turn + 1)
        tally.ended[f"{fault.name.lower()}: {said}"] += 1
        look(place, lambda seen, turn=turn: seen in (turn, turn + 1), tally, what)  # type: ignore[misc]
        while (again := _try_turn(place, turn + 1)) == "IndexBusy":
            time.sleep(0.2)
        if again != "done":
            tally.invalid.append(f"{what}, again: {again}")
        turn += 1
        look(place, lambda seen, turn=turn: seen == turn, tally, f"{what}, again")  # type: ignore[misc]
        tally.trials += 1
        store.requests.clear()
        if number % 10 == 9:
            print(f"  {number + 1} faults, {len(tally.invalid)} invalid", file=sys.stderr, flush=True)
    return tally


def _try_turn(place: Place, turn: int) -> str:
    try:
        with writing_to(place, ENCODER.identity, STORAGE) as writer:
            write_turn(writer, turn)
    except HoptrailError as error:
        return type(error).__name__
    return "done"


# --- races


def race_trials(count: int, place: Place) -> Tally:
    """Two writers that both believe they may: at most one of two turns is seen, and it is one whose writer was told done."""
    tally, turn = Tally(), 0
    with writing_to(place, ENCODER.identity, STORAGE) as writer:
        write_turn(writer, turn)
    for number in range(count):
        writers = [_unleased(place) for _ in range(2)]
        said: dict[int, str] = {}
        barrier = Barrier(2)

        def race(
            which: int, writer: Writer, turn: int = turn, said: dict[int, str] = said, at: Barrier = barrier
        ) -> None:
            at.wait()
            try:
                write_turn(writer, turn + 1 + which)
            except HoptrailError as error:
                said[turn + 1 + which] = type(error).__name__
            else:
                said[turn + 1 + which] = "done"

        threads = [Thread(target=race, args=(which, writer)) for which, writer in enumerate(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = {one for one, word in said.items() if word == "done"}
        tally.ended[" and ".join(sorted(said.values()))] += 1
        # One that was told of a failure after its head was committed (while sweeping) may be what is seen.
        seen = look(place, lambda seen, turn=turn: turn <= seen <= turn + 2, tally, f"race {number}")  # type: ignore[misc]
        if len(done) > 1 or (done and seen not in done):
            tally.invalid.append(f"race {number}: {sorted(done)} were told done, and {seen} is seen")
        tally.trials += 1
        turn = max(turn + 2, seen)
        with writing_to(place, ENCODER.identity, STORAGE) as writer:
            write_turn(writer, turn)
    return tally


def _unleased(place: Place) -> Writer:
    database = connect(place)
    record = HeadRecord(database, place)
    return Writer(place, database, record, record.head() or Head(ENCODER.identity), lambda: None, STORAGE)


# --- times


def times_of(place: Place, count: int, store: FaultyStore) -> dict[str, float]:
    """Seconds of building, of one document more, of opening, and of queries; requests beside them."""
    documents = [
        _document(f"Note {n}", f"Note {n} tells of harbour {n % 97}, of bridge {n % 89} and of river {n % 83}. " * 4)
        for n in range(count)
    ]
    found: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        before, started = len(store.requests), time.perf_counter()
        work()
        found[name] = time.perf_counter() - started
        found[f"{name} (requests)"] = len(store.requests) - before

    def build(some: list[Document]) -> None:
        with writing_to(place, ENCODER.identity, STORAGE) as writer:
            units = [_passage(document) for document in some]
            writer.put_documents(some)
            writer.put_units(units, ENCODER.encode([unit.searchable for unit in units]))
            writer.checkpoint()
            writer.publish(Usage())

    timed("build", lambda: build(documents))
    timed("one document more", lambda: build([_document("Late", "A late note on a harbour.")]))
    timed("open", lambda: Snapshot.open(place))
    snapshot = Snapshot.open(place)
    timed("read vectors", lambda: snapshot.vectors(Kind.PASSAGE))
    timed("first keyword query", lambda: snapshot.search_keywords("harbour 5 bridge", 10))
    seconds = []
    for number in range(QUERIES):
        started = time.perf_counter()
        snapshot.search_keywords(f"river {number} bridge {number + 1}", 10)
        seconds.append(time.perf_counter() - started)
    found["keyword query, median"] = statistics.median(seconds)
    found["keyword query, p95"] = percentile(seconds, 0.95)
    timed("is it current?", snapshot.is_current)
    return found


def shown(name: str, tally: Tally) -> Tally:
    print_table(
        ["trials of", "trials", "invalid states", "what writers said"],
        [[name, tally.trials, len(tally.invalid), str(dict(tally.ended))]],
    )
    for fault in tally.invalid:
        print(f"{name}: {fault}")
    return tally


def main() -> None:
    options = parser(__doc__)
    for name, default in (("documents", 2000), ("kills", 30), ("faults", 60), ("races", 20), ("seed", 1)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--protocol", choices=["s3", "gs"], default="s3")
    asked = options.parse_args()
    chance = random.Random(asked.seed)
    google = asked.protocol == "gs"
    with (
        serving(cloud_storage.CloudStorage() if google else None) as store,
        tempfile.TemporaryDirectory() as account,
        tempfile.TemporaryDirectory() as temporary,
    ):
        os.environ |= cloud_storage.environment(store, Path(account)) if google else environment(store)
        if not google:
            store.make_bucket("bucket")
        places = {name: Place.of(f"{asked.protocol}://bucket/{name}") for name in ("kills", "faults", "races", "times")}
        tallies = {
            "kills": shown("kills", kill_trials(asked.kills, places["kills"], chance)),
            "races": shown("races", race_trials(asked.races, places["races"])),
            "faults": shown("faults", fault_trials(asked.faults, store, places["faults"], chance)),
        }
        times = {}
        if asked.documents:
            folder = times_of(Place.of(Path(temporary)), asked.documents, store)
            stored = times_of(places["times"], asked.documents, store)
            times = {"folder": folder, "object store": stored}
            rows = [
                [name, folder[name], stored[name], stored[name] / folder[name], stored.get(f"{name} (requests)", "")]
                for name in folder
                if "requests" not in name
            ]
            print_table(
                [f"seconds, {asked.documents:,} documents", "folder", "object store", "ratio", "requests"], rows
            )
    trials = {name: {"trials": one.trials, "ended": one.ended, "invalid": one.invalid} for name, one in tallies.items()}
    write_results(asked.out, {"trials": trials, "times": times})
    sys.exit(any(one.invalid for one in tallies.values()))


if __name__ == "__main__":
    main()
