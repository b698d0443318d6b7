"""The whole process: it opens no connection, and tolerates a clock that goes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXECUTABLE = Path(sys.executable).with_name("hoptrail")

CUSTOMIZED = """
import os, sys, time

def note(event, arguments):
    if event.startswith("socket.") and event.split(".")[1] in {"connect", "sendto", "getaddrinfo", "gethostbyname", "bind"}:
        if "AF_UNIX" not in repr(arguments[0]):
            file = os.open(os.environ["NOTED_HERE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, f"{event} {arguments[1:]}\\n".encode())
            os.close(file)

sys.addaudithook(note)
clock = [time.time()]

def back(real=time.time):
    clock[0] -= 60.0
    return clock[0]

time.time = back
time.time_ns = lambda: int(back() * 1e9)
"""
"""For every Python process of a command: records connections and DNS look-ups, and sets the clock back a minute per read."""


def without_network() -> list[str]:
    """The prefix that runs a command without a network, if the system allows it."""
    able = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0
    return ["unshare", "-n"] if able else []


@pytest.mark.skipif(sys.platform != "linux", reason="networks are taken away as Linux does")
def test_nothing_leaves_the_machine_and_time_may_go_back(world: Path, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(CUSTOMIZED)
    (world / "page.html").write_text(
        '<title>Bridges</title><p>The Tallow Bridge is old.</p><img src="https://example.org/x.png">'
    )
    noted = tmp_path / "noted"
    paths = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "NOTED_HERE": str(noted)}

    def run(*arguments: str | Path) -> str:
        command = [*without_network(), EXECUTABLE, *arguments, "--index", tmp_path / "index", "--settings", tiny]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=280)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    probe = "import socket; socket.getaddrinfo('localhost', 80)"
    subprocess.run([sys.executable, "-c", probe], check=True, env=environment)
    assert "getaddrinfo" in noted.read_text(), "what is noted is noted"
    noted.unlink()
    run("index", world, "--for", "selfask")
    answer = json.loads(run("ask", "Who designed the Tallow Bridge?", "--recipe", "selfask", "--json"))
    assert answer["usage"]["seconds"] >= 0
    assert answer["evidence"] or answer["closest"]
    assert not noted.exists(), noted.read_text()
