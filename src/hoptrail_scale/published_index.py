"""Serves a published index: its current publication, and a newer one as soon as it has been fetched."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any, NoReturn

from hoptrail.errors import HoptrailError, UsageError
from hoptrail.index.index import Index
from hoptrail.index.settings import Settings
from hoptrail.system.environment_variables import variable
from hoptrail_scale.publishing.fetching import Follower, default_cache
from hoptrail_scale.publishing.objects import StoreAddress

log = logging.getLogger("hoptrail.server")

LOOK_SECONDS = 5.0  # interval between checks for a newer publication


def folder_of(address: StoreAddress) -> Path:
    """The folder of this machine for paid replies to questions about a published index: under HOPTRAIL_DATA or, by default, in
    the user's data folder.
    """
    chosen = variable("HOPTRAIL_DATA")
    if chosen:
        return Path(chosen).expanduser() / "published" / address.folder_name
    from platformdirs import user_data_path

    return user_data_path("hoptrail", appauthor=False) / "published" / address.folder_name


class PublishedIndex(Index):
    """A read-only index. `folder` is the one for paid replies, not that of the index."""

    is_read_only = True
    is_empty = False

    def __init__(self, address: str, settings: Settings | None = None, cache: Path | None = None) -> None:
        """Fetch the current publication.
        Raises: as `Follower.first`; UsageError: not an address.
        """
        self.address = StoreAddress.of(address)
        super().__init__(folder_of(self.address), settings)
        self._follower = Follower(address, cache or default_cache())
        self._copy = self._follower.first()
        self._shared.move_to(self._copy.folder, lambda: None)

    def look(self) -> bool:
        """Use the newest publication for later questions; returns whether it has changed. For a single thread.
        Raises: as `Follower.look`; the previous publication stays in use.
        """
        newer = self._follower.look()
        if newer is None:
            return False
        self._shared.move_to(newer.folder, self._copy.close)
        self._copy = newer
        return True

    def following(self, workspace: str, warm: Callable[[], None]) -> Following:
        """What looks for newer states in the background, from `start` to `end`; `warm` is called after one was found."""
        return Following(workspace, self, warm)

    def close(self) -> None:
        """Release the publication, which may then leave the cache. The index cannot be used afterwards."""
        self._copy.close()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            f"{self.address} is a published index, which is read-only. Change the folder that it is published from, and "
            f"run `hoptrail publish {self.address} --index DIR` again."
        )

    add = estimate = withdraw = clean = verify = repair = _refuse


def open_published(address: str, settings: Callable[[Path], Settings]) -> PublishedIndex:
    """The index published at an address. `settings` gives those for its folder on this machine. Raises: as `PublishedIndex`."""
    return PublishedIndex(address, settings(folder_of(StoreAddress.of(address))))


class Following(Thread):
    """Looks for newer publications, from `start` to `end`; `warm` is called after one was found."""

    def __init__(self, workspace: str, index: PublishedIndex, warm: Callable[[], None]) -> None:
        super().__init__(name=f"following {workspace}", daemon=True)
        self._workspace, self._index, self._warm = workspace, index, warm
        self._ended = Event()

    def end(self, patience: float) -> None:
        """Wait up to `patience` seconds for the current fetch, and close the index."""
        self._ended.set()
        if self.is_alive():
            self.join(patience)
        if not self.is_alive():
            self._index.close()

    def run(self) -> None:
        """Look until the end."""
        while not self._ended.wait(LOOK_SECONDS):
            try:
                if self._index.look():
                    log.info("workspace %s: a newer publication is served", self._workspace)
                    self._warm()
            except HoptrailError as error:
                log.error("workspace %s: %s The previous publication is still served.", self._workspace, error)
            except Exception as error:  # noqa: BLE001 - the border of the thread: the server goes on with what it has
                log.error("workspace %s cannot be followed: %s", self._workspace, type(error).__name__)
