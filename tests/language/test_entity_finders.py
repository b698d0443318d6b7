"""Who finds entities: the rules by default, a spaCy pipeline only when the settings name one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hoptrail.errors import UsageError
from hoptrail.index.settings import settings_from
from hoptrail.language.entity_finders import mentions_of, open_finder
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Extract, Read
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]
TEXT = "The sloop Kittiwake left Foss in the spring of 1871 with nine hands. It carried ice from the vatnsfell glacier."


@dataclass(frozen=True)
class Entity:
    start_char: int
    end_char: int
    label_: str


def marked(text: str, *labelled: tuple[str, str]) -> tuple[Entity, ...]:
    """Entities at the places where their words stand."""
    return tuple(Entity(text.index(part), text.index(part) + len(part), label) for part, label in labelled)


def test_the_rules_are_the_default() -> None:
    assert open_finder(OfflineSettings().entities)(TEXT) == find_mentions(TEXT)
    assert OfflineLanguage().name == "offline"


@pytest.mark.parametrize("name", ["", "spacy", "spacy:", "Rules", "nltk:punkt", "rules:en"])
def test_other_finders_are_refused_before_anything_is_opened(name: str) -> None:
    with pytest.raises(UsageError, match="available: rules, spacy:MODEL"):
        OfflineSettings(entities=name)


def test_without_spacy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, passage: MakeUnit) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    language = OfflineLanguage(settings=OfflineSettings(entities="spacy:en_core_web_sm"))
    with pytest.raises(UsageError, match=r"pip install 'hoptrail\[spacy\]'"):
        language.perform(Extract(passage("Kittiwake", TEXT)))


def test_the_finder_is_part_of_the_language_s_name_and_reading_needs_none(passage: MakeUnit) -> None:
    language = OfflineLanguage(settings=OfflineSettings(entities="spacy:no_such_pipeline"))
    assert language.name == "offline+spacy:no_such_pipeline"
    evidence = (passage("Kittiwake", "The Kittiwake is a sloop. It was built by Ada Lunt."),)
    assert language.perform(Read("Who built the Kittiwake?", evidence)).value.answer == "Ada Lunt"


def test_the_setting_stands_under_offline() -> None:
    settings = settings_from({"offline": {"entities": "spacy:en_core_web_sm"}}, "settings.toml")
    language = open_language("offline", LanguageContext(offline=settings.offline))
    assert language.name == "offline+spacy:en_core_web_sm"
    with pytest.raises(UsageError, match="there is no entity finder 'nltk'"):
        settings_from({"offline": {"entities": "nltk"}}, "settings.toml")


def test_labels_become_shapes_and_white_space_is_no_mention() -> None:
    found = marked(TEXT, ("the spring of 1871", "DATE"), ("nine", "CARDINAL"), ("Kittiwake", "PRODUCT"), (" ", "ORG"))
    mentions = mentions_of(found, TEXT)
    assert [(one.text, one.shape) for one in mentions] == [
        ("the spring of 1871", Shape.DATE),
        ("nine", Shape.NUMBER),
        ("Kittiwake", Shape.NAME),
    ]
    assert all(TEXT[one.start : one.end] == one.text for one in mentions)


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    """A blank English pipeline that knows two names, saved to disk; one of them the rules do not find."""
    spacy = pytest.importorskip("spacy")
    blank = spacy.blank("en")
    ruler = blank.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "LOC", "pattern": "vatnsfell glacier"}, {"label": "DATE", "pattern": "the spring of 1871"}]
    )
    blank.to_disk(tmp_path / "pipeline")
    return f"spacy:{tmp_path / 'pipeline'}"


def test_a_named_pipeline_finds_the_entities_of_facts(pipeline: str, passage: MakeUnit) -> None:
    language = OfflineLanguage(settings=OfflineSettings(entities=pipeline))
    unit = passage("Kittiwake", TEXT)
    once, again = (language.perform(Extract(unit)).value for _ in range(2))
    assert once == again
    assert once.entities == ("Kittiwake", "the spring of 1871", "vatnsfell glacier")
    assert [fact.entities for fact in once.facts] == [("the spring of 1871",), ("Kittiwake", "vatnsfell glacier")]
    by_rules = OfflineLanguage().perform(Extract(unit)).value
    assert "vatnsfell glacier" not in by_rules.entities
    assert [fact.text for fact in once.facts] == [fact.text for fact in by_rules.facts]


def test_installed_spacy_changes_nothing_unless_named(passage: MakeUnit) -> None:
    pytest.importorskip("spacy")
    assert "vatnsfell glacier" not in OfflineLanguage().perform(Extract(passage("Kittiwake", TEXT))).value.entities


def test_a_missing_pipeline_is_named_with_what_to_do() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(UsageError, match="python -m spacy download no_such_pipeline"):
        open_finder("spacy:no_such_pipeline")


def test_a_pipeline_without_entities_is_refused(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UsageError, match="finds no entities: it has no components"):
        open_finder(f"spacy:{tmp_path / 'blank'}")
