"""Several processes over one index: two answer while a third writes, and each answer comes from one committed state."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hoptrail.index import Index
from hoptrail.store.lock import READERS
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Kind
from world import HashingEncoder

TESTS = Path(__file__).parent.parent
READER = """
import sys
from hoptrail.index import Index
from world import HashingEncoder

index = Index(sys.argv[1])
index.encoder = HashingEncoder()
print("ready", flush=True)
for line in sys.stdin:
    texts = [hit.unit.text for hit in index.search("lighthouse", "hybrid", 20)]
    print(len(texts), *sorted({text.split()[-1] for text in texts}), flush=True)
"""
ISLANDS = 6
MEANWHILE = 30


def write(index: Index, folder: Path, state: str) -> None:
    for number in range(ISLANDS):
        (folder / f"island{number}.txt").write_text(f"Island {number} has a lighthouse of state {state}")
    index.add([folder], ["hybrid"])


def started(folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", READER, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def asked(reader: subprocess.Popen[str]) -> list[str]:
    assert reader.stdin is not None
    assert reader.stdout is not None
    print("ask", file=reader.stdin, flush=True)
    return reader.stdout.readline().split()


@pytest.mark.timeout(400)  # three processes that each import the store
def test_two_processes_answer_from_committed_states_while_a_third_writes(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    write(index, sources, "first")
    readers = [started(tmp_path / "index") for _ in range(2)]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            assert asked(reader) == [str(ISLANDS), "first"]
        for reader in readers:
            assert reader.stdin is not None
            print(
                "ask\n" * MEANWHILE, end="", file=reader.stdin, flush=True
            )  # answered while the next state is written
        write(index, sources, "second")
        for reader in readers:
            assert reader.stdout is not None
            seen = [reader.stdout.readline().split() for _ in range(MEANWHILE)]
            assert all(answer in ([str(ISLANDS), "first"], [str(ISLANDS), "second"]) for answer in seen)
            assert asked(reader) == [str(ISLANDS), "second"]
    finally:
        for reader in readers:
            reader.communicate()
    assert [reader.returncode for reader in readers] == [0, 0]


def test_a_reader_of_a_folder_mounted_to_be_read_only_keeps_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a mount refuses to open the lock file for writing by an error of its own; it can be read, and locked."""
    opened = os.open

    def read_only(path: object, flags: int, *mode: int) -> int:
        if str(path).endswith(READERS) and flags & os.O_RDWR:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(str(path), flags, *mode)

    folder = tmp_path / "index"
    index = Index(folder)
    index.encoder = HashingEncoder()
    documents = tmp_path / "documents"
    documents.mkdir()
    write(index, documents, "first")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", read_only)
        reader = Snapshot.open(folder)
    write(index, documents, "second")
    assert len(list(reader.units(Kind.PASSAGE))) == reader.count(Kind.PASSAGE) > 0
