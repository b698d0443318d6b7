from __future__ import annotations

from collections.abc import Callable

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Extract, Summarise
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]

TEXT = "# Ada Lunt\n\nAda Lunt was an engineer from Dunmere. She invented the\nHalden Valve in 1884. Her workshop stood in Arden."


def test_entities_and_facts_with_the_title_for_a_leading_pronoun(passage: MakeUnit) -> None:
    unit = passage("Ada Lunt", TEXT)
    extraction = OfflineLanguage().perform(Extract(unit)).value
    assert extraction.entities == ("Ada Lunt", "Dunmere", "Halden Valve", "1884", "Arden")
    assert [fact.text for fact in extraction.facts] == [
        "Ada Lunt was an engineer from Dunmere.",
        "Ada Lunt invented the Halden Valve in 1884.",
        "Ada Lunt's workshop stood in Arden.",
    ]
    assert extraction.facts[1].entities == ("Ada Lunt", "Halden Valve", "1884")
    source = extraction.facts[1].source
    assert TEXT[source.start - 7 : source.end - 7] == "She invented the\nHalden Valve in 1884."


def test_an_empty_unit_has_no_facts(passage: MakeUnit) -> None:
    extraction = OfflineLanguage().perform(Extract(passage("", "  \n "))).value
    assert extraction.entities == ()
    assert extraction.facts == ()


def test_a_summary_is_made_of_whole_sentences_within_its_limit(harbour: tuple[Unit, ...]) -> None:
    summary = OfflineLanguage().perform(Summarise(harbour[:3], 60)).value
    assert 30 <= len(summary.split()) <= 60
    everything = " ".join(" ".join(unit.text.split()) for unit in harbour[:3])
    titles = [unit.title for unit in harbour[:3]]
    for sentence in summary.replace(". ", ".\n").split("\n"):
        # A pronoun at the beginning has become its page's title.
        ends = [sentence.removeprefix(title).removeprefix("'s") for title in titles if sentence.startswith(title)]
        assert any(end in everything for end in (sentence, *ends))


def test_a_summary_does_not_repeat_itself(passage: MakeUnit) -> None:
    units = tuple(passage(f"t{at}", "The harbour of Dunmere freezes in winter.") for at in range(4))
    other = passage("t", "Cockles are boiled in brine by the harbour cooks.")
    summary = OfflineLanguage().perform(Summarise((*units, other), 100)).value
    assert summary.count("freezes") == 1
    assert "Cockles" in summary


def test_a_summary_of_too_few_words_or_of_nothing(passage: MakeUnit) -> None:
    unit = passage("t", "The harbour of Dunmere freezes in winter.")
    assert OfflineLanguage().perform(Summarise((unit,), 3)).value == "The harbour of"
    assert OfflineLanguage().perform(Summarise((unit,), 0)).value == ""
    assert OfflineLanguage().perform(Summarise((), 10)).value == ""
