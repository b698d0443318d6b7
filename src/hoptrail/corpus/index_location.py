"""Finding the index to use when none is named: that of the current folder or of the nearest parent, as git finds a repository.

The index of a folder is in its subfolder `.hoptrail`. For synchronised and network folders it is in the user's data folder
instead, because an index is damaged when two machines write to it or when it is copied while it is written.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from hoptrail.corpus.durable import make_folder
from hoptrail.corpus.places import DATABASE, index_folder, network_file_system
from hoptrail.documents.walking import OF_AN_INDEX as NAME
from hoptrail.errors import UsageError

_SERVICES = re.compile(
    r"(?P<name>dropbox|onedrive|nextcloud|owncloud|google ?drive|icloud ?drive|mobile documents|cloudstorage|pcloud ?drive"
    r"|proton ?drive|syncthing)(\W.*)?",
    re.IGNORECASE,
)
"""Names of the folders of synchronisation services, also followed by an account: `OneDrive - Example`."""
_MARKS = {
    ".dropbox.cache": "Dropbox",
    ".849C9593-D756-4E56-8D6E-42412F2A707B": "OneDrive",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".stfolder": "Syncthing",
}
"""Files that these services keep at the top of their folders."""
_KEPT = re.compile(
    r"(index|replies|jobs|history)\.sqlite.*|arrays|uploads|writer\.(lock|json)|\.gitignore|\.DS_Store|lost\+found"
)
"""Files that a folder may hold before an index is made there: an index's own, and those that systems leave."""


@dataclass(frozen=True, slots=True)
class NewIndex:
    """Where to make the index of a folder. `why` says why it is not within the folder; empty where it is."""

    folder: Path
    why: str = ""


def find_index(start: Path | None = None) -> Path | None:
    """The index of `start` (the current folder) or of the nearest parent that has one.
    Raises: UsageError: the nearest index belongs to another user.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for place in (folder / NAME, _elsewhere(folder)):
            if place.is_dir():
                _refuse_others(place)
                return place
    return None


def index_here() -> Path:
    """The index for a command that names none. Raises: UsageError: there is none."""
    index = find_index()
    if index is None:
        raise UsageError(
            "there is no index in this folder or in one above it. `hoptrail index FOLDER` makes one here; `--index DIR` names "
            "one elsewhere."
        )
    return index_folder(index)


def new_index(folder: Path) -> NewIndex:
    """Where to make the index of a folder."""
    folder = folder.resolve()
    why = _shared_by(folder)
    return NewIndex(_elsewhere(folder), why) if why else NewIndex(folder / NAME)


def make_index_folder(folder: Path) -> None:
    """Make the folder of an index that was not named, with a `.gitignore` for its files."""
    make_folder(folder)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def refuse_documents(folder: Path) -> None:
    """Raises: UsageError: the folder holds other files and no index."""
    if (other := other_file(folder)) is not None:
        raise UsageError(
            f"{folder} holds files (such as {other}) and no index. Name a new or an empty folder, as in --index "
            f"{folder / NAME}; or leave --index out."
        )


def other_file(folder: Path) -> str | None:
    """The name of a file in a folder without an index that does not belong to one; None where there is none."""
    if not folder.is_dir() or (folder / DATABASE).exists():
        return None
    return next((name for name in sorted(child.name for child in folder.iterdir()) if not _KEPT.fullmatch(name)), None)


def _elsewhere(folder: Path) -> Path:
    """Where the index of a folder is that cannot hold it."""
    name = re.sub(r"[^\w.-]", "-", folder.name) or "root"
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return user_data_path("hoptrail") / "indexes" / f"{name}-{digest}"


def _shared_by(folder: Path) -> str:
    """What else writes to a folder, in words; empty where nothing does."""
    for place in (folder, *folder.parents):
        if match := _SERVICES.fullmatch(place.name):
            return f"the folder is synchronised ({match['name']})"
        for mark, service in _MARKS.items():
            if (place / mark).exists():
                return f"the folder is synchronised ({service})"
    on_network = network_file_system(folder) or str(folder).startswith("\\\\")
    return "the folder is on a network file system" if on_network else ""


def _refuse_others(place: Path) -> None:
    if hasattr(os, "getuid") and place.stat().st_uid != os.getuid():
        raise UsageError(
            f"the nearest index, {place}, belongs to another user. If you trust it, name it: --index {place}"
        )
