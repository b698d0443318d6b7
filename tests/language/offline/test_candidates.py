from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.candidates import candidates
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.text.mentions import Shape, find_mentions
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


def test_dates_are_read_in_figures_and_a_pronoun_is_no_number() -> None:
    found = {
        mention.text: mention.shape
        for mention in find_mentions("Bo came on 2019-08-12, left in 2021-04; 1979.017 is torn.")
    }
    assert found == {"Bo": Shape.NAME, "2019-08-12": Shape.DATE, "2021-04": Shape.DATE, "1979.017": Shape.NUMBER}
    said = [mention.text for mention in find_mentions("one has a limp and one boat leaks", question=False)]
    assert said.count("one") == 1


def test_no_text_is_offered_twice_and_nothing_of_an_empty_line(passage: MakeUnit) -> None:
    pages = open_evidence((passage("Foss", "Foss met Foss. Foss, Foss and Foss."),), OfflineSettings()).pages
    for line in pages[0].lines:
        texts = [one.text.lower() for one in candidates(line)]
        assert len(texts) == len(set(texts))
