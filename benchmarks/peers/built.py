"""The job and the result of a peer that builds with a language model.

Importable without hoptrail, using only the standard library, because peers run in their own interpreters. The server, not the
peer, counts calls and tokens.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

DIMENSION = 384
MODEL = "fake"
KEY = "none"


@dataclass(frozen=True, slots=True)
class BuildJob:
    """`texts` are whole documents, `address` is the server's, `folder` is an empty folder for the peer."""

    texts: list[str]
    address: str
    folder: str

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> BuildJob:
        return BuildJob(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Built:
    """`seconds` are those of building alone, without imports; `made` counts the results."""

    system: str
    version: str
    seconds: float
    made: dict[str, int]


class Quarters:
    """A tokeniser for libraries that would download one: a token is four bytes of UTF-8, the last one fewer."""

    def encode(self, text: str, **_: object) -> list[int]:
        content = text.encode()
        return [int.from_bytes(b"\1" + content[at : at + 4], "big") for at in range(0, len(content), 4)]

    def decode(self, tokens: list[int], **_: object) -> str:
        """Characters that were cut are lost."""
        return b"".join(token.to_bytes(5, "big").lstrip(b"\0")[1:] for token in tokens).decode(errors="ignore")

    def encode_batch(self, texts: list[str], **_: object) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode_batch(self, batch: list[list[int]], **_: object) -> list[str]:
        return [self.decode(tokens) for tokens in batch]


def run_builder(system: str, package: str, build: Callable[[BuildJob], tuple[float, Mapping[str, int]]]) -> None:
    """The main program of a peer: `python -m benchmarks.peers.NAME JOB.json BUILT.json`."""
    given, made = map(Path, sys.argv[1:])
    seconds, counts = build(BuildJob.read(given))
    built = Built(system, version(package), seconds, dict(counts))
    made.write_text(json.dumps(asdict(built)), encoding="utf-8")


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
