"""Where an index may be, and which processes have it open, as the operating system knows."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hoptrail.errors import IndexMismatch, StorageError, UsageError

DATABASE = "index.sqlite"
JOBS = "jobs.sqlite"
"""The journal of a server's jobs."""
HISTORY = "history.sqlite"
"""The answers that a server keeps."""

OLD_INDEX = "head.lance"
"""A file of indexes of version 0.1, which were no SQLite databases."""

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
    """The folder of an index that a user names.
    Raises: UsageError: the name is empty or an address; IndexMismatch: the folder holds an index of version 0.1.
    """
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
    refuse_old_index(folder)
    return folder


def refuse_old_index(folder: Path) -> None:
    """Raises: IndexMismatch: the folder holds an index of version 0.1, which this version cannot read."""
    if (folder / OLD_INDEX).exists() and not (folder / DATABASE).exists():
        raise of_older_format(folder)


def of_older_format(folder: Path) -> IndexMismatch:
    """The error for an index that an earlier version made, in a format that is no longer read."""
    return IndexMismatch(
        f"{folder} holds an index of an older format, which this version of hoptrail cannot read. Index the documents into a new "
        f"folder: `hoptrail index SOURCE... --index NEW`. To keep the ledger of chat replies, copy {folder / 'replies.sqlite'} "
        f"into that folder first."
    )


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
    for line in lines:
        fields = line.split(" ")
        if number == fields[2] and "-" in fields:
            kind = fields[fields.index("-") + 1]
            return kind if kind in NETWORK else ""
    return ""


def is_read_only(folder: Path) -> bool:
    """Whether the file system is mounted read-only: then nobody can write, and no locks are needed."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def writer_of(folder: Path) -> str:
    """The process that writes to the index, in words."""
    return ", ".join(map(_in_words, _holders(folder, _WRITER))) or "another process"


def writer_now(folder: Path) -> str | None:
    """The process that writes to the index, in short: empty where there is none, None where the system does not tell."""
    if not _LOCKS.exists():
        return None
    own = os.getpid()
    return ", ".join("this process itself" if it == own else f"process {it}" for it in _holders(folder, _WRITER))


def readers_of(folder: Path) -> str:
    """The processes that read the index, in words."""
    return ", ".join(map(_in_words, _holders(folder, _READERS))) or "another process"


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
    for line in lines:
        fields = line.split()
        if fields[1] == "POSIX" and fields[5] == file:
            first, last = fields[6:8]
            if int(first) < places.stop and (last == "EOF" or int(last) >= places.start):
                processes.add(int(fields[4]))
    return sorted(processes)


def _in_words(process: int) -> str:
    if process == os.getpid():
        return "this process itself"
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = " ".join(word.decode(errors="replace") for word in words if word)[:200]
    return f"process {process} (`{command}`)" if command else f"process {process}"
