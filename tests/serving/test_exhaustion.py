"""A lack of memory, threads or open files is reported as such, never as damage."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from hoptrail import Index
from hoptrail.errors import ModelUnavailable, exhausted

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process as Linux has them")

MIB = 1 << 20
EXECUTABLE = Path(sys.executable).with_name("hoptrail")


def limited(which: str, most: int) -> Callable[[], None]:
    import resource

    return lambda: resource.setrlimit(getattr(resource, which), (most, most))


def run(*arguments: str | Path, limit: Callable[[], None]) -> tuple[int, str]:
    ended = subprocess.run(
        [EXECUTABLE, *arguments], capture_output=True, text=True, check=False, preexec_fn=limit, timeout=120
    )
    return ended.returncode, ended.stderr


def test_too_little_memory_is_said_as_such(world: Path, tmp_path: Path) -> None:
    """250 MiB are enough to run, but not for the weights of the encoder."""
    index = Index(tmp_path / "index")
    index.add([world], "hybrid")
    command = ("search", "Lindeth", "--recipe", "hybrid", "--index", index.folder)
    code, error = run(*command, limit=limited("RLIMIT_AS", 250 * MIB))
    assert code == 1, error
    assert "gave no more memory" in " ".join(error.split())
    for wrong in ("Traceback", "hoptrail repair", "do not fit"):
        assert wrong not in error
    assert index.verify()


def test_what_hangs_on_a_lack_is_told_from_other_faults() -> None:
    refused = OSError(errno.ENOMEM, "Cannot allocate memory")
    error = ModelUnavailable("the weights cannot be read")
    error.__cause__ = refused
    assert "no more memory" in str(exhausted(error))
    assert "no more threads" in str(exhausted(RuntimeError("can't start new thread")))
    assert "no more open files" in str(exhausted(OSError(errno.EMFILE, "Too many open files")))
    assert exhausted(OSError(errno.EIO, "Input/output error")) is None
    assert exhausted(ModelUnavailable("a message about memory that cannot allocate memory")) is None
    assert exhausted(None) is None


def test_a_server_without_threads_says_so_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    from hoptrail.serving.server.app import create_app
    from serving.server.served import client_of, ended, workspace

    begin = Thread.start

    def refuse(thread: Thread) -> None:
        if thread.name.startswith("jobs of"):
            raise RuntimeError("can't start new thread")
        begin(thread)

    with client_of(create_app([workspace("main", tmp_path / "index")], warm=False)) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Thread, "start", refuse)
            answer = client.post("/api/documents", json=[{"title": "Avocet", "text": "The avocet wades."}])
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "out_of_resources")
        job = client.post("/api/documents", json=[{"title": "Bittern", "text": "The bittern booms."}]).json()
        assert ended(client, job)["state"] == "done"
        assert [one["title"] for one in client.get("/api/documents").json()["documents"]] == ["Bittern"]


def test_a_document_that_takes_too_much_memory_costs_only_itself(world: Path, tiny: Path, tmp_path: Path) -> None:
    """12 MB of empty lists, in a process that may have little more than what it needs for the others."""
    (world / "lists.json").write_bytes(b"[" + b"[]," * 4_000_000 + b"[]]")
    settings = tmp_path / "settings.toml"
    settings.write_text(tiny.read_text() + "[reading]\nparsing_memory = 200_000_000\n")
    at = ("--index", tmp_path / "index", "--settings", settings)
    code, error = run("index", world, *at, limit=limited("RLIMIT_AS", 1500 * MIB))
    assert code == 4, error
    assert re.search(r"lists\.json.*bytes\s+of\s+memory", error, re.DOTALL)
    assert "Traceback" not in error
    index = Index(tmp_path / "index")
    titles = {one.title for one in index.contents().documents}
    assert titles == {path.stem for path in world.iterdir()} - {"lists"}
    assert index.verify()
