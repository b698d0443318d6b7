"""`hoptrail serve` as a process: started, queried, stopped and killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

EXECUTABLE = Path(sys.executable).with_name("hoptrail")
PATIENCE = 90.0
"""In seconds, generous for busy machines."""


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int

    def client(self, key: str | None = None, address: str = "127.0.0.1", **more: Any) -> httpx.Client:
        """A client at an address of this machine."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        transport = httpx.HTTPTransport(local_address=address)
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=PATIENCE, transport=transport, **more
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> str:
        """Stop it as an operator does; returns its output."""
        self.process.send_signal(signal.SIGTERM)
        output = self.process.communicate(timeout=PATIENCE)[1] or ""
        assert self.process.returncode in {0, -signal.SIGTERM}, output
        return output


@contextmanager
def serving(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A running server, killed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [EXECUTABLE, "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health")
                break
            except httpx.TransportError:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.05)
        yield Server(process, port)
    finally:
        process.kill()
        process.wait(PATIENCE)
        if process.stderr:
            process.stderr.close()


def over(client: httpx.Client, job: str) -> dict[str, Any]:
    """The job once it is over."""
    until = time.monotonic() + PATIENCE
    while True:
        found: dict[str, Any] = client.get(f"/api/jobs/{job}").json()
        if found["state"] in {"done", "failed", "stopped"}:
            return found
        assert time.monotonic() < until, f"the job did not end: {found}"
        time.sleep(0.02)
