"""Kin and dated events are told in words of their own, of the one who is asked about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.told import Told
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]
NOTHING = frozenset[str]()


@pytest.mark.parametrize(
    ("hops", "title", "sentence", "out"),
    [
        (("Who is the brother of Ada Lunt?",), "Ada Lunt", "She sailed with Piet Korver.", True),
        (("Who is the brother of Ada Lunt?",), "Ada Lunt", "Her brother Piet was a pilot.", False),
        (("Who is the brother of Ada Lunt?",), "Ada Lunt", "Her siblings Piet and Mara stayed in Foss.", False),
        (("Who is the brother of Ada Lunt?",), "Tess Hale", "Her brother Oren was a pilot.", True),
        (("Who is the father of Ada Lunt?",), "Ada Lunt", "She was the daughter of Karl Lunt.", False),
        (("When did Ada Lunt die?",), "Ada Lunt", "Ada Lunt (1850 – 1921) was an engineer.", False),
        (("When did Ada Lunt die?",), "Ada Lunt", "She moved to Foss in 1902.", True),
        (("When was the Foss Guild founded?",), "Foss Guild", "The Foss Guild was established in 1710.", False),
        (("When was the Foss Guild founded?",), "Foss Guild", "The Foss Guild has burnt down in 1710.", True),
        (("Where did Ada Lunt die?",), "Ada Lunt", "She spent her last years in Foss.", False),
        (("Who taught Ada Lunt?",), "Ada Lunt", "She sailed with Piet Korver.", False),
        (("Who is the wife of Karl Lunt?", "When did #1 die?"), "Karl Lunt", "He died in Foss in 1899.", True),
        (("Who built the Gannet?", "When did #1 die?"), "Ada Lunt", "She died in Foss in 1921.", False),
    ],
)
def test_a_sentence_is_ruled_out_only_when_it_cannot_tell(
    hops: tuple[str, ...], title: str, sentence: str, out: bool, passage: MakeUnit
) -> None:
    (page,) = open_evidence((passage(title, sentence),), OfflineSettings()).pages
    assert Told.of(hops).ruled_out(page, page.lines[0], NOTHING) is out
