"""`trail` with no model at all: four hops read off the documents, and how sure it still is when one of them is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.index.index import Index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.recipes.trail import ChainSettings, TrailRecipe, TrailSettings
from hoptrail.retrieval.corpus import Corpus
from language.offline.scripted_reader import ScriptedReader
from recipes.chain_world import QUESTION, SAID, check_answer
from world import FACTS, HashingEncoder

HOPS = ("Orla Finch", "Wrenmouth", "Isk", "Grey Hills")


@pytest.mark.parametrize("preset", ["one-reading", "every-stage"])
def test_four_hops_by_rules(corpus: Corpus, preset: str) -> None:
    answer = TrailRecipe(corpus, OfflineLanguage(), TrailRecipe.presets[preset]).answer(QUESTION)
    assert tuple(hop.answer for hop in answer.trail) == HOPS
    assert tuple(item.text for item in answer.evidence) == tuple(sentence for _, sentence in SAID)
    assert answer.confidence is not None
    assert answer.confidence >= TrailSettings().sure
    check_answer(answer, corpus)


@pytest.mark.parametrize("missing", ["Orla Finch", "Wrenmouth", "Isk"])
def test_without_a_document_of_the_path_it_is_not_sure(tmp_path: Path, missing: str) -> None:
    for title, text in FACTS.items():
        if title != missing:
            (tmp_path / f"{title}.txt").write_text(text, encoding="utf-8")
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add(sorted(tmp_path.glob("*.txt")))
    answer = index.ask(QUESTION)
    assert answer.recipe == "trail"
    assert answer.confidence is not None
    assert answer.confidence < TrailSettings().sure


@pytest.mark.parametrize("found", ["in winter", ""])
def test_where_the_reader_is_not_sure_it_shows_what_it_read(corpus: Corpus, found: str) -> None:
    question = "Until when can ships not leave Orla Finch's bridge?"
    reader = ScriptedReader({question: {found: -1.0} if found else {}})
    settings = TrailSettings(first_read=6, chain=ChainSettings(most_hops=0))
    answer = TrailRecipe(corpus, OfflineLanguage(None, OfflineSettings(), reader), settings).answer(question)
    assert answer.text is None
    assert any("freezes in winter" in one.said for one in answer.closest[:2]) == bool(found)
