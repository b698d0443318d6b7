"""What a structure needs to be built: the writer, the encoder, the language, and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from hoptrail.corpus.writer import Change, Writer
from hoptrail.errors import EndpointBusy, EndpointUnreached, TaskFailed
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.language.task_batches import perform_all
from hoptrail.language.tasks import Language, Reply, Task
from hoptrail.models.encoder import Encoder
from hoptrail.structures.progress_tracker import ProgressTracker, ignore
from hoptrail.types import Usage

T = TypeVar("T")

UNREACHED = 3
"""A run stops after this many tasks in a row that could not reach the endpoint in any try. Fewer may be a momentary fault."""

Report = Callable[[str, int, int], None]  # called with (what is being done, number done, total)


@dataclass(slots=True)
class Account:
    """What a run has spent on language tasks (`on_usage` gets each total), the part of it that the index has not noted yet, and
    notes on what could not be done and what to do.
    """

    usage: Usage = field(default_factory=Usage)
    unpublished: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    on_usage: Callable[[Usage], None] = ignore
    unreached: int = 0

    def enter(self, reply: Reply[T] | TaskFailed) -> None:
        """Add the usage of a task. Raises: EndpointBusy: UNREACHED tasks in a row could not reach the endpoint."""
        self.usage += reply.usage or Usage()
        self.unpublished += reply.usage or Usage()
        self.on_usage(self.usage)
        self.unreached = self.unreached + 1 if isinstance(reply, EndpointUnreached) else 0
        if self.unreached >= UNREACHED:
            raise EndpointBusy(
                f"{reply}. {self.unreached} tasks in a row could not reach the endpoint, so no further ones are tried; what "
                "was finished is kept. Check the address and whether the server runs, then run the same command again"
            )


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What a structure needs to be built.

    - `pause`: called between steps; commits what is finished and raises Interrupted when the user asked to stop.
    - `stopped`: whether the user asked to stop: a long step ends early then, and `pause` follows.
    - `language`: None where nothing may be asked, because removing a document never spends. Structures then only remove rows.
    - `workers`: the number of tasks asked at once.
    - `executor`: runs work that needs no network, perhaps in other processes; only this process writes.
    - `change`: the changes of documents since the structure and all that it is built from were last complete. None where they
      are unknown, so that the whole corpus must be looked at, which a structure may always do.
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
    tracker: ProgressTracker = field(default_factory=ProgressTracker)
    stopped: Callable[[], bool] = lambda: False

    def perform(self, language: Language, tasks: Iterable[Task[T]]) -> Iterator[T | TaskFailed]:
        """The outputs of tasks in their order, with a TaskFailed for each that failed. Their usage is entered in `account`.

        Raises:
            EndpointRefused, EndpointBusy (see also `Account.enter`), BudgetExhausted, RecordingError: none can be performed now.
            WorkFailed: see `Executor.map`.
        """
        for reply in perform_all(language, tasks, self.workers, self.executor, self.account.enter):
            self.account.enter(reply)
            yield reply if isinstance(reply, TaskFailed) else reply.value
