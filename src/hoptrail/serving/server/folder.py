"""Keeps a workspace of a server in step with a folder of documents, in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from hoptrail.errors import HoptrailError, Interrupted
from hoptrail.indexing import Watcher
from hoptrail.serving.server.workspaces import FolderState, Workspace
from hoptrail.structures.course import Progress
from hoptrail.syncing import IndexingReport
from hoptrail.watching import watch

log = logging.getLogger("hoptrail.server")


class WatchedFolder:
    """Indexes a folder and watches it while the `with` body runs. `on_report` gets the report of each indexing run."""

    def __init__(self, workspace: Workspace, folder: Path, on_report: Callable[[IndexingReport], None]) -> None:
        self._workspace = workspace
        self._folder = folder
        self._on_report = on_report
        self._state = workspace.folder = FolderState()
        self._stop = Event()
        self._thread = Thread(target=self._work, name=f"folder of {workspace.name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(self._workspace.index.settings.server.stop_seconds)  # finished work is kept

    def _work(self) -> None:
        workspace = self._workspace
        watcher = Watcher(stopped=self._stop.is_set, say=log.info, progress=self._set_progress)
        try:
            for report in watch(workspace.index, [self._folder], workspace.recipes, watcher, turn=workspace.writing):
                self._set_progress(Progress())
                self._state.unread = tuple(report.failures)
                self._on_report(report)
                workspace.warm()
        except Interrupted:
            log.info("workspace %s: stopped indexing %s; the next start continues", workspace.name, self._folder)
        except HoptrailError as error:
            log.error("workspace %s: %s", workspace.name, error)
        except Exception as error:  # noqa: BLE001 - the border of the thread: the server goes on
            log.error("workspace %s: watching %s ended: %s", workspace.name, self._folder, type(error).__name__)

    def _set_progress(self, progress: Progress) -> None:
        self._state.progress = progress
