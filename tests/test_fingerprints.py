"""The digest of a package changes with whatever can change a result, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, make_dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.fingerprints import digest_of_code, digest_with, fingerprint
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


def test_a_setting_that_became_a_constant_makes_nothing_invalid() -> None:
    @dataclass(frozen=True)
    class Settings:
        most: int = 3
        method: str = "leiden"
        former: ClassVar[Mapping[str, object]] = {"seed": 0, "method": {"name": "leiden", "rounds": 4}}

    def before(**values: object) -> str:
        made = make_dataclass(
            "Settings",
            [(name, object, field(default_factory=partial(deepcopy, value))) for name, value in values.items()],
        )
        return fingerprint(made())

    name = {"name": "leiden", "rounds": 4}
    assert fingerprint(Settings()) == before(most=3, method=name, seed=0)
    assert fingerprint(Settings(most=4)) == before(most=4, method=name, seed=0)
    assert fingerprint(Settings(method="raptor")) == before(most=3, method="raptor", seed=0)
