"""Which index is meant where none is named: that of the current folder or the nearest above it, as git finds a repository.

An index lies in `.hoptrail` of its folder. Synchronised and network folders have theirs in the user's data folder instead: an
index that two machines write to, or that is copied while it is written, is damaged. Reads names and file marks only.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from hoptrail.corpus.durable import make_folder
from hoptrail.corpus.places import DATABASE, check_file_system, index_folder
from hoptrail.documents.walking import OF_AN_INDEX as NAME
from hoptrail.errors import StorageError, UsageError

_SERVICES = re.compile(
    r"(?P<name>dropbox|onedrive|nextcloud|owncloud|google ?drive|icloud ?drive|mobile documents|cloudstorage|pcloud ?drive"
    r"|proton ?drive|syncthing)(\W.*)?",
    re.IGNORECASE,
)
"""How the folders of such services are called, also with an account behind the name: `OneDrive - Example`."""
_MARKS = {
    ".dropbox.cache": "Dropbox",
    ".849C9593-D756-4E56-8D6E-42412F2A707B": "OneDrive",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
    ".tmp.drivedownload": "Google Drive",
    ".stfolder": "Syncthing",
}
"""What services keep at the top of their folders, whatever those are called."""
_KEPT = re.compile(
    r"(index|replies|jobs)\.sqlite.*|arrays|uploads|writer\.(lock|json)|\.gitignore|\.DS_Store|lost\+found"
)
"""What may lie in a folder before an index is begun there: what an index keeps, and what systems leave."""


@dataclass(frozen=True, slots=True)
class NewIndex:
    """Where an index is made for a folder; `why` it is not within the folder, empty where it is."""

    folder: Path
    why: str = ""


def find_index(start: Path | None = None) -> Path | None:
    """The index of a folder (the current one) or of the nearest above it that has one.

    Raises:
        UsageError: the nearest is another user's.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for place in (folder / NAME, _elsewhere(folder)):
            if place.is_dir():
                _refuse_others(place)
                return place
    return None


def index_here() -> Path:
    """The index that a command means which names none.

    Raises:
        UsageError: there is none.
    """
    found = find_index()
    if found is None:
        raise UsageError(
            "there is no index of this folder or of one above it. `hoptrail index FOLDER` makes one here; `--index DIR` names "
            "one elsewhere."
        )
    return index_folder(found)


def new_index(folder: Path) -> NewIndex:
    """Where the index of a folder is to be made."""
    folder = folder.resolve()
    why = _shared_by(folder)
    return NewIndex(_elsewhere(folder), why) if why else NewIndex(folder / NAME)


def make_index_folder(folder: Path) -> None:
    """Make the folder of an index that nobody named; what is in it is for no repository."""
    make_folder(folder)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def refuse_documents(folder: Path) -> None:
    """Raises: UsageError: the folder holds something, and no index: files of one would lie among others."""
    if (other := other_file(folder)) is not None:
        raise UsageError(
            f"{folder} holds files (such as {other}) and no index. Name a new or an empty folder, as in --index "
            f"{folder / NAME}; or leave --index out."
        )


def other_file(folder: Path) -> str | None:
    """The name of something in a folder that is no index, and that an index would not have put there."""
    if not folder.is_dir() or (folder / DATABASE).exists():
        return None
    return next((name for name in sorted(child.name for child in folder.iterdir()) if not _KEPT.fullmatch(name)), None)


def _elsewhere(folder: Path) -> Path:
    """Where the index of a folder is that cannot hold it itself."""
    name = re.sub(r"[^\w.-]", "-", folder.name) or "root"
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return user_data_path("hoptrail") / "indexes" / f"{name}-{digest}"


def _shared_by(folder: Path) -> str:
    """Who else writes to a folder, in words; empty where nobody does."""
    for place in (folder, *folder.parents):
        if found := _SERVICES.fullmatch(place.name):
            return f"the folder is synchronised ({found['name']})"
        for mark, service in _MARKS.items():
            if (place / mark).exists():
                return f"the folder is synchronised ({service})"
    try:
        check_file_system(folder)
    except StorageError:
        return "the folder is on a network file system"
    return "the folder is on a network file system" if str(folder).startswith("\\\\") else ""


def _refuse_others(place: Path) -> None:
    if hasattr(os, "getuid") and place.stat().st_uid != os.getuid():
        raise UsageError(
            f"the nearest index, {place}, belongs to another user. If you trust it, name it: --index {place}"
        )
