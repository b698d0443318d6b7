"""Failing reads: commands report them, change nothing, and never answer from a part of the index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from world import write_facts

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="reads fail by a library for Linux, built by cc"
)

EXECUTABLE = Path(sys.executable).with_name("hoptrail")
AT = ("--index", "index", "--settings", "settings.toml")
POINTS = 4
"""Number of failing reads per command, one per trial, spread evenly over all reads."""

TRIALS = """
import ctypes, functools, importlib, json, os, shutil, sys, tempfile

library, folder, points = sys.argv[1], sys.argv[2], int(sys.argv[3])
import typer.main
import hoptrail.serving.cli as cli

typer.main.get_command = functools.cache(typer.main.get_command)
typer.main.get_command(cli.app)

def run(command, at, again=False):
    if not again:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(folder + ".before", folder)
    files = [tempfile.TemporaryFile() for _ in range(4)]
    out, error, counted, loaded = files
    child = os.fork()
    if not child:
        code, before = 99, set(sys.modules)
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(error.fileno(), 2)
            reads = ctypes.CDLL(library)
            reads.reads_fail.argtypes = [ctypes.c_char_p, ctypes.c_long]
            reads.reads_counted.restype = ctypes.c_long
            reads.reads_fail(folder.encode(), at)
            sys.argv = ["hoptrail", *command]
            try:
                code = cli.main() or 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(counted.fileno(), str(reads.reads_counted()).encode())
            os.write(loaded.fileno(), " ".join(name for name in sys.modules if name not in before).encode())
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = []
    for file in files:
        file.seek(0)
        said.append(file.read().decode())
        file.close()
    out, error, counted, loaded = said
    for name in loaded.split():  # what one process has loaded the next need not load
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    return {"code": code, "out": out, "error": error, "reads": int(counted or 0)}

found = {}
for name, command in json.loads(sys.argv[4]).items():
    whole = run(command, 0)
    trials = []
    for at in range(1, whole["reads"] + 1, max(1, whole["reads"] // points)):
        trials.append({**run(command, at), "again": run(command, 0, again=True)["code"]})
    found[name] = {"whole": whole, "trials": trials, "verified": run(json.loads(sys.argv[5]), 0, again=True)["code"]}
print(json.dumps(found))
"""
"""Runs all commands in forks of one process, which saves the time that starting and loading take."""


COMMANDS: dict[str, tuple[str, ...]] = {
    "search": ("search", "Who designed the Tallow Bridge?", "--recipe", "hybrid", "--json"),
    "show": ("show", "--json"),
    "verify": ("verify",),
    "update": ("index", "world"),
    "remove": ("remove", "Lindeth"),
}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """The preloaded library, an index that each trial copies, and its documents, one of which has changed since."""
    ground = tmp_path_factory.mktemp("reads")
    source = Path(__file__).with_name("read_faults.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(ground / "reads.so"), str(source), "-ldl"], check=True)
    write_facts(ground / "world")
    shutil.copy(tiny, ground / "settings.toml")
    command = [str(EXECUTABLE), "index", "world", "--for", "hybrid", *AT]
    ended = subprocess.run(command, cwd=ground, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (ground / "index").rename(ground / "index.before")
    (ground / "world" / "Lindeth.txt").write_text("Lindeth is a village now.", encoding="utf-8")
    return ground


@pytest.fixture(scope="module")
def trials(ground: Path) -> dict[str, Any]:
    """How every command ended, undisturbed and with each failing read."""
    library, folder = str(ground / "reads.so"), str(ground / "index")
    commands = json.dumps({name: [*command, *AT] for name, command in COMMANDS.items()})
    ended = subprocess.run(
        [sys.executable, "-c", TRIALS, library, folder, str(POINTS), commands, json.dumps(["verify", *AT])],
        cwd=ground,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LD_PRELOAD": library},
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.timeout(600)  # the first waits for the trials of all
@pytest.mark.parametrize("name", COMMANDS)
def test_a_read_that_fails_is_said_and_changes_nothing(trials: dict[str, Any], name: str) -> None:
    """Number of reads of the database and its log; arrays are mapped."""
    found = trials[name]
    assert found["whole"]["code"] == 0, found["whole"]
    assert len(found["trials"]) >= POINTS
    assert {one["code"] for one in found["trials"]} <= {0, 1}, found["trials"]
    assert 1 in {one["code"] for one in found["trials"]}
    for one in found["trials"]:
        assert "Traceback" not in one["error"]
        assert "hoptrail repair" not in one["error"], "a disk that refuses is not a damaged index"
        assert one["again"] == 0, one
        if not one["code"] and "--json" in COMMANDS[name]:
            assert without_times(one["out"]) == without_times(found["whole"]["out"])
    assert found["verified"] == 0


def without_times(printed: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(printed)
    found.pop("usage", None)
    return found
