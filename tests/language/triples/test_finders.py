"""Triples by the rules of the poster over a dependency parse, written out as spaCy's English pipelines label it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.errors import UsageError
from hoptrail.types import Fact, Span, Triple
from hoptrail_papers.comprag.triples import open_triple_finder

PARSES = {
    "Orla Finch designed the Tallow Bridge and died in Wrenmouth .": [
        ("compound", 1, "PROPN"), ("nsubj", 2, "PROPN"), ("ROOT", 2, "VERB"), ("det", 5, "DET"), ("compound", 5, "PROPN"),
        ("dobj", 2, "PROPN"), ("cc", 2, "CCONJ"), ("conj", 2, "VERB"), ("prep", 7, "ADP"), ("pobj", 8, "PROPN"),
        ("punct", 2, "PUNCT"),
    ],
    "It was directed by Ada Quill .": [
        ("nsubjpass", 2, "PRON"), ("auxpass", 2, "AUX"), ("ROOT", 2, "VERB"), ("agent", 2, "ADP"), ("compound", 5, "PROPN"),
        ("pobj", 3, "PROPN"), ("punct", 2, "PUNCT"),
    ],
    "Tom married Ida , who sells apples .": [
        ("nsubj", 1, "PROPN"), ("ROOT", 1, "VERB"), ("dobj", 1, "PROPN"), ("punct", 2, "PUNCT"), ("nsubj", 5, "PRON"),
        ("relcl", 2, "VERB"), ("dobj", 5, "NOUN"), ("punct", 1, "PUNCT"),
    ],
    "Maud is the mother of Orla .": [
        ("nsubj", 1, "PROPN"), ("ROOT", 1, "AUX"), ("det", 3, "DET"), ("attr", 1, "NOUN"), ("prep", 3, "ADP"),
        ("pobj", 4, "PROPN"), ("punct", 1, "PUNCT"),
    ],
}  # fmt: skip

EXPECTED = {
    "Orla Finch designed the Tallow Bridge and died in Wrenmouth .": [
        Triple("Orla Finch", "designed", "Tallow Bridge"),
        Triple("Orla Finch", "died in", "Wrenmouth"),
    ],
    "It was directed by Ada Quill .": [Triple("Night Boats", "was directed by", "Ada Quill")],
    "Tom married Ida , who sells apples .": [Triple("Tom", "married", "Ida"), Triple("Ida", "sells", "apples")],
    "Maud is the mother of Orla .": [Triple("Maud", "is", "mother"), Triple("Maud", "is mother of", "Orla")],
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real pipeline whose `parser` looks parses up, saved and loaded as any other is."""
    spacy = pytest.importorskip("spacy")
    from spacy.language import Language

    @Language.component("written_parse", assigns=["token.dep", "token.head", "token.pos"])
    def parse(doc):  # type: ignore[no-untyped-def]
        for token, (label, head, kind) in zip(doc, PARSES[doc.text], strict=True):
            token.dep_, token.head, token.pos_ = label, doc[head], kind
        return doc

    made = spacy.blank("en")
    made.add_pipe("written_parse")
    folder = tmp_path_factory.mktemp("spacy") / "pipeline"
    made.to_disk(folder)
    return f"spacy:{folder}"


@pytest.mark.parametrize("text", PARSES)
def test_verbs_with_their_subjects_and_objects(text: str, pipeline: str) -> None:
    fact = Fact(text, (), Span("d", 0, len(text)))
    assert list(open_triple_finder(pipeline)(fact, "Night Boats")) == EXPECTED[text]


def test_a_stated_triple_is_not_parsed(pipeline: str) -> None:
    stated = Triple("a", "b", "c")
    assert open_triple_finder(pipeline)(Fact("no such parse", (), Span("d", 0, 1), stated), "") == (stated,)


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UsageError, match="does not parse: it has no components"):
        open_triple_finder(f"spacy:{tmp_path / 'blank'}")


def test_without_spacy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r"pip install 'hoptrail\[spacy\]'"):
        open_triple_finder("spacy:not_there")
