"""A progress bar for indexing in a notebook."""

from __future__ import annotations

import time
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.index.indexing import Watcher
from hoptrail.notebook import progress_html
from hoptrail.structures.progress_tracker import Progress

_SHOWN_EVERY = 0.5  # seconds between two updates


def shown_progress() -> Watcher:
    """A watcher for `Index.add` in a notebook. It shows under the cell how far indexing is, and how long it still takes.
    Raises: UsageError: IPython is not installed.
    """
    try:
        from IPython.display import HTML, display
    except ImportError:
        raise UsageError("IPython is not installed, so this is not a notebook.") from None
    place: Any = display(HTML(progress_html(None, "reading")), display_id=True)
    shown = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _SHOWN_EVERY:
            shown = time.monotonic()
            place.update(HTML(progress_html(progress.share, progress.line)))

    return Watcher(progress=show)
