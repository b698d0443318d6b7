"""What the jobs of a workspace do to its index, a turn at a time.

Documents are committed in batches that double, so that the first can be asked about at once and a thousand do not cost a
thousand commits. A batch ends early where reading takes long or much text has come together: then it is another client's turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError, Interrupted, StillRead
from hoptrail.indexing import Watcher
from hoptrail.serving.server.job import Item, Job, State
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.uploads import Upload, Uploads
from hoptrail.serving.server.workspaces import Workspace

LARGEST_BATCH = 64
SECOND = 1.0
WAIT_SECONDS = 0.5
"""Between looks at whether a job that waits for its turn to write was stopped."""

TURN_SECONDS = 5.0
"""Reading in one turn: no further document is read then."""
TURN_BYTES = MIB
"""Text in one turn: no further document is read then."""


class Patience:
    """Seconds that a client's documents may take to be parsed. Each one that takes them all halves what the next may take, to a
    second at the least; each that is read in time adds a second again. So a hundred that never end cost a few minutes, not hours.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left: dict[str, int] = {}

    def of(self, client: str) -> int:
        return self._left.get(client, self._most)

    def learn(self, client: str, took: float) -> None:
        now = self.of(client)
        self._left[client] = max(1, now // 2) if took >= now * SECOND else min(self._most, now + 1)


class Performer:
    """Does the jobs of one workspace, for the one thread that does so. `note` notes what has become of a job so far."""

    def __init__(self, workspace: Workspace, uploads: Uploads, metrics: Metrics, note: Callable[[Job], None]) -> None:
        self._workspace = workspace
        self._uploads = uploads
        self._metrics = metrics
        self._note = note
        self._patience = Patience(workspace.index.settings.reading.parsing_seconds)

    def turn(self, job: Job) -> bool:
        """Go on with a job for one batch, once nobody else of this server writes; whether nothing of it is left to do.

        Raises:
            Interrupted: the job was stopped.
            HoptrailError: the index cannot be written.
        """
        while not self._workspace.writing.acquire(timeout=WAIT_SECONDS):
            if job.stop.is_set():
                raise Interrupted("stopped; what was finished is kept.")
        try:
            return self._turn(job)
        finally:
            self._workspace.writing.release()

    def _turn(self, job: Job) -> bool:
        if job.stop.is_set():
            raise Interrupted("stopped; what was finished is kept.")
        if job.kind == "remove":
            self._remove(job)
        elif job.kind == "build":
            self._build(job)
        else:
            with self._uploads.preparing():
                self._add_batch(job)
            job.batch = min(2 * job.batch, LARGEST_BATCH)
        return not any(item.state is State.WAITING for item in job.items)

    def _remove(self, job: Job) -> None:
        """Those that are gone already were removed before the process ended that accepted the job."""
        left = [item for item in job.items if item.state is State.WAITING]
        there = self._workspace.those_there([item.id for item in left])
        with suppress(StillRead):  # it is done, and out of all files when `clean` has succeeded
            if there:
                self._workspace.index.remove(sorted(there))
        for item in left:
            item.state = State.DONE

    def _build(self, job: Job) -> None:
        recipes = [item.id for item in job.items]
        with suppress(StillRead):  # it is built
            self._workspace.index.add([], recipes, Watcher(stopped=job.stop.is_set, progress=job.note_progress))
        for item in job.items:
            item.state = State.DONE

    def _add_batch(self, job: Job) -> None:
        before = [item for item in job.items if item.is_left]
        prepared = self._prepared(job)
        failures = self._index(job, [upload for _, upload in prepared]) if prepared else ()
        for item, upload in prepared:
            if reason := self._uploads.lost(upload, failures):
                self._failed(item, reason)
            else:
                self._over(item, State.DONE)
                _displace(job.items[: job.items.index(item)], item)
        self._note(job)
        self._uploads.discard(item.upload for item in before if item.upload and not item.is_left)

    def _index(self, job: Job, uploads: Sequence[Upload]) -> Sequence[DocumentError]:
        """What of some uploads could not be indexed."""
        paths = [self._uploads.prepared(upload) for upload in uploads]
        watcher = Watcher(stopped=job.stop.is_set, progress=job.note_progress)
        limits = self._uploads.limits(uploads)
        try:
            # A line that could not be read is not among those that were prepared, and what it said before stays.
            return self._workspace.index.add(
                paths, self._workspace.recipes, watcher, limits=limits, keep_lines=True
            ).failures
        except StillRead:  # it is done; what was replaced is out of all files when `clean` has succeeded
            return ()

    def _prepared(self, job: Job) -> list[tuple[Item, Upload]]:
        """The next documents that could be read, each with a name of its own."""
        end, size = time.monotonic() + TURN_SECONDS, 0
        found: list[tuple[Item, Upload]] = []
        waiting = [(item, item.upload) for item in job.items if item.state is State.WAITING and item.upload]
        for item, upload in waiting[: job.batch]:
            place = self._uploads.prepared(upload)
            if found and (time.monotonic() > end or size > TURN_BYTES):
                break
            if any(place == self._uploads.prepared(other) for _, other in found):
                break
            if job.stop.is_set():
                raise Interrupted("stopped; what was finished is kept.")
            if self._prepare(job, item, upload):
                found.append((item, upload))
                size += place.stat().st_size
        return found

    def _prepare(self, job: Job, item: Item, upload: Upload) -> bool:
        """Read one document; False if it could not be."""
        item.state, begun = State.READING, time.monotonic()
        try:
            found = self._uploads.prepare(upload, self._patience.of(job.client))
        except DocumentError as failure:
            self._failed(item, failure.reason)
            return False
        finally:
            self._patience.learn(job.client, time.monotonic() - begun)
        item.documents, item.notes, item.state = found.documents, found.notes, State.INDEXING
        return True

    def _failed(self, item: Item, reason: str) -> None:
        item.reason, item.documents = reason, {}
        self._over(item, State.FAILED)

    def _over(self, item: Item, state: State) -> None:
        item.state = state
        self._metrics.documents.labels(state.value).inc()


def _displace(earlier: Sequence[Item], item: Item) -> None:
    """Tell what earlier uploads of the same request have lost to one that stands at the same sources now."""
    for other in earlier:
        left = {source: id_ for source, id_ in other.documents.items() if item.documents.get(source, id_) == id_}
        if gone := len(other.documents) - len(left):
            reason = "taken by a later one of the same name in the same request: give each a name of its own"
            other.documents = left
            other.notes = (*other.notes, f"the place of {gone} documents was {reason}")
            if not left:
                other.state, other.reason = State.FAILED, f"its place was {reason}"
