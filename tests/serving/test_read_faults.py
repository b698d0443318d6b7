"""Failing reads: commands report them, change nothing, and never answer from a part of the index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from world import FACTS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="reads fail by a library for Linux, built by cc"
)

EXECUTABLE = Path(sys.executable).with_name("hoptrail")
AT = ("--index", "index", "--settings", "settings.toml")
POINTS = 4
"""Number of failing reads per command, one per trial, spread evenly over all reads."""

TRIALS = """
import ctypes, json, os, shutil, sys, tempfile

library, folder, points = sys.argv[1], sys.argv[2], int(sys.argv[3])
import hoptrail.serving.cli as cli, hoptrail.index, hoptrail.recipes.catalogue, hoptrail.corpus.repairing

def run(command, at, again=False):
    if not again:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(folder + ".before", folder)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error, tempfile.TemporaryFile() as counted:
        child = os.fork()
        if not child:
            code = 99
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
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, error, counted):
            file.seek(0)
        return {"code": code, "out": out.read().decode(), "error": error.read().decode(), "reads": int(counted.read() or 0)}

command = json.loads(sys.argv[4])
whole = run(command, 0)
trials = []
for at in range(1, whole["reads"] + 1, max(1, whole["reads"] // points)):
    trials.append({**run(command, at), "again": run(command, 0, again=True)["code"]})
print(json.dumps({"whole": whole, "trials": trials}))
"""


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
    (ground / "world").mkdir()
    for title, text in FACTS.items():
        (ground / "world" / f"{title}.txt").write_text(text, encoding="utf-8")
    shutil.copy(tiny, ground / "settings.toml")
    hoptrail(ground, "index", "world", "--for", "hybrid")
    (ground / "index").rename(ground / "index.before")
    (ground / "world" / "Lindeth.txt").write_text("Lindeth is a village now.", encoding="utf-8")
    return ground


def hoptrail(ground: Path, *arguments: str) -> None:
    command = [str(EXECUTABLE), *arguments, *AT]
    ended = subprocess.run(command, cwd=ground, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.timeout(280)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_read_that_fails_is_said_and_changes_nothing(ground: Path, name: str) -> None:
    """Number of reads of the database and its log; arrays are mapped."""
    library, folder = str(ground / "reads.so"), str(ground / "index")
    command = json.dumps([*COMMANDS[name], *AT])
    ended = subprocess.run(
        [sys.executable, "-c", TRIALS, library, folder, str(POINTS), command],
        cwd=ground,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LD_PRELOAD": library},
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
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
    hoptrail(ground, "verify")


def without_times(printed: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(printed)
    found.pop("usage", None)
    return found
