"""Damaged files of every format give a document or an error in time, and the files beside them are read.

A small sample of `python -m benchmarks.reading --only mutations`, which takes thousands.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.reading import LIMITS, mutated, outcome, read_files, smallest

from hoptrail.documents.forms import BY_NAME
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.types import Document

CONTENTS = read_files(Path(__file__).parent / "blocks")
NUMBER = 8
"""Mutated files a form."""


@pytest.mark.timeout(480)  # it reads half a thousand files
def test_a_damaged_file_harms_nothing(tmp_path: Path) -> None:
    """All in one folder, so that few processes read them, each beside a file that is whole."""
    texts: dict[str, str] = {}
    for form, files in CONTENTS.items():
        chance, ending = random.Random(f"{form} 31"), "".join(BY_NAME[form].endings[:1])
        whole, text = smallest(form, files)
        for place in range(NUMBER):
            name = f"{place}-{form}"
            (tmp_path / f"{name}-mutated{ending}").write_bytes(mutated(chance.choice(files), files, chance))
            (tmp_path / f"{name}-whole{ending}").write_bytes(whole)
            texts[f"{name}-whole{ending}"] = text
    findings, outcomes = Findings(), Counter[str]()
    for item in read_sources([tmp_path], LIMITS, findings=findings):
        name = Path(item.sources[0] if isinstance(item, Document) else item.source).name
        if "-mutated" in name:
            outcomes[outcome(item)] += 1
        else:
            assert isinstance(item, Document), (name, item)
            assert item.text == texts.pop(name), name
    assert texts == {}, "they were not read"
    # A damaged file of a format without endings may not be recognised, and is left out.
    outcomes["refused"] += sum("-mutated" in name for name in findings.left_out)
    assert set(outcomes) <= {"read", "refused"}, outcomes
    assert outcomes.total() == NUMBER * len(CONTENTS)
