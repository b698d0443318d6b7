"""The corpus to search: what a question may be, whose documents are whose, and how long its snapshot is held."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.errors import UsageError
from hoptrail.models.encoder import Encoder
from hoptrail.retrieval.corpus import QUESTION_LIMIT, Corpus, check_question
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.types import Document
from hoptrail_papers.baselines.entity_graph import EntityGraph
from hoptrail_papers.hirag.profiles import ProfileSettings
from structures.site import Site
from world import HashingEncoder, make_document


@pytest.fixture
def site(tmp_path: Path, documents: list[Document]) -> Site:
    site = Site(tmp_path)
    site.build(add=[*documents, replace(make_document("Given", "By a program."), sources=())])
    return site


def test_what_cannot_be_printed_separates_words() -> None:
    assert check_question("Who\x00designed\n\tthe\u200bTallow \r\n Bridge?\x1b") == "Who designed the Tallow Bridge?"
    assert check_question("  東京はどこ？ ") == "東京はどこ？"


@pytest.mark.parametrize("nothing", ["", "   ", "\n\t", "\x00\x1b\u200b"])
def test_an_empty_question_is_refused(nothing: str) -> None:
    with pytest.raises(UsageError, match="question is empty"):
        check_question(nothing)


def test_the_longest_question_is_asked_and_a_longer_one_refused_with_its_length() -> None:
    assert len(check_question("w" * QUESTION_LIMIT)) == QUESTION_LIMIT
    with pytest.raises(UsageError, match=r"8,001 characters; at most 8,000"):
        check_question("w" * (QUESTION_LIMIT + 1))


@given(st.text(min_size=1))
def test_checking_a_question_again_changes_nothing(text: str) -> None:
    try:
        question = check_question(text)
    except UsageError:
        return
    assert check_question(question) == question
    assert question.isprintable()


def test_documents_and_sources_are_found_by_id_and_unknown_ones_are_missing(site: Site) -> None:
    corpus = Corpus(site.snapshot, HashingEncoder)
    by_title = {document.title: document for document in site.snapshot.documents()}
    some = {by_title[title].id for title in ("Isk", "Dunmere", "Given")}
    found = corpus.documents({*some, "d-unknown"})
    assert found == {document.id: document for document in by_title.values() if document.id in some}
    assert corpus.sources({*some, "d-unknown"}) == {
        by_title["Isk"].id: "/world/Isk.txt",
        by_title["Dunmere"].id: "/world/Dunmere.txt",
    }, "a document that was given by a program has none"


def test_the_encoder_is_opened_once_and_when_it_is_needed(site: Site) -> None:
    opened: list[Encoder] = []

    def open_encoder() -> Encoder:
        opened.append(HashingEncoder())
        return opened[-1]

    corpus = Corpus(site.snapshot, open_encoder)
    assert corpus.documents(set()) == {}
    assert opened == []
    assert corpus.encoder is corpus.encoder is opened[0]
    assert len(opened) == 1


def test_a_snapshot_is_given_back_although_what_was_made_from_it_is_kept(site: Site) -> None:
    snapshot, returned = site.snapshot, list[str]()
    corpus = Corpus(snapshot, HashingEncoder, give_back=lambda: returned.append("once"))
    graph = EntityGraph.of(corpus)
    assert returned == []
    del corpus
    gc.collect()
    assert returned == ["once"]
    assert EntityGraph.of(Corpus(snapshot, HashingEncoder)) is graph
    gc.collect()
    assert returned == ["once"]


def test_settings_of_structures_are_those_given_also_without_the_lease(site: Site) -> None:
    assert Corpus(site.snapshot, HashingEncoder).structures is None, "the defaults"
    given = StructureSettings(profiles=ProfileSettings(from_file="/profiles.jsonl"))
    corpus = Corpus(site.snapshot, HashingEncoder, given)
    assert corpus.structures == corpus.without_lease.structures == given
