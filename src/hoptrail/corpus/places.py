"""Where an index may be, and which processes hold it: what the operating system knows, so that nothing has to be noted."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hoptrail.errors import IndexMismatch, StorageError, UsageError

DATABASE = "index.sqlite"
JOBS = "jobs.sqlite"
"""The journal of a server's jobs."""
UPLOADS = "uploads"
"""The folder of an index in which a server's uploads wait to be indexed."""
UPLOADED = re.compile(rf"(.*/)?{UPLOADS}/n[0-9a-f]{{20}}\.jsonl#(?P<name>.*)", re.DOTALL)
"""The source of a document that was uploaded, with the name that it was uploaded under."""

_OLD_INDEX = "head.lance"
"""What version 0.1 kept in the folder of an index."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""How an address begins, also one that was made a path, which loses a slash. One letter is a drive of Windows."""

NETWORK = frozenset(
    (  # noqa: SIM905 - a list of quoted words reads worse
        "nfs nfs4 cifs smb3 smbfs afs 9p ceph lustre ncpfs coda beegfs gpfs ocfs2 fuse.sshfs fuse.rclone fuse.s3fs fuse.gcsfuse "
        "fuse.glusterfs fuse.ceph fuse.davfs"
    ).split()
)
"""File systems whose locks do not hold between machines, or whose files cannot be shared as memory."""

_MOUNTS = Path("/proc/self/mountinfo")
_LOCKS = Path("/proc/locks")

_WRITER = range(120, 121)
_READERS = range(123, 128)
"""Bytes of the file of shared memory that SQLite locks: for who writes, and for who reads the log."""


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


def refuse_old_index(folder: Path) -> None:
    """Raises: IndexMismatch: the folder holds an index of version 0.1, which this version cannot read."""
    if (folder / _OLD_INDEX).exists() and not (folder / DATABASE).exists():
        raise IndexMismatch(
            f"{folder} holds an index of hoptrail 0.1, which this version cannot read. Index the documents into a new folder: "
            f"`hoptrail index SOURCE... --index NEW`. To keep the ledger of chat replies, copy "
            f"{folder / 'replies.sqlite'} into that folder first."
        )


def check_file_system(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Refuse a network file system, where the system says what is mounted (Linux).

    Raises:
        StorageError: an index here could be damaged by two machines that use it.
    """
    kind = _file_system(folder, mounts)
    if kind in NETWORK:
        raise StorageError(
            f"{folder} is on a network file system ({kind}), where an index cannot be kept safely. Keep it on a disk of this "
            f"machine; other machines can ask it through `hoptrail serve`, or have a copy of their own."
        )


def _file_system(folder: Path, mounts: Path) -> str:
    """The type of the file system that a folder is on; empty where that is not known."""
    try:
        device = folder.stat().st_dev
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        fields = line.split(" ")
        if number == fields[2] and "-" in fields:
            return fields[fields.index("-") + 1]
    return ""


def is_read_only(folder: Path) -> bool:
    """Whether the file system is mounted to be read only: then nobody can write, and no locks are needed."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has an index open."""

    process: int
    command: str

    def __str__(self) -> str:
        if self.process == os.getpid():
            return "this process itself"
        return f"process {self.process} (`{self.command}`)" if self.command else f"process {self.process}"


def writer_of(folder: Path) -> str:
    """Who writes to the index, in words."""
    return ", ".join(map(str, _holders(folder, _WRITER))) or "another process"


def writer_now(folder: Path) -> str | None:
    """Who writes to the index, in a few words: empty where nobody does, None where the system does not tell."""
    if not _LOCKS.exists():
        return None
    return ", ".join(str(Holder(holder.process, "")) for holder in _holders(folder, _WRITER))


def readers_of(folder: Path) -> str:
    """Who reads an earlier state of the index, in words."""
    return ", ".join(map(str, _holders(folder, _READERS))) or "another process"


def _holders(folder: Path, places: range, locks: Path = _LOCKS) -> list[Holder]:
    """The processes that have locked one of some bytes of the shared memory.

    The file itself is not opened: closing it would give up the locks that this process has on it.
    """
    try:
        shared = (folder / f"{DATABASE}-shm").stat()
        lines = locks.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    file = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    found = set()
    for line in lines:
        fields = line.split()
        if fields[1] == "POSIX" and fields[5] == file and _touches(fields[6], fields[7], places):
            found.add(int(fields[4]))
    return [Holder(process, _command(process)) for process in sorted(found)]


def _touches(first: str, last: str, places: range) -> bool:
    return int(first) < places.stop and (last == "EOF" or int(last) >= places.start)


def _command(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode(errors="replace") for word in words if word)[:200]
