"""What a structure is handed to be built with: where to write, whom to ask, whom to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from hoptrail.corpus.writer import Change, Writer
from hoptrail.errors import EndpointBusy, EndpointUnreached, TaskFailed
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.language.task_batches import perform_all
from hoptrail.language.tasks import Language, Task
from hoptrail.models.encoder import Encoder
from hoptrail.structures.course import Course
from hoptrail.types import Usage

T = TypeVar("T")

UNREACHED = 3
"""Tasks in a row that find nobody to ask, each after all its tries, after which a run stops: with fewer it may have been a
moment's fault.
"""

Report = Callable[[str, int, int], None]
"""Called with (what is being done, how much is done, how much there is)."""


def tell_nobody(usage: Usage) -> None:
    """For callers that do not watch what is spent."""


def say_nothing(line: str) -> None:
    """For callers that do not listen."""


def report_nothing(what: str, done: int, total: int) -> None:
    """For callers that do not watch."""


@dataclass(slots=True)
class Account:
    """What a run has spent on language tasks, whom that is told, and lines on what could not be done: each names the item and
    what to do.
    """

    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    on_usage: Callable[[Usage], None] = tell_nobody
    unreached: int = 0

    def enter(self, usage: Usage) -> None:
        self.usage += usage
        self.on_usage(self.usage)

    def count_unreached(self, outcome: object) -> None:
        """How many tasks in a row have found nobody to ask.

        Raises:
            EndpointBusy: so many that those to come would, too.
        """
        self.unreached = self.unreached + 1 if isinstance(outcome, EndpointUnreached) else 0
        if self.unreached >= UNREACHED:
            raise EndpointBusy(
                f"{outcome}. {self.unreached} tasks in a row found nobody to ask, so no more is asked; what was finished is "
                "kept. Check the address and whether the server runs, then run the same command again"
            )


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What building needs: where to write, the encoder, who performs language tasks, whom to tell, and whether to stop.

    `language` is None where nothing may be asked (removing a document never spends): structures then only take away.
    `pause` is called between steps; it saves what is finished and raises Interrupted when the user asked to stop. At most
    `workers` tasks are asked at once. `executor` says where whatever needs no network is done; only this process writes. What the
    user should know at once is given to `say`, as a line.
    `change` is all that has happened since the structure that is being built, and all that it stands on, wanted nothing more;
    None where that is not known, so that all of the corpus is to be looked at. A structure may look at all in any case.
    """

    writer: Writer
    encoder: Encoder
    report: Report
    pause: Callable[[], None]
    language: Language | None = None
    workers: int = 1
    account: Account = field(default_factory=Account)
    executor: Executor = LOCAL_EXECUTOR
    change: Change | None = None
    say: Callable[[str], None] = say_nothing
    course: Course = field(default_factory=Course)

    def perform(self, language: Language, tasks: Iterable[Task[T]]) -> Iterator[T | TaskFailed]:
        """The outputs of tasks in their order, a failure in the place of one that failed; what they cost is entered.

        Raises:
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no further task can be performed for now; busy is
                also an endpoint that several tasks in a row could not reach.
            WorkFailed: see `Executor.map`.
        """
        for reply in perform_all(language, tasks, self.workers, self.executor):
            self.account.enter(reply.usage or Usage())
            self.account.count_unreached(reply)
            yield reply if isinstance(reply, TaskFailed) else reply.value
