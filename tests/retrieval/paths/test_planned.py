"""Paths that follow a plan: each step is asked with what the step before found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.reader import installed_reader
from hoptrail.retrieval.paths.candidates import find_candidates
from hoptrail.retrieval.paths.features import CandidateFeatures
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.retrieval.paths.scoring import stored_scorer
from hoptrail.retrieval.paths.search import PLANNED, judge, on_planned_paths
from retrieval.paths.plain import SETTINGS, WordEncoder
from retrieval.paths.test_search import STRUCTURES
from structures.site import Site
from world import make_document

QUESTION = "Which river passes the birthplace of the designer of the Tallow Bridge?"
STEPS = ("Who is the designer of the Tallow Bridge?", "What is the birthplace of #1?", "Which river passes #2?")
PEOPLE = {"Orla Finch": "Wrenmouth", "Edda Moss": "Lindeth", "Jory Vane": "Dunmere", "Tam Reed": "Askby"}
BORN = {"Anna Vole": "Lindeth", "Karl Holm": "Dunmere", "Orla Finch": "Wrenmouth"}
RIVERS = {"Isk": "Wrenmouth", "Ald": "Lindeth", "Wey": "Dunmere", "Ure": "Askby"}
TEXTS = {
    "Tallow Bridge": "The designer of the Tallow Bridge is Orla Finch.",
    "Corn Bridge": "The designer of the Corn Bridge is Edda Moss.",
    **{person: f"{person} was a designer. The birthplace of {person} is {town}." for person, town in PEOPLE.items()},
    **{river: f"The river {river} passes {town}." for river, town in RIVERS.items()},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("planned"), WordEncoder(dimension=1024))
    documents = [make_document(title, text) for title, text in TEXTS.items()]
    site.build(*STRUCTURES, add=documents, language=OfflineLanguage())
    return site


def described(site: Site, question: str, steps: Sequence[str]) -> CandidateFeatures:
    queries, snapshot = PathQueries.of(question, steps), site.snapshot
    vectors = site.encoder.encode(queries.texts)
    scores = QuestionScores.of(PassageGraph.of(snapshot), snapshot.keywords, queries, vectors, SETTINGS.read)
    return CandidateFeatures(scores, find_candidates(scores, site.encoder, SETTINGS))


def test_each_step_is_asked_about_what_the_one_before_it_found(site: Site) -> None:
    found = described(site, QUESTION, STEPS)
    site.encoder.texts.clear()
    shares = on_planned_paths(found, site.encoder, installed_reader())
    units = found.scores.graph.passages(found.candidates.rows).values()
    by_title = dict(zip((unit.title for unit in units), shares.tolist(), strict=True))
    assert {title for title, share in by_title.items() if share > 0.5} == {"Tallow Bridge", "Orla Finch", "Isk"}
    assert sum(by_title.values()) <= len(STEPS) + 1e-5
    assert {"What is the birthplace of orla finch?", "Which river passes wrenmouth?"} <= set(site.encoder.texts)
    scorer = stored_scorer()
    alone, both = scorer.judge(found), judge(found, scorer, site.encoder, installed_reader())
    assert np.allclose(both.scores, alone.scores + PLANNED * shares)
    assert both.paired.tolist() == alone.paired.tolist()


def test_names_that_the_question_has_answer_nothing(site: Site) -> None:
    names = [*TEXTS, *PEOPLE.values()]
    found = described(site, f"Which is the birthplace of a river: {', '.join(names)}?", STEPS[:2])
    site.encoder.texts.clear()
    shares = on_planned_paths(found, site.encoder, installed_reader())
    assert site.encoder.texts
    assert not set(site.encoder.texts) & {f"What is the birthplace of {name.lower()}?" for name in names}
    assert 1 < sum(shares.tolist()) <= 2 + 1e-5


def test_the_reader_tells_an_answer_from_a_name_that_only_stands_beside_it(tmp_path: Path) -> None:
    texts = {
        "Reed Mill": "Besides Anna Vole and Karl Holm, who praised the Reed Mill, there is Orla Finch, who designed it.",
        **{person: f"{person} was born in {town}." for person, town in BORN.items()},
    }
    site = Site(tmp_path, WordEncoder(dimension=1024))
    site.build(*STRUCTURES, add=[make_document(*one) for one in texts.items()], language=OfflineLanguage())
    question, steps = (
        "Where was the designer of the Reed Mill born?",
        ("Who designed the Reed Mill?", "Where was #1 born?"),
    )
    found = described(site, question, steps)
    shares = on_planned_paths(found, site.encoder, installed_reader())
    units = found.scores.graph.passages(found.candidates.rows).values()
    by_title = dict(zip((unit.title for unit in units), shares.tolist(), strict=True))
    assert by_title["Orla Finch"] > by_title["Anna Vole"] + by_title["Karl Holm"]


def test_without_a_step_that_refers_to_another_there_is_no_planned_path(site: Site) -> None:
    for steps in ((), STEPS[:1], (STEPS[0], "Which river passes Lindeth?")):
        found = described(site, QUESTION, steps)
        site.encoder.texts.clear()
        assert not on_planned_paths(found, site.encoder, installed_reader()).any()
        assert not site.encoder.texts
