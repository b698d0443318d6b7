"""The public door: asking, searching, looking inside; from threads, an event loop and a notebook; odd questions."""

from __future__ import annotations

import ast
import asyncio
import gc
import json
import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nbclient import NotebookClient

import hoptrail
from hoptrail import Answer, Index, Kind, Span, UsageError
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import IndexDamaged, IndexMismatch, IndexUnavailable, StillRead
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Quote, QuotedReading, QuotedStep, ScriptedLanguage
from hoptrail.recipes.registry import recipe_names
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.retrieval.rankings import ranked
from hoptrail.types import Hit, Unit, Usage
from hoptrail_papers.baselines.closed_book import ClosedBook
from name_reader import NameReader
from world import FACTS, HashingEncoder, write_facts

QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
ROOT = Path(__file__).parents[2]


def opened(folder: Path, encoder: HashingEncoder | None = None) -> Index:
    """An index whose encoder needs no weights."""
    index = Index(folder)
    index.encoder = encoder or HashingEncoder()
    return index


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Read only."""
    folder = tmp_path_factory.mktemp("shared")
    index = opened(folder / "index")
    index.add([write_facts(folder / "world")], list(recipe_names()))
    return index


@pytest.fixture
def own(tmp_path: Path, world: Path) -> Index:
    index = opened(tmp_path / "index")
    index.add([world])
    return index


def timeless(answer: Answer) -> Answer:
    return replace(answer, usage=replace(answer.usage, seconds=0))


def test_what_is_found_keeps_the_sentences_of_its_document(tmp_path: Path) -> None:
    """As they were given, which no rule would find."""
    given = {
        "title": "A mill",
        "text": "It stood there in 1901 Then it grew. It fell",
        "sentences": ["It stood there in 1901", "Then it grew. It fell"],
    }
    (tmp_path / "mill.jsonl").write_text(json.dumps(given))
    index = opened(tmp_path / "index")
    index.add([tmp_path / "mill.jsonl"])
    (hit,) = index.search("When did the mill grow?")
    assert hit.unit.sentence_ends == (23, 44)


def test_evidence_says_where_in_its_file_it_stands(tmp_path: Path) -> None:
    (tmp_path / "fees.md").write_text("# Fees\n\nThey are due in advance.\n\nA night costs 12 EUR.\n")
    index = opened(tmp_path / "index")
    index.add([tmp_path / "fees.md"])
    step = QuotedStep("What does a night cost?", "12 EUR", (Quote("A night costs 12 EUR."),))
    answer = index.ask("What does a night cost?", "bm25", language=ScriptedLanguage([QuotedReading("12 EUR", (step,))]))
    assert [(item.text, item.place) for item in answer.evidence] == [("A night costs 12 EUR.", "line 5")]


# --- opening


def test_opening_reads_and_makes_nothing(tmp_path: Path) -> None:
    Index(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_an_index_that_is_not_there_is_named_by_every_question(tmp_path: Path) -> None:
    index = opened(tmp_path / "nothing")
    for ask in (
        lambda: index.ask("Who?"),
        lambda: index.search("Who?"),
        index.contents,
        index.verify,
        lambda: index.remove(["a"]),
    ):
        with pytest.raises(IndexUnavailable, match=r"no index at .*nothing.*hoptrail index SOURCE"):
            ask()
    assert list(tmp_path.iterdir()) == []


def test_a_home_folder_may_be_written_as_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Index("~/index").folder == tmp_path / "index"


def test_another_encoder_is_refused_for_vectors_but_keyword_search_goes_on(shared: Index) -> None:
    other = opened(shared.folder, HashingEncoder("other", 32))
    with pytest.raises(IndexMismatch, match=r"hashing \(64 dimensions.*other \(32 dimensions"):
        other.search(QUESTION, "dense")
    assert other.search("Tallow", "bm25") == shared.search("Tallow", "bm25")


def test_a_recipe_whose_structure_is_missing_says_how_to_build_it(tmp_path: Path) -> None:
    index = opened(tmp_path)
    with writing_to(tmp_path, index.encoder.identity) as writer:
        writer.publish(Usage())
    with pytest.raises(UsageError, match=r"trail needs extractions, .*--for trail"):
        index.ask("Who?")


# --- what is in it


def test_contents_count_what_was_put_in(shared: Index) -> None:
    contents = shared.contents()
    assert sorted(document.title for document in contents.documents) == sorted(FACTS)
    assert {document.passages for document in contents.documents} == {1}
    assert contents.units[Kind.PASSAGE] == 6
    assert contents.units[Kind.SENTENCE] == sum(text.count(".") for text in FACTS.values())
    assert {"passages", "similarity-tree", "sentence-graph"} <= set(contents.structures)
    assert contents.links["SA"] == sum(text.count(".") - 1 + max(0, text.count(".") - 2) for text in FACTS.values())
    assert contents.encoder == HashingEncoder().identity
    assert contents.usage.calls == 0
    assert contents.usage.seconds > 0
    for document in contents.documents:
        (source,) = document.sources
        assert Path(source).read_text(encoding="utf-8") == FACTS[document.title]


def test_one_source_or_document_may_be_given_alone(
    tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text or path: its characters would be other files, "." and "/" among them."""
    monkeypatch.chdir(world.parent)
    index = opened(tmp_path / "index")
    assert index.add(f"{world.name}/Isk.txt").documents == 1
    assert index.add(world).documents == len(FACTS)
    assert index.estimate(str(world)).failures == []
    assert index.remove("Isk") == ["Isk"]


def test_every_call_sees_the_last_committed_state(own: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)  # the reader stays however long one waits
    elsewhere = opened(own.folder)
    held = own.recipe("bm25")
    assert own.search("zeppelin", "bm25") == ()
    (tmp_path / "new.txt").write_text("A zeppelin passed over Dunmere.", encoding="utf-8")
    elsewhere.add([tmp_path / "new.txt"])
    assert [hit.unit.title for hit in own.search("zeppelin", "bm25")] == ["new"]
    assert held.retrieve("zeppelin") == ()
    with pytest.raises(StillRead, match="by this process itself"):
        own.remove(["new"])
    assert elsewhere.search("zeppelin", "bm25") == ()
    del held
    assert own.clean()


def test_what_is_made_of_a_commit_is_kept_while_nothing_changes(own: Index, tmp_path: Path) -> None:
    """And goes with it."""
    own.search("Isk")
    before = own.corpus().snapshot
    assert own.search("Isk")
    assert own.corpus().snapshot is before
    (tmp_path / "new.txt").write_text("A zeppelin passed over Dunmere.", encoding="utf-8")
    opened(own.folder).add([tmp_path / "new.txt"])
    assert own.corpus().snapshot is not before


def test_the_reader_is_loaded_once_for_all_questions(shared: Index) -> None:
    assert shared.language("offline") is shared.language("offline")


def test_asking_keeps_no_writer_waiting(shared: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is made of a commit holds on to the snapshot that it was made with."""
    for name in recipe_names():
        shared.ask(QUESTION, name)
    gc.collect()
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.0)
    with writing_to(shared.folder) as writer:
        writer._database.roll_back()
        assert writer._database.empty_log(), "nobody reads"


def test_an_index_deleted_under_an_open_one_is_named(own: Index) -> None:
    own.search("Isk", "bm25")
    own.folder.rename(own.folder.with_name("moved"))
    with pytest.raises(IndexUnavailable, match="no index at"):
        own.search("Isk", "bm25")


@pytest.mark.parametrize("reading", [False, True])
def test_a_backup_in_the_place_of_an_open_index_is_read(own: Index, tmp_path: Path, reading: bool) -> None:
    """With as many commits as before: their number does not tell the two apart."""
    backup = opened(tmp_path / "backup")
    (tmp_path / "Ulm.txt").write_text("Ulm is a town.", encoding="utf-8")
    backup.add(tmp_path / "Ulm.txt")
    with own.reading() as before, backup.reading() as snapshot:
        assert snapshot.commit == before.commit
    with own.reading() if reading else nullcontext():
        own.folder.rename(tmp_path / "moved")
        backup.folder.rename(own.folder)
        assert [document.title for document in own.contents().documents] == ["Ulm"]


def test_verify_counts_files_and_names_the_damaged_one_and_repair_rebuilds_it(own: Index) -> None:
    before = own.search(QUESTION)
    assert own.verify() == 1
    victim = own.folder / "index.sqlite"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    again = opened(own.folder)
    with pytest.raises(IndexDamaged, match=f"{victim.name}.*hoptrail repair"):
        again.verify()
    assert again.repair() == [victim.relative_to(own.folder).as_posix()]
    assert again.verify() > 0
    assert again.search(QUESTION) == before


# --- asking


def test_an_answer_stands_in_the_files_that_were_read(shared: Index) -> None:
    language = ScriptedLanguage(
        [
            QuotedReading(
                "Isk",
                (
                    QuotedStep("Who designed it?", "Orla Finch", (Quote("It was designed by Orla Finch."),)),
                    QuotedStep("Which river?", "Isk", (Quote("The river Isk flows through Wrenmouth."),)),
                ),
            )
        ]
    )
    answer = shared.ask(QUESTION, language=language)
    assert (answer.text, answer.abstained, answer.recipe, answer.language) == ("Isk", False, "trail", "scripted")
    sources = {document.id: document.sources[0] for document in shared.contents().documents}
    assert [item.text for item in answer.evidence] == [
        "It was designed by Orla Finch.",
        "The river Isk flows through Wrenmouth.",
    ]
    for item in answer.evidence:
        assert Path(sources[item.document]).read_text(encoding="utf-8")[item.start : item.end] == item.text


SEARCHING = sorted(set(recipe_names()) - {ClosedBook.name})
"""All recipes but the one that looks at no document."""


def test_a_search_is_what_the_answers_recipe_retrieves(shared: Index) -> None:
    for name in SEARCHING:
        hits = shared.search(QUESTION, name)
        assert hits == shared.ask(QUESTION, name).ranking
        assert len(shared.search(QUESTION, name, limit=2)) == 2
        for hit in hits:
            assert hit.unit.sources
            if hit.unit.kind is Kind.PASSAGE:
                assert hit.unit.sources == (Span(hit.unit.document, 0, len(hit.unit.text)),)


def pool_size(index: Index, recipe: str) -> int:
    """How many units a recipe chooses from."""
    opened_recipe = index.recipe(recipe)
    return opened_recipe.settings.pool.size(opened_recipe.corpus.snapshot)


@pytest.mark.parametrize("limit", [0, -1, "3", 2.5])
def test_fewer_than_one_hit_cannot_be_asked_for_nor_what_is_no_number_of_hits(shared: Index, limit: Any) -> None:
    for ask in (lambda: shared.search("Isk", limit=limit), lambda: shared.recipe("trail", limit=limit)):
        with pytest.raises(UsageError, match=f"limit must be a whole number of at least 1, not {limit!r}"):
            ask()


def test_a_lone_text_is_one_recipe_not_its_letters(tmp_path: Path, world: Path) -> None:
    index = opened(tmp_path / "index")
    index.estimate(world, "bm25")
    index.add(world, "bm25")
    assert "passages" in index.contents().structures
    with pytest.raises(UsageError, match="there is no recipe nope"):
        index.add(world, "nope")


@pytest.mark.parametrize("limit", [2**31, 2**62, 10**30])
def test_more_hits_than_there_are_gives_all_there_are(shared: Index, limit: int) -> None:
    for name in SEARCHING:
        assert 1 <= len(shared.search(QUESTION, name, limit=limit)) <= pool_size(shared, name)


@pytest.mark.parametrize("name", ["", "HYBRID", "nope", "bm25,dense", "../bm25", "bm25 "])
def test_unknown_recipes_and_languages_list_those_there_are(shared: Index, name: str) -> None:
    if name:
        with pytest.raises(UsageError, match=r"there is no recipe .*There are: .*hybrid"):
            shared.ask("Who?", recipe=name)
        with pytest.raises(UsageError, match=r"there is no language .*offline"):
            shared.ask("Who?", language=name)
    with pytest.raises(UsageError, match="there is no recipe"):
        shared.add([], ["bm25", name])


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "\x00\x07", "\u200b", "\ud800"])
def test_a_question_of_nothing_is_refused(shared: Index, question: str) -> None:
    for ask in (shared.ask, shared.search):
        with pytest.raises(UsageError, match="the question is empty"):
            ask(question)


def test_a_question_of_a_megabyte_is_refused_before_it_costs_anything(tmp_path: Path) -> None:
    index = opened(tmp_path / "nothing")
    for length in (QUESTION_LIMIT + 1, 1_000_000):
        for ask in (index.ask, index.search):
            with pytest.raises(UsageError, match=f"has {length:,} characters; at most {QUESTION_LIMIT:,}"):
                ask("a" * length)


OPERATORS = [
    'river AND "Isk" OR (NOT x) NEAR/3 y*',
    "'; DROP TABLE units; --",
    "title:Isk ^2 ~1 {a TO b} [a TO b]",
    '"unbalanced',
    "(((",
    '+ - && || ! ( ) { } [ ] ^ " ~ * ? : \\ /',
    "%s %d {0} $1 #1 #2 #99",
    "Who is the one who asked who is the one who asked who is the one?",
    "Who was the father of " + "the father of " * 39 + "Orla Finch?",
    "In which year did the river Isk marry Dunmere?",
    "What is the answer to this question?",
    "x" * QUESTION_LIMIT,
    "\x1b[31mred\x1b[0m \u202ereversed",
    "東京はどこですか 🧭 Где?",
]


@pytest.fixture(scope="module")
def by_names(shared: Index) -> OfflineLanguage:
    """The language `offline` with a reader that finds something everywhere."""
    return OfflineLanguage(shared.encoder, reader=NameReader())


@settings(max_examples=8, deadline=None)
@given(question=st.text(max_size=60))
@pytest.mark.parametrize("name", recipe_names())
def test_whatever_is_asked_ends_in_an_answer_or_an_abstention(
    shared: Index, by_names: OfflineLanguage, name: str, question: str
) -> None:
    check_bounded(shared, name, question, by_names)


@pytest.mark.parametrize(("name", "question"), list(zip(recipe_names(), cycle(OPERATORS))))
def test_operators_quotes_and_riddles_are_words_like_others(shared: Index, name: str, question: str) -> None:
    check_bounded(shared, name, question)


def check_bounded(index: Index, name: str, question: str, language: str | OfflineLanguage = "offline") -> None:
    if not any(character.isprintable() and not character.isspace() for character in question):
        with pytest.raises(UsageError, match="the question is empty"):
            index.ask(question, name, language=language)
        return
    answer = index.ask(question, name, language=language)
    assert answer.abstained == (answer.text is None)
    assert len(answer.trail) <= 10
    assert len(answer.ranking) <= pool_size(index, name)
    for item in answer.evidence:
        assert FACTS[item.title][item.start : item.end] == item.text


@pytest.mark.parametrize(
    "question",
    [
        "Who painted the ceiling of the Sistine Chapel?",
        "What is the capital of Peru?",
        "How tall was Napoleon's horse?",
    ],
)
def test_what_no_document_says_is_not_answered(shared: Index, question: str) -> None:
    for name in recipe_names():
        assert shared.ask(question, name).text is None


# --- order


SCORES = st.sampled_from([0.0, 1.0, -1.0, math.nan, math.inf, -math.inf])


@given(scores=st.lists(SCORES, max_size=8), seed=st.integers(0, 99), limit=st.none() | st.integers(0, 9))
@example(scores=[math.nan, -math.inf, math.nan, math.inf], seed=1, limit=None)
def test_equal_and_impossible_scores_have_one_order(scores: list[float], seed: int, limit: int | None) -> None:
    units = [Unit(f"u{number}", Kind.PASSAGE, "", "x", (Span("d", 0, 1),)) for number in range(len(scores))]
    hits = [Hit(unit, score, "test") for unit, score in zip(units, scores, strict=True)]
    expected = [hit.unit.id for hit in ranked(hits)][:limit]
    random.Random(seed).shuffle(hits)
    found = ranked(hits, limit)
    assert [hit.unit.id for hit in found] == expected
    numbers = [hit.score for hit in found if not math.isnan(hit.score)]
    assert numbers == sorted(numbers, reverse=True)
    assert all(math.isnan(hit.score) or hit.score == -math.inf for hit in found[len(numbers) :])
    for first, second in pairwise(found):
        assert first.score != second.score or first.unit.id < second.unit.id


# --- threads, event loops, notebooks


def test_eight_threads_get_the_answers_that_one_gets(shared: Index) -> None:
    """Each recipe's twice, in turn to one question and to another."""
    questions = [QUESTION, "Which river flows through Lindeth?"]
    jobs = [(questions[number % 2], name) for number, name in enumerate(recipe_names())]
    one = [timeless(shared.ask(*job)) for job in jobs]
    fresh = opened(shared.folder)
    with ThreadPoolExecutor(8) as pool:
        many = [timeless(answer) for answer in pool.map(lambda job: fresh.ask(*job), jobs * 2)]
    assert many == one * 2


def test_threads_ask_while_documents_come_and_go(own: Index, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("A zeppelin passed over Dunmere.", encoding="utf-8")
    writer = opened(own.folder)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(own.search, "zeppelin", "bm25") for _ in range(20)]
        writer.add([tmp_path / "new.txt"])
        asked += [pool.submit(own.search, "zeppelin", "bm25") for _ in range(20)]
        writer.remove(["new"])
    found = [[hit.unit.title for hit in future.result()] for future in asked]
    assert all(titles in ([], ["new"]) for titles in found)
    assert own.search("zeppelin", "bm25") == ()


def test_inside_a_running_event_loop(shared: Index) -> None:
    async def ask() -> tuple[Answer, list[Answer]]:
        direct = shared.ask(QUESTION)
        return direct, await asyncio.gather(*(asyncio.to_thread(shared.ask, QUESTION) for _ in range(4)))

    direct, others = asyncio.run(ask())
    assert {timeless(answer) == timeless(direct) for answer in others} == {True}


def test_inside_a_notebook(tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel runs an event loop of its own; the default encoder and the default recipe are those a user gets."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    cells = [
        "import hoptrail",
        f"index = hoptrail.Index({str(tmp_path / 'index')!r})\nlen(index.add([{str(world)!r}]).failures)",
        "answer = index.ask('Which river flows through the town where Orla Finch was born?')\nanswer.text",
        "import asyncio\n(await asyncio.to_thread(index.ask, 'Where was Orla Finch born?')).text",
    ]
    notebook = nbformat.from_dict(  # type: ignore[no-untyped-call]  # its types are incomplete
        {
            "cells": [
                {"cell_type": "code", "id": f"cell{number}", "source": cell, "metadata": {}, "outputs": []}
                | {"execution_count": None}
                for number, cell in enumerate(cells)
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute(
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    results = [cell.outputs[-1]["data"]["text/plain"] for cell in notebook.cells[1:]]
    assert results == ["0", "'Isk'", "'Wrenmouth'"]


# --- the door itself


def test_the_door_lists_exactly_what_it_gives() -> None:
    """To the interpreter, which is told of a name when it is used, and to checkers of types, which read imports."""
    (shown,) = (node for node in ast.parse(Path(hoptrail.__file__).read_text()).body if isinstance(node, ast.If))
    imported = [name.name for node in shown.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert sorted(imported) == sorted(hoptrail.__all__) == sorted(set(dir(hoptrail)))
    assert all(getattr(hoptrail, name).__doc__ for name in hoptrail.__all__)
    with pytest.raises(AttributeError, match="module 'hoptrail' has no attribute 'Nothing'"):
        _ = hoptrail.Nothing  # type: ignore[attr-defined]
