"""A published index that is served: its current publication is asked, a newer one as soon as it has been fetched."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any, NoReturn

from hoptrail.errors import HoptrailError, UsageError
from hoptrail.index import Index
from hoptrail.publishing.address import Address
from hoptrail.publishing.fetching import Follower, usual_cache
from hoptrail.settings import Settings

log = logging.getLogger("hoptrail.server")

LOOK_SECONDS = 5.0
"""Between two looks at whether something newer is published."""


def folder_of(address: Address) -> Path:
    """The folder of this machine for the replies that questions to a published index have paid for: under HOPTRAIL_DATA or,
    without that, where the system has programs keep a user's data.
    """
    chosen = os.environ.get("HOPTRAIL_DATA", "")
    if chosen:
        return Path(chosen).expanduser() / "published" / address.folder_name
    from platformdirs import user_data_path

    return user_data_path("hoptrail", appauthor=False) / "published" / address.folder_name


class PublishedIndex(Index):
    """An index to read. `folder` is not that of the index, but the one for paid replies."""

    is_read_only = True
    is_empty = False

    def __init__(self, address: str, settings: Settings | None = None, cache: Path | None = None) -> None:
        """Fetches the current publication.

        Raises: as `Follower.first` does; UsageError: not an address.
        """
        self.address = Address.of(address)
        super().__init__(folder_of(self.address), settings)
        self._follower = Follower(address, cache or usual_cache())
        self._copy = self._follower.first()
        self._shared.move_to(self._copy.folder, _nothing)

    def look(self) -> bool:
        """Have later questions asked of the current publication; whether it is another one than before. For one thread.

        Raises: as `Follower.look` does; the publication before goes on being asked.
        """
        newer = self._follower.look()
        if newer is None:
            return False
        self._shared.move_to(newer.folder, self._copy.close)
        self._copy = newer
        return True

    def close(self) -> None:
        """Give up the publication: it may go from the cache. Nothing may be asked any more."""
        self._copy.close()

    def add(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def estimate(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def withdraw(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def clean(self) -> NoReturn:
        self._refuse()

    def verify(self) -> NoReturn:
        self._refuse()

    def repair(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UsageError(
            f"{self.address} is a published index, which can only be asked. Work on the folder that it is published from, and "
            f"run `hoptrail publish {self.address} --index DIR` again."
        )


class Following:
    """Looks for newer publications in a thread of its own, from `start` to `stop`."""

    def __init__(self, name: str, index: PublishedIndex, warm: Callable[[], None]) -> None:
        """`warm` is called after a newer one was found."""
        self._name = name
        self._index = index
        self._warm = warm
        self._stopped = Event()
        self._thread = Thread(target=self._work, name=f"following {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, patience: float) -> None:
        """Wait so many seconds for what is being fetched, and close the index."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(patience)
        if not self._thread.is_alive():
            self._index.close()

    def _work(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                if self._index.look():
                    log.info("workspace %s: a newer publication is served", self._name)
                    self._warm()
            except HoptrailError as error:
                log.error("workspace %s: %s The publication before goes on being served.", self._name, error)
            except Exception as error:  # noqa: BLE001 - the border of the thread: the server goes on with what it has
                log.error("workspace %s cannot be followed: %s", self._name, type(error).__name__)


def _nothing() -> None:
    """Nobody has read the empty folder before the first publication."""
