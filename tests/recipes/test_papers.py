"""The settings that ship for each paper: they can be used, their rows are recipes, and published tables name no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.evaluation.published import published_tables
from hoptrail.recipes.catalogue import needed_structures, recipe_settings
from hoptrail.recipes.papers import paper_named, shipped_papers
from hoptrail.settings import load_settings
from hoptrail.structures.catalogue import structures_by_name

PAPERS = shipped_papers()


def test_all_five_papers_ship() -> None:
    assert set(PAPERS) == {"sirerag", "chainrag", "hirag", "comprag", "sunar"}


@pytest.mark.parametrize("name", PAPERS)
def test_the_settings_of_a_paper_are_settings(name: str) -> None:
    settings, paper = load_settings(f"paper:{name}"), PAPERS[name]
    assert settings.recipe == paper.main
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
