"""The digest of a package changes with whatever can change a result, and with nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.fingerprints import digest_of_code, digest_with
from hoptrail.structures.passages import Passages
from hoptrail_papers.sirerag.trees import SimilarityTree


def test_code_prompts_and_weights_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for number, (name, text) in enumerate(
        [
            ("reader.py", "A = 1"),
            ("reader.py", "A = 2"),
            ("weights/w.json", "[1]"),
            ("weights/w.npz", "PK"),
            ("prompts/p.md", "Say."),
            ("x.txt", "x"),
        ]
    ):
        package = tmp_path / "madeup"
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / name).write_text(text)
        digest_of_code.cache_clear()
        digests.append(digest_of_code("madeup"))
        assert len(set(digests)) == min(number + 1, 5)
    sys.modules.pop("madeup", None)
    digest_of_code.cache_clear()


def test_the_code_of_what_a_package_offers_counts_too() -> None:
    engine, papers = digest_with(Passages(PassageLimits())), digest_with(SimilarityTree())
    assert engine == digest_of_code("hoptrail")
    assert papers == engine + digest_of_code("hoptrail_papers")
