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

ROOT = Path(__file__).parents[2]
EXECUTABLE = Path(sys.executable).with_name("hoptrail")
AT = ("--index", "index", "--settings", "settings.toml")
POINTS = 4
"""Number of failing reads per command, one per trial, spread evenly over all reads."""

TRIALS = """
import ctypes, json, shutil, sys
from benchmarks.operations import build_command_line, command_line, forked

library, folder, points = sys.argv[1], sys.argv[2], int(sys.argv[3])
build_command_line()

def run(command, at, again=False):
    if not again:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(folder + ".before", folder)

    def watch():
        reads = ctypes.CDLL(library)
        reads.reads_fail.argtypes = [ctypes.c_char_p, ctypes.c_long]
        reads.reads_counted.restype = ctypes.c_long
        reads.reads_fail(folder.encode(), at)
        return reads.reads_counted

    code, out, error, reads = forked(command_line(command), watch)
    return {"code": code, "out": out, "error": error, "reads": reads}

found = {}
for name, command in json.loads(sys.argv[4]).items():
    whole = run(command, 0)
    trials = []
    for at in range(1, whole["reads"] + 1, max(1, whole["reads"] // points)):
        trials.append(run(command, at))
        if name in ("update", "remove"):
            trials[-1]["again"] = run(command, 0, again=True)["code"]
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
        env={**os.environ, "LD_PRELOAD": library, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
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
        assert one.get("again", 0) == 0, one
        if not one["code"] and "--json" in COMMANDS[name]:
            assert without_times(one["out"]) == without_times(found["whole"]["out"])
    assert found["verified"] == 0


def without_times(printed: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(printed)
    found.pop("usage", None)
    return found
