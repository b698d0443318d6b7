"""Fixtures of the evaluation tests: a writer of small files, a bench, and the command with its encoder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from command import Hoptrail
from evaluation.bench import CORPUS, QUESTIONS, Bench, WriteLines


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """Writes objects as JSON lines (strings unchanged) to a file in the test's folder."""

    def write(name: str, lines: Iterable[object]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        return path

    return write


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.write("corpus.jsonl", CORPUS)
    bench.write("questions.jsonl", QUESTIONS)
    return bench


@pytest.fixture
def command(bench: Bench, hoptrail: Hoptrail, monkeypatch: pytest.MonkeyPatch) -> Hoptrail:
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda _: bench.encoder)
    return hoptrail
