"""Kills indexing and removing at random moments: does the index always hold the state before or after, and nothing else?

    python -m benchmarks.kills [--kills N] [--real N] [--seed N] [--out FILE.json]

Each trial takes a copy of an index, runs `hoptrail index` or `hoptrail remove` in a process, ends it by SIGKILL at a random
moment of its work, and looks (`known_states.look`): the index must be whole and in the state before or after the command. Then
the same command runs again, to its end, and must leave the state after. In every second trial a reader in a process of its own
keeps opening the index meanwhile.

The `--trials` run the command line's code in forked processes, with a small encoder that notes what it has finished and with
small steps, so that there are many moments to be killed in and repeated encoding can be counted. The `--real` trials kill the
installed executable with the default encoder. Only the process dies: power cuts are not covered.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from benchmarks.common import parser, print_table, write_results
from benchmarks.known_states import NotingEncoder, Step, look, make_steps, write_world

from hoptrail.store.lock import NOTE

BATCH = 12
"""Documents stored and passages encoded between two checkpoints of the forked trials; the product's numbers are in hundreds."""

PRELOADED = ["lancedb", "lancedb.query", "lancedb.index", "pyarrow", "hoptrail.serving.cli", "benchmarks.known_states"]
EXECUTABLE = Path(sys.executable).parent / "hoptrail"


@dataclass(frozen=True, slots=True)
class Running:
    """A command that has begun its work. Both ways to end it give the exit code, negative after a kill."""

    kill: Callable[[], int]
    wait: Callable[[], int]


Begin = Callable[[list[str]], Running]


@dataclass(frozen=True, slots=True)
class Ground:
    """What all trials of a step share: `template` is the index before it, `seconds` what the step takes when left alone,
    `encoded` the sizes of the batches it encodes then.
    """

    step: Step
    folder: Path
    begin: Begin
    journal: Path
    encoder: NotingEncoder | None
    seconds: float = 0.0
    encoded: tuple[int, ...] = ()

    @property
    def template(self) -> Path:
        return self.folder / "template"

    @property
    def arguments(self) -> list[str]:
        return self.step.arguments(self.folder / "world", self.folder / "index")

    @contextmanager
    def index(self) -> Iterator[Path]:
        """A copy of the template, and an empty journal."""
        folder = self.folder / "index"
        if self.template.exists():
            shutil.copytree(self.template, folder)
        self.journal.write_text("")
        yield folder
        shutil.rmtree(folder)


@dataclass(slots=True)
class Tally:
    """What happened in the trials of one step. `repeated` is per trial how many passages were encoded a second time; readers'
    looks count where there was an index to see.
    """

    step: str
    encoder: str
    trials: int = 0
    killed: int = 0
    saw_before: int = 0
    saw_after: int = 0
    looks_by_readers: int = 0
    batch: int = 0
    repeated: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


# --- the commands


def run_forked(arguments: Sequence[str], journal: Path, ready: Connection) -> None:
    """In a forked process: the command line as it is, but for the encoder and the size of its steps."""
    import hoptrail.index
    import hoptrail.indexing
    import hoptrail.store.register
    import hoptrail.structures.passages
    from hoptrail.serving import cli

    vars(hoptrail.index)["open_encoder"] = lambda _: NotingEncoder(journal)
    for module in (hoptrail.indexing, hoptrail.store.register):
        vars(module)["BATCH_DOCUMENTS"] = BATCH
    hoptrail.structures.passages.BATCH = BATCH
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.argv = ["hoptrail", *arguments]
    ready.send("ready")
    cli.main()


def forked(context: ForkServerContext, journal: Path) -> Begin:
    def begin(arguments: list[str]) -> Running:
        ours, theirs = context.Pipe()
        process = context.Process(target=run_forked, args=(arguments, journal, theirs), daemon=True)
        process.start()
        ours.recv()
        return Running(lambda: end_forked(process, kill=True), lambda: end_forked(process, kill=False))

    return begin


def end_forked(process: ForkServerProcess, *, kill: bool) -> int:
    if kill:
        process.kill()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def executable(arguments: list[str]) -> Running:
    """The work has begun when the note of the writing process lies in the index folder."""
    process = subprocess.Popen([EXECUTABLE, *arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    note = Path(arguments[-1]) / NOTE
    while process.poll() is None and not note.exists():
        time.sleep(0.001)

    def kill() -> int:
        process.kill()
        return process.wait()

    return Running(kill, process.wait)


# --- trials


def prepare(step: Step, folder: Path, begin: Begin, journal: Path, encoder: NotingEncoder | None) -> Ground:
    """Make the index before, and run the step undisturbed to learn how long it takes and what it encodes."""
    ground = Ground(step, folder, begin, journal, encoder)
    if step.before:
        write_world(step.before, folder / "world")
        assert begin(["index", str(folder / "world"), "--index", str(ground.template)]).wait() == 0
    write_world(step.after, folder / "world")
    seconds = statistics.median(run_undisturbed(ground) for _ in range(3))
    return replace(ground, seconds=seconds, encoded=journaled(journal))


def run_undisturbed(ground: Ground) -> float:
    """The seconds of the step; it must lead to the state after."""
    with ground.index() as index:
        running = ground.begin(ground.arguments)
        started = time.perf_counter()
        assert running.wait() == 0
        seconds = time.perf_counter() - started
        fault = look(index, [ground.step.after], ground.encoder).fault
        assert not fault, fault
        return seconds


Beside = Callable[[Ground, Tally], AbstractContextManager[None]]


def nothing(_: Ground, __: Tally) -> AbstractContextManager[None]:
    return nullcontext()


def journaled(journal: Path) -> tuple[int, ...]:
    return tuple(int(line) for line in journal.read_text().split())


def trial(ground: Ground, moment: float, tally: Tally, beside: Beside = nothing) -> None:
    """Kill after `moment` seconds, look, run again, look; `beside` says what else goes on meanwhile."""
    step, place = ground.step, f"{ground.step.name}, killed after {1000 * moment:.0f} ms"
    with ground.index() as index, beside(ground, tally):
        running = ground.begin(ground.arguments)
        time.sleep(moment)
        killed = running.kill() < 0
        seen = look(index, [step.before, step.after], ground.encoder)
        tally.trials += 1
        tally.killed += killed
        tally.saw_before += killed and seen.state == step.before
        tally.saw_after += killed and seen.state == step.after
        if seen.fault:
            tally.faults.append(f"{place}: {seen.fault}")
        if step.removed and seen.state == step.after:
            return  # the names that the command would remove are no longer there
        code = ground.begin(ground.arguments).wait()
        fault = look(index, [step.after], ground.encoder).fault
        if code or fault:
            tally.faults.append(f"{place}, run again: exit code {code}; {fault or 'the state is right'}")
        tally.repeated.append(max(0, sum(journaled(ground.journal)) - sum(ground.encoded)))


def read_on(index: Path, step: Step, line: Connection) -> None:
    """In a process of its own: look until told to stop; then tell how often, and what was wrong."""
    looks = 0
    faults: set[str] = set()
    line.send("looking")
    while not line.poll():
        seen = look(index, [step.before, step.after], NotingEncoder())
        looks += bool(seen.state)
        faults |= {seen.fault} - {""}
        time.sleep(0.002)  # leaves the processor to the writer
    line.send((looks, sorted(faults)))


def reader(context: ForkServerContext) -> Beside:
    @contextmanager
    def beside(ground: Ground, tally: Tally) -> Iterator[None]:
        ours, theirs = context.Pipe()
        process = context.Process(target=read_on, args=(ground.folder / "index", ground.step, theirs), daemon=True)
        process.start()
        theirs.close()
        ours.recv()
        yield
        ours.send("stop")
        looks, faults = ours.recv()
        process.join()
        tally.looks_by_readers += looks
        tally.faults += [f"{ground.step.name}, a reader: {fault}" for fault in faults]

    return beside


def forked_trials(steps: Sequence[Step], kills: int, chance: random.Random, folder: Path) -> list[Tally]:
    os.environ["PYTHONWARNINGS"] = "ignore:lancedb fork support is experimental:RuntimeWarning"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    journal, encoder = folder / "journal", NotingEncoder()
    tallies = []
    for number, step in enumerate(steps):
        ground = prepare(step, folder / f"forked-{number}", forked(context, journal), journal, encoder)
        tally = Tally(step.name, "small", batch=max(ground.encoded, default=0))
        kill_often(ground, kills // len(steps), chance, tally, [nothing, reader(context)])
        tallies.append(tally)
    return tallies


def real_trials(steps: Sequence[Step], kills: int, chance: random.Random, folder: Path) -> list[Tally]:
    tallies = []
    for number, step in enumerate(steps):
        ground = prepare(step, folder / f"real-{number}", executable, folder / "no-journal", None)
        tally = Tally(step.name, "minilm")
        kill_often(ground, kills // len(steps), chance, tally, [nothing])
        tallies.append(tally)
    return tallies


def kill_often(ground: Ground, kills: int, chance: random.Random, tally: Tally, beside: Sequence[Beside]) -> None:
    """Until there were `kills`, or four times as many trials."""
    while tally.killed < kills and tally.trials < 4 * kills:
        trial(ground, chance.random() * ground.seconds, tally, beside[tally.trials % len(beside)])


def show(tallies: Sequence[Tally]) -> None:
    header = (
        "command",
        "encoder",
        "trials",
        "killed",
        "before",
        "after",
        "looks by readers",
        "encoded again",
        "worst",
        "faults",
    )
    print_table(
        header,
        [
            (
                tally.step,
                tally.encoder,
                tally.trials,
                tally.killed,
                tally.saw_before,
                tally.saw_after,
                tally.looks_by_readers,
                sum(count > 0 for count in tally.repeated) if tally.batch else "not counted",
                f"{max(tally.repeated, default=0)} of a batch of {tally.batch}" if tally.batch else "",
                len(tally.faults),
            )
            for tally in tallies
        ],
    )
    for fault in [fault for tally in tallies for fault in tally.faults]:
        print(fault)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--kills", type=int, default=210, metavar="N", help="with the small encoder, forked")
    arguments.add_argument("--real", type=int, default=30, metavar="N", help="with the executable and its encoder")
    arguments.add_argument("--seed", type=int, default=20260401)
    given = arguments.parse_args()
    chance, steps = random.Random(given.seed), make_steps(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        tallies = forked_trials(steps, given.kills, chance, Path(folder)) if given.kills else []
        tallies += real_trials(steps, given.real, chance, Path(folder)) if given.real else []
    show(tallies)
    write_results(given.out, tallies)
    sys.exit(any(tally.faults for tally in tallies))


if __name__ == "__main__":
    main()
