"""Where an index is: always a folder of this machine."""

from __future__ import annotations

import re
from pathlib import Path

from hoptrail.corpus.places import refuse_old_index
from hoptrail.errors import UsageError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""How an address begins, also one that was made a path, which loses a slash. One letter is a drive of Windows."""


def index_folder(where: str | Path) -> Path:
    """The folder that a user means.

    Raises:
        UsageError: an empty text, or the address of an object store.
        IndexMismatch: the folder holds an index of version 0.1.
    """
    text = str(where)
    if not text.strip():
        raise UsageError(  # it would be the current folder, and comes of a variable that is not set
            "an index cannot be at an empty path: name a folder, or . for the current one."
        )
    if found := _ADDRESS.match(text):
        raise UsageError(
            f"an index is a folder of this machine, not an address that begins with {found[1]}://. Publish an index with "
            f"`hoptrail publish ADDRESS --index DIR`; ask a published one with `hoptrail serve ADDRESS`, or make a folder of it "
            f"with `hoptrail restore ADDRESS --index DIR`."
        )
    folder = Path(where).expanduser()
    refuse_old_index(folder)
    return folder
