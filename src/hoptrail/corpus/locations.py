"""Where an index may be, where it is when none is named, and which processes have it open, as the operating system knows.

The index of a folder is in its subfolder `.hoptrail`. The one to use is that of the current folder or of the nearest parent, as
git finds a repository. For synchronised and network folders it is in the user's data folder instead, because an index is damaged
when two machines write to it or when it is copied while it is written.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from hoptrail.corpus.durable import make_folder
from hoptrail.corpus.schema import refuse_other_format
from hoptrail.documents.walking import OF_AN_INDEX as NAME
from hoptrail.documents.walking import shown
from hoptrail.errors import StorageError, UsageError

DATABASE = "index.sqlite"
JOBS = "jobs.sqlite"  # the journal of a server's jobs
HISTORY = "history.sqlite"  # the answers that a server keeps

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""The start of a URL, which loses a slash when it is made a path. A single letter is a Windows drive."""

NETWORK = frozenset(
    (  # noqa: SIM905 - a list of quoted words reads worse
        "nfs nfs4 cifs smb3 smbfs afs 9p ceph lustre ncpfs coda beegfs gpfs ocfs2 fuse.sshfs fuse.rclone fuse.s3fs fuse.gcsfuse "
        "fuse.glusterfs fuse.ceph fuse.davfs"
    ).split()
)
"""File systems whose locks do not work between machines, or whose files cannot be shared memory."""

_MOUNTS = Path("/proc/self/mountinfo")
_LOCKS = Path("/proc/locks")

_WRITER = range(120, 121)
_READERS = range(123, 128)
"""Bytes of the shared-memory file that SQLite locks: for the writer, and for readers of the log."""


def index_folder(where: str | Path) -> Path:
    """The folder of an index that a user names. Raises: UsageError: it can be none; IndexMismatch: it is of version 0.1."""
    text = str(where)
    if not text.strip():  # as from a shell variable that is not set; it would be the current folder
        raise UsageError("an index cannot be at an empty path: name a folder, or . for the current one.")
    if match := _ADDRESS.match(text):
        raise UsageError(
            f"an index is a folder of this machine, not an address that begins with {match[1]}://. Publish an index with "
            f"`hoptrail publish ADDRESS --index DIR`; ask a published one with `hoptrail serve ADDRESS`, or make a folder of it "
            f"with `hoptrail restore ADDRESS --index DIR`."
        )
    folder = Path(where).expanduser()
    if folder.is_file():
        raise UsageError(f"{folder} is a file, and an index is a folder: name a folder by --index.")
    if (name := shown(folder)) != folder.as_posix():  # SQLite could not open it
        raise UsageError(f"an index cannot be at {name}, a path that is not UTF-8: name another folder by --index.")
    if not (folder / DATABASE).exists():
        refuse_other_format(folder, None)
    return folder


def check_file_system(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a network file system (Linux lists mounts). Raises: StorageError: two machines could damage an index here."""
    if kind := network_file_system(folder, mounts):
        raise StorageError(
            f"{folder} is on a network file system ({kind}), where an index cannot be kept safely. Keep it on a disk of this "
            f"machine; other machines can ask it through `hoptrail serve`, or have their own copy."
        )


def network_file_system(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the network file system of a folder; empty on a local disk, and where it is unknown."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for fields in map(str.split, lines):
        if number == fields[2] and "-" in fields:
            kind = fields[fields.index("-") + 1]
            return kind if kind in NETWORK else ""
    return ""


def is_read_only(folder: Path) -> bool:
    """Whether the file system is mounted read-only: then nobody can write, and no locks are needed."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def users_of(folder: Path, *, writing: bool) -> str:
    """The process that writes to the index, or the processes that read it, in words."""
    return ", ".join(map(_in_words, _holders(folder, _WRITER if writing else _READERS))) or "another process"


def writer_now(folder: Path) -> str | None:
    """The process that writes to the index, in short: empty where there is none, None where the system does not tell."""
    if not _LOCKS.exists():
        return None
    own = os.getpid()
    return ", ".join("this process itself" if it == own else f"process {it}" for it in _holders(folder, _WRITER))


def _holders(folder: Path, places: range) -> list[int]:
    """The processes that have locked one of these bytes of the shared-memory file, which is not opened, because closing it would
    release the locks that this process has on it.
    """
    try:
        shared = (folder / f"{DATABASE}-shm").stat()
        lines = _LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    file = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    processes = set()
    for fields in map(str.split, lines):
        if fields[1] == "POSIX" and fields[5] == file:
            first, last = fields[6:8]
            if int(first) < places.stop and (last == "EOF" or int(last) >= places.start):
                processes.add(int(fields[4]))
    return sorted(processes)


def _in_words(process: int) -> str:
    if process == os.getpid():
        return "this process itself"
    command = ""
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_text("utf-8", "replace").replace("\0", " ").strip()[:200]
    return f"process {process} (`{command}`)" if command else f"process {process}"


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
    """The index of `start` (this folder) or of the nearest parent that has one. Raises: UsageError: it is another user's."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for place in (folder / NAME, _elsewhere(folder)):
            if place.is_dir():
                if hasattr(os, "getuid") and place.stat().st_uid != os.getuid():
                    raise UsageError(
                        f"the nearest index, {place}, belongs to another user. If you trust it, name it: --index {place}"
                    )
                return place
    return None


def index_here() -> Path:
    """The nearest index. Raises: UsageError: there is none, or it is another user's; IndexMismatch: as `index_folder`."""
    if (index := find_index()) is None:
        raise UsageError(
            "there is no index in this folder or in one above it. `hoptrail index FOLDER` makes one here; `--index DIR` names "
            "one elsewhere."
        )
    return index_folder(index)


def new_index(folder: Path) -> NewIndex:
    folder = folder.resolve()
    why = _shared_by(folder)
    return NewIndex(_elsewhere(folder), why) if why else NewIndex(index_folder(folder / NAME))


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
    name = re.sub(r"[^\w.-]", "-", folder.name) or "root"
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return user_data_path("hoptrail") / "indexes" / f"{name}-{digest}"


def _shared_by(folder: Path) -> str:
    """What else writes to a folder, in words; empty where nothing does."""
    for place in (folder, *folder.parents):
        match = _SERVICES.fullmatch(place.name)
        marked = (service for mark, service in _MARKS.items() if (place / mark).exists())
        if service := match["name"] if match else next(marked, ""):
            return f"the folder is synchronised ({service})"
    on_network = network_file_system(folder) or str(folder).startswith("\\\\")
    return "the folder is on a network file system" if on_network else ""
