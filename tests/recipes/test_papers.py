"""The settings that ship for each paper: they can be used, their rows are recipes, and published tables name no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.index.settings import load_settings
from hoptrail.recipes.catalogue import needed_structures, recipe_settings
from hoptrail.structures.catalogue import structures_by_name
from hoptrail_papers.presets import Paper, paper_named, shipped_papers
from hoptrail_papers.published_tables import published_tables

PAPERS = shipped_papers()

CHANGED: dict[str, set[str]] = {
    "sirerag:a": {"relatedness_summaries"},
    "sirerag:b": {"facts"},
    "sirerag:c": {"facts", "aggregates"},
    "sirerag:d": {"facts", "aggregates", "relatedness_summaries"},
    "sirerag:e": {"aggregates", "relatedness_summaries", "entity_clusters"},
    "sirerag:joint": {"joint_summaries"},
    "sirerag:bm25": {"scorer"},
    "sirerag:late-interaction": {"scorer"},
    "sirerag:self-ask": {"reader", "k"},
    "sirerag:closed-book": {"reader"},
    "sirerag:passages-bm25": {"similarity_summaries", "aggregates", "relatedness_summaries", "scorer"},
    "sirerag:passages-late-interaction": {"similarity_summaries", "aggregates", "relatedness_summaries", "scorer"},
    "sirerag:passages-self-ask": {"similarity_summaries", "aggregates", "relatedness_summaries", "reader", "k"},
    "chainrag:contexts": {"integration"},
    "chainrag:no-completion": {"completion"},
    "chainrag:no-ec": {"search.links"},
    "chainrag:no-ss": {"search.links"},
    "chainrag:no-sa": {"search.links"},
    "chainrag:passages": {"search.unit"},
    "chainrag:naive": {"search.unit", "decompose"},
    "chainrag:naive-decomposed": {"search.unit", "completion"},
    "hirag:no-chunk-rethink": {"rethink.chunk_rethink"},
    "hirag:no-document-rethink": {"rethink.page_rethink"},
    "hirag:no-rethink": {"rethink.chunk_rethink", "rethink.page_rethink"},
    "hirag:no-profile": {"rethink.profile_tries"},
    "hirag:no-retrieval": {"retrieval"},
    "hirag:plugin": {"decompose"},
    "comprag:poster-depth-2": {"graph.depth"},
    "comprag:poster-no-graph": {"graph.depth"},
    "comprag:poster-product": {"space.method"},
    "comprag:poster-lemmatised": {"space.lemmatise"},
    "comprag:reference": {"space.method", "space.unitary", "space.open_slots"},
    "sunar:paper-unbounded": {"tasks", "tokens"},
    "sunar:paper-models": {"tasks", "tokens", "scorer", "uncertainty.equivalence"},
    "sunar:paper-vanilla": {"nar"},
    "sunar:paper-no-mer": {"meta_reasoning"},
    "sunar:paper-rerank-only": {"nar"},
}
"""The settings in which a row differs from the main row of its paper, where it is of the same recipe."""


PRINTED: dict[str, dict[str, object]] = {
    "sirerag:paper": {"k": 20, "scorer": "dense", "reader": "direct", "repeats": True, "question_suffix": ""},
    "chainrag:paper": {
        "search.prefilter": 100,
        "search.context_k": 3,
        "search.seed_k": 3,
        "search.links": ("EC", "SS", "SA"),
        "integration": "answers",
        "completion": "language",
    },
    "hirag:paper": {
        "turns": 5,
        "integration": "answers",
        "rethink.attempts": 4,
        "rethink.memory": True,
        "rethink.fall_back": False,
        "rethink.last_resort": 1,
        "rethink.enrichment": True,
        "rethink.voting.replies": 1,
        "rethink.pages.least_similarity": 0,
        "rethink.pages.search": "none",
        "rethink.pages.profile_lines": False,
    },
    "comprag:poster": {
        "graph.depth": 4,
        "graph.branching_k": 8,
        "space.method": "roles",
        "space.open_slots": "",
    },
    "sunar:paper": {
        "nar": "guided",
        "kept": 10,
        "adaptive.batch": 16,
        "adaptive.budget": 100,
        "uncertainty.samples": 10,
        "uncertainty.equivalence": "installed",
        "uncertainty.penalty": "sets",
    },
}
"""What the main rows have from the papers, or, where these are silent, from their code."""


def main_row(paper: Paper) -> str:
    """The recipe with the preset of the main row."""
    return next(iter(paper.rows.values()))


@pytest.mark.parametrize("main", PRINTED)
def test_a_main_row_has_what_its_paper_prints(main: str) -> None:
    assert main in set(map(main_row, PAPERS.values()))
    own = dict(values_of(recipe_settings(main, load_settings(None).recipes)))
    assert {field: own[field] for field in PRINTED[main]} == PRINTED[main]
    assert own["abstain"] == "never", "their questions always have an answer"


def test_no_row_of_a_table_leaves_a_question_open() -> None:
    """Nor do the baselines: the papers' questions always have an answer."""
    answers = (" em", " f1")
    for table in published_tables():
        if not any(column.isdecimal() or column.endswith(answers) for column in table.columns):
            continue
        for row in (row for row in table.row if row.recipe):
            chosen = load_settings(f"paper:{table.settings}" if table.settings else None, row.set)
            assert recipe_settings(row.recipe, chosen.recipes).abstain == "never", (table.id, row.name)


def values_of(settings: Any, path: str = "") -> Iterator[tuple[str, object]]:
    for name in settings.__dataclass_fields__:
        value = getattr(settings, name)
        if is_dataclass(value):
            yield from values_of(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


@pytest.mark.parametrize("name", PAPERS)
def test_a_row_differs_from_the_main_row_in_what_it_is_about_and_nothing_else(name: str) -> None:
    paper = PAPERS[name]
    kind = main_row(paper).partition(":")[0]
    chosen = load_settings(f"paper:{name}").recipes
    main = dict(values_of(recipe_settings(main_row(paper), chosen)))
    rows = [row for row in paper.rows.values() if row != main_row(paper) and row.startswith(f"{kind}:")]
    assert set(rows) == {row for row in CHANGED if row.startswith(f"{kind}:")}
    for row in rows:
        own = dict(values_of(recipe_settings(row, chosen)))
        assert {field for field, value in own.items() if value != main[field]} == CHANGED[row], row


def test_all_five_papers_ship() -> None:
    assert set(PAPERS) == {"sirerag", "chainrag", "hirag", "comprag", "sunar"}


@pytest.mark.parametrize("name", PAPERS)
def test_the_settings_of_a_paper_are_settings(name: str) -> None:
    settings, paper = load_settings(f"paper:{name}"), PAPERS[name]
    assert settings.recipe == main_row(paper)
    structures_by_name(PassageLimits(), settings.structures)
    for recipe in paper.rows.values():
        assert ":" in recipe
        recipe_settings(recipe, settings.recipes)
    assert needed_structures(paper.rows.values(), settings.recipes)


@pytest.mark.parametrize("name", PAPERS)
def test_every_row_is_another_system(name: str) -> None:
    rows = list(PAPERS[name].rows.values())
    assert len(set(rows)) == len(rows)
    chosen = [recipe_settings(recipe, load_settings(None).recipes) for recipe in rows]
    assert all(one != other for at, one in enumerate(chosen) for other in chosen[:at])


def test_published_rows_of_a_preset_are_rows_of_a_paper() -> None:
    known = {recipe for paper in PAPERS.values() for recipe in paper.rows.values()}
    named = {row.recipe for table in published_tables() for row in table.row if ":" in row.recipe}
    assert named <= known


def test_what_the_papers_say_of_their_structures() -> None:
    sirerag, chainrag = (load_settings(f"paper:{name}").structures for name in ("sirerag", "chainrag"))
    assert sirerag.aggregates.part_words == 0
    assert load_settings("paper:sirerag").passages == PassageLimits(750, 750), "HippoRAG's passages stay whole"
    trees = (sirerag.similarity_tree, sirerag.relatedness_tree, sirerag.joint_tree, sirerag.entity_tree)
    assert {(tree.levels, tree.clustering.method) for tree in trees} == {(4, "raptor")}
    graph = chainrag.sentence_graph
    assert (graph.neighbours, graph.reach, graph.key_share) == (10, 3, 0.6)


def test_a_paper_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no settings of a paper 'bert'\. There are: chainrag, comprag, hirag"):
        load_settings("paper:bert")
    assert paper_named("paper:sunar") is paper_named("sunar")


def test_a_file_of_ones_own_stands_over_a_papers(tmp_path: Path) -> None:
    """Encoder and endpoint are the user's, the rest stays the paper's; a table is not replaced by a part of it."""
    mine = tmp_path / "mine.toml"
    text = 'paper = "chainrag"\n[structures.sentence_graph]\nreach = 2\n[chat]\nmodel = "m"\n'
    mine.write_text(text, encoding="utf-8")
    found, paper = load_settings(mine), load_settings("paper:chainrag")
    assert (found.recipe, found.chat.model) == (paper.recipe, "m")
    assert found.structures.sentence_graph == replace(paper.structures.sentence_graph, reach=2)
    mine.write_text('paper = "bert"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="no settings of a paper 'bert'"):
        load_settings(mine)
