"""A file is replaced whole or not at all; what is not a file is written to, and what cannot be written is known before."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hoptrail.system.atomic_write import refuse_unwritable, replace_file


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    replace_file(file, b"old")
    replace_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_the_old_file_is_whole_until_the_new_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.json"
    replace_file(file, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "report.json", tmp_path / "latest.json"
    file.write_bytes(b"old")
    link.symlink_to(file)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"new")
    reader.join(60)
    assert read == [b"new"]
    assert pipe.is_fifo()


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / "report.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError):
        refuse_unwritable(tmp_path)
    with pytest.raises(FileNotFoundError):
        refuse_unwritable(tmp_path / "nowhere" / "report.json")
