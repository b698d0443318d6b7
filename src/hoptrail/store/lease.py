"""Who may write to an index on an object store: a lease, in one object that is only ever written conditionally.

The object is made with "only if there is none" and replaced with "only if it is still the one I read", so of two that want
it one succeeds. Its holder renews it; one that has died stops, and its lease runs out (an operating system's lock, which dies
at once, is not to be had there). A holder that was only suspended finds at its next look that another has taken over.

The lease keeps writers out of each other's way. It is not what keeps a state valid: that the head is committed only in place
of the head that was read (`head.py`), and that a table is not gone on with when somebody else has written to it (`writer.py`),
needs no clock. Clocks of machines may differ: by more than a term, and a lease may be taken from a living holder, which then
stops.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass, replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from hoptrail.errors import IndexBusy, StorageError
from hoptrail.store.files import Outdated, StoredFiles
from hoptrail.store.place import Place

if TYPE_CHECKING:
    from obstore import UpdateVersion

OBJECT = "writer.lease"

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def _now() -> float:
    """Seconds of a clock that goes on while the machine sleeps, where there is one: a lease runs out meanwhile."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What the object holds. `number` rises with every write, so that no two contents are alike; `expires` is in seconds of
    the epoch, 0 once it was given back.
    """

    holder: str
    token: str
    number: int
    expires: float


class Lease:
    """The right to write, for `term` seconds at a time, renewed by a thread until it is given back."""

    def __init__(self, place: Place, term: float, holder: str) -> None:
        self._place = place
        self._files = StoredFiles(place)
        self._term = term
        self._record = LeaseRecord(holder, secrets.token_hex(8), 0, 0.0)
        self._version: UpdateVersion | None = None
        self._until = 0.0
        self._taken_by = ""
        self._writing = Lock()
        self._ended = Event()

    def take(self) -> None:
        """Take the lease.

        Raises:
            IndexBusy: somebody else holds it, or was faster.
            StorageError: the store cannot be reached, or does not keep to conditions.
        """
        try:
            self._put()
        except Outdated:
            self._take_over()
        else:
            try:
                self._try_conditions()
            except StorageError:
                self.give_back()
                raise
        Thread(target=self._renew_until_ended, name="lease", daemon=True).start()

    def check(self) -> None:
        """Make sure that it is still ours.

        Raises:
            IndexBusy: somebody else has taken over.
        """
        if _now() > self._until:
            self._renew()
        if self._taken_by:
            raise IndexBusy(
                f"{self._place} was taken over by {self._taken_by}, because this writer did not renew its lease in time. What "
                f"was finished up to the last checkpoint is kept; run the same command again when the other has ended."
            )

    def give_back(self) -> None:
        """Let others write. Where that cannot be said, the lease runs out by itself."""
        self._ended.set()
        with self._writing:
            if not self._taken_by:
                try:
                    self._put(given_back=True)
                except (Outdated, StorageError):
                    return

    def _take_over(self) -> None:
        found, version = self._read()
        left = found.expires - time.time()
        if left > 0:
            raise IndexBusy(
                f"{self._place} is being written by {found.holder}. Wait for it to end, or stop it; if it has died, its lease "
                f"runs out in {left:.0f} seconds."
            )
        self._record = replace(self._record, number=found.number)
        self._version = version
        try:
            self._put()
        except Outdated as error:
            raise IndexBusy(f"{self._place} is being written by {self._read()[0].holder}, which was faster.") from error

    def _try_conditions(self) -> None:
        """Ask for what must be refused now. A store that does it keeps to no condition, and two writers would not notice."""
        try:
            self._files.put(OBJECT, self._content(), None)
        except Outdated:
            return
        raise StorageError(
            f"the object store of {self._place} does not keep to conditional writes (If-None-Match), on which safe commits "
            f"stand. Use one that does (S3 itself, and recent versions of MinIO, Ceph and R2), or a local folder."
        )

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(self._term / 3):
            try:
                self._renew()
            except StorageError:  # it is tried again, and whoever commits after the term has passed hears of it
                continue
            if self._taken_by:
                return

    def _renew(self) -> None:
        with self._writing:
            if self._taken_by or self._ended.is_set():
                return
            try:
                self._put()
            except Outdated:
                self._taken_by = self._read()[0].holder

    def _put(self, *, given_back: bool = False) -> None:
        """Write the record anew."""
        started = _now()
        expires = 0.0 if given_back else time.time() + self._term
        self._record = replace(self._record, number=self._record.number + 1, expires=expires)
        self._version = self._written(self._version)
        self._until = started + self._term

    def _written(self, known: UpdateVersion | None) -> UpdateVersion:
        """Write the record in place of the one that is `known`, or of a later one of ours: the answer to this write or to an
        earlier one may have been lost, and the write refused when it was tried again. So we look.
        """
        while True:
            try:
                return self._files.put(OBJECT, self._content(), known)
            except Outdated:
                found, version = self._read()
                if found == self._record:
                    return version
                if found.token != self._record.token or version == known:
                    raise
                known = version

    def _content(self) -> bytes:
        return json.dumps(asdict(self._record)).encode()

    def _read(self) -> tuple[LeaseRecord, UpdateVersion]:
        content, version = self._files.read(OBJECT)
        try:
            fields = json.loads(content)
            record = LeaseRecord(
                str(fields["holder"]), str(fields["token"]), int(fields["number"]), float(fields["expires"])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{self._place}/{OBJECT} is not a lease; remove it if nobody is writing.") from error
        return record, version
