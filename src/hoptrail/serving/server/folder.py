"""Keeps a workspace of a server in step with a folder of documents, in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from hoptrail.errors import HoptrailError, Interrupted
from hoptrail.indexing import Watcher
from hoptrail.serving.server.workspaces import FolderState, Workspace
from hoptrail.structures.course import Progress
from hoptrail.syncing import IndexingReport
from hoptrail.watching import watch

log = logging.getLogger("hoptrail.server")


@contextmanager
def watched_folder(workspace: Workspace, folder: Path, on_report: Callable[[IndexingReport], None]) -> Iterator[None]:
    """Index a folder and watch it while the body runs. `on_report` gets the report of each indexing run."""
    workspace.folder, stop = FolderState(), Event()
    arguments = (workspace, workspace.folder, folder, on_report, stop)
    thread = Thread(target=_follow, args=arguments, name=f"folder of {workspace.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(workspace.index.settings.server.stop_seconds)  # finished work is kept


def _follow(
    workspace: Workspace, state: FolderState, folder: Path, on_report: Callable[[IndexingReport], None], stop: Event
) -> None:
    def note_progress(progress: Progress) -> None:
        state.progress = progress

    watcher = Watcher(stopped=stop.is_set, say=log.info, progress=note_progress)
    try:
        for report in watch(workspace.index, [folder], workspace.recipes, watcher, turn=workspace.writing):
            state.progress = Progress()
            state.unread = tuple(report.failures)
            on_report(report)
            workspace.warm()
    except Interrupted:
        log.info("workspace %s: stopped indexing %s; the next start continues", workspace.name, folder)
    except HoptrailError as error:
        log.error("workspace %s: %s", workspace.name, error)
    except Exception as error:  # noqa: BLE001 - the border of the thread: the server goes on
        log.error("workspace %s: watching %s ended: %s", workspace.name, folder, type(error).__name__)
