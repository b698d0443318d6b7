from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.candidates import candidates
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("She was born in Dunmere, Norway.", {"Dunmere", "Norway", "Dunmere, Norway"}),
        ("The valve was sold from 3 May 1850 on.", {"3 May 1850", "1850"}),
        ("The firm employs 340 people.", {"340", "340 people"}),
        ("She trained as a glass painter.", {"glass painter", "painter"}),
        ("He ran the Museum of the Sea.", {"Museum of the Sea"}),
    ],
)
def test_parts_and_extensions_are_offered(text: str, offered: set[str], passage: MakeUnit) -> None:
    (page,) = open_evidence((passage("Ada Lunt", text),), OfflineSettings()).pages
    found = {one.text: one for one in candidates(page.lines[0])}
    assert offered <= found.keys()
    assert "Ada Lunt" in found
    for one in found.values():
        assert one.end == 0 or one.text in text[one.start : one.end]


def test_no_text_is_offered_twice_and_nothing_of_an_empty_line(passage: MakeUnit) -> None:
    pages = open_evidence((passage("Foss", "Foss met Foss. Foss, Foss and Foss."),), OfflineSettings()).pages
    for line in pages[0].lines:
        texts = [one.text.lower() for one in candidates(line)]
        assert len(texts) == len(set(texts))
