"""Damaged files of every format give a document or an error in time, and the files beside them are read.

A small sample of `python -m benchmarks.reading --only mutations`, which takes thousands.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.reading import measure_mutations, read_files

CONTENTS = read_files(Path(__file__).parent / "blocks")
NUMBER = 8
"""Mutated files a form."""


@pytest.mark.parametrize("form", sorted(CONTENTS))
def test_a_damaged_file_harms_nothing(form: str) -> None:
    outcome = measure_mutations(form, CONTENTS[form], NUMBER, seed=31)
    assert outcome.read + outcome.refused == outcome.files == NUMBER, outcome
    assert outcome.lost == 0, outcome
