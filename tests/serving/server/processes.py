"""Servers as processes: started, queried, stopped and killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx
import pytest

from world import HashingEncoder

EXECUTABLE = Path(sys.executable).with_name("hoptrail")
PATIENCE = 90.0
"""In seconds, generous for busy machines."""


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int

    def client(self, key: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=PATIENCE, verify=False)

    def stop(self) -> str:
        """Stop it as an operator does; returns its output."""
        self.process.send_signal(signal.SIGTERM)
        output = self.process.communicate(timeout=PATIENCE)[1] or ""
        assert self.process.returncode in {0, -signal.SIGTERM}, output
        return output


@contextmanager
def serving(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A running server, killed at the end."""
    port = free_port()
    command = [EXECUTABLE, "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    try:
        wait_for_server(port, lambda: process.poll() is None)
        yield Server(process, port)
    finally:
        process.kill()
        process.wait(PATIENCE)
        if process.stderr:
            process.stderr.close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for_server(port: int, is_alive: Callable[[], bool]) -> None:
    """Return once a server listens."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionError:
            assert is_alive(), "the server has ended"
            assert time.monotonic() < until, "the server does not listen"
            time.sleep(0.02)


PROCESSES = multiprocessing.get_context("forkserver") if sys.platform == "linux" else multiprocessing.get_context()
if sys.platform == "linux":
    # These are what commands import when they are asked for, and every server needs.
    late = [
        "hoptrail.serving.cli",
        "hoptrail.serving.server.app",
        "hoptrail.index.indexing",
        "hoptrail.index.settings",
        "hoptrail.recipes.settings",
    ]
    PROCESSES.set_forkserver_preload(["pytest", "serving.server.processes", "serving.server.served", "world", *late])


def forked(target: Callable[..., object], *arguments: object) -> BaseProcess:
    """A process that runs `target`, forked from one that has loaded everything."""
    if sys.platform == "linux":
        with pytest.MonkeyPatch.context() as patch:  # what is loaded beforehand is not looked for in `sys.path`
            patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
            forkserver.ensure_running()
    process = PROCESSES.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def command(*arguments: str) -> BaseProcess:
    """`hoptrail ARGUMENT...` as a process. Vectors are hashed words."""
    return forked(_run, arguments)


def _run(arguments: Sequence[str]) -> None:
    import hoptrail.models.encoder_factory
    import hoptrail.serving.cli

    vars(hoptrail.models.encoder_factory)["open_encoder"] = lambda *_: HashingEncoder()
    sys.argv = ["hoptrail", *arguments]
    hoptrail.serving.cli.main()


def fork_server(folder: Path, *names: str) -> tuple[BaseProcess, httpx.Client]:
    """A server without keys over the indexes `names` in a folder, in a process forked from one that has loaded everything, and a
    client. Vectors are hashed words.
    """
    port = free_port()
    process = forked(_serve, folder, names, port)
    wait_for_server(port, process.is_alive)
    return process, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, verify=False)


def _serve(folder: Path, names: Sequence[str], port: int) -> None:
    import uvicorn

    from hoptrail.index.settings import ServerLimits
    from hoptrail.serving.server.app import create_app
    from hoptrail.serving.server.http_server import server_config
    from serving.server.served import workspace

    limits = ServerLimits()
    app = create_app([workspace(name, folder / name) for name in names], limits=limits, warm=False)
    uvicorn.Server(server_config(app, "127.0.0.1", port, limits)).run()
