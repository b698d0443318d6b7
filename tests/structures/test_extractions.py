"""Extraction asks about each passage once, keeps what it got whatever stops it, and tries again what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import pytest

from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import BudgetExhausted, Interrupted
from hoptrail.language.tasks import Extract, Language, Reply, Task
from hoptrail.structures import extractions
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.structures.extractions import Extractions, ExtractionSettings, stored_in_order
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Extraction, Kind, Usage
from structures.site import Rules, Site
from world import make_document

T = TypeVar("T")


class Limited(Rules):
    """Has money for so many tasks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def perform(self, task: Task[T]) -> Reply[T]:
        if len(self.asked) == self.most:
            raise BudgetExhausted("no more money")
        return super().perform(task)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def facts(site: Site) -> dict[str, list[str]]:
    return {unit.title: [fact.text for fact in found.facts] for unit, found in stored_in_order(site.snapshot)}


def test_every_passage_has_what_the_language_found_in_it(site: Site, documents: list[Document]) -> None:
    account = site.build(Extractions(), add=documents, language=Rules())
    assert facts(site)["Isk"] == ["The Isk is a river.", "Isk rises in the Grey Hills and is 90 km long."]
    extraction = {unit.title: found for unit, found in stored_in_order(site.snapshot)}["Isk"]
    assert extraction.entities[:2] == ("Isk", "Grey Hills")
    (isk,) = [document for document in documents if document.title == "Isk"]
    assert [isk.slice(fact.source) for fact in extraction.facts] == [
        "The Isk is a river.",
        "It rises in the Grey Hills and is 90 km long.",
    ]
    assert account.usage.calls == len(documents)
    assert account.notes == []


def test_what_was_extracted_before_figures_could_be_asked_for_stays_valid() -> None:
    """The fingerprint that an index of an earlier version names."""
    assert Extractions().fingerprint == "8cf6a13550d7"
    assert Extractions(ExtractionSettings(figures=True)).fingerprint != Extractions().fingerprint


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_stored_is_not_asked_again_and_a_second_run_writes_nothing(
    site: Site, documents: list[Document], workers: int
) -> None:
    language = Rules()
    site.build(Extractions(), add=documents[:4], language=language, workers=workers)
    site.build(Extractions(), add=documents, language=language, workers=workers)
    before = site.snapshot.commit
    account = site.build(Extractions(), language=language, workers=workers)
    assert sorted(language.asked) == sorted(document.title for document in documents)
    assert site.snapshot.commit == before
    assert account.usage == Usage()


def test_a_failed_passage_is_named_costs_only_itself_and_is_asked_again(site: Site, documents: list[Document]) -> None:
    language = Rules("Isk")
    account = site.build(Extractions(), add=documents, language=language)
    (note,) = account.notes
    assert "Isk" in note
    assert "no usable reply" in note
    assert note.endswith("Run the same command again to ask once more.")
    assert account.usage.calls == len(documents)
    assert len(facts(site)) == len(documents) - 1
    language.failing.clear()
    assert site.build(Extractions(), language=language).notes == []
    assert language.asked[len(documents) :] == ["Isk"]
    assert len(facts(site)) == len(documents)


class LookingBack(Rules):
    """Keeps what stood before each passage that it was asked about."""

    def __init__(self, most: int = 100) -> None:
        super().__init__()
        self.most = most
        self.before: dict[str, str | None] = {}

    def perform(self, task: Task[T]) -> Reply[T]:
        asked: Task[Any] = task
        assert isinstance(asked, Extract)
        if len(self.before) == self.most:
            raise BudgetExhausted("no more money")
        self.before[asked.unit.text] = asked.before.text if asked.before else None
        return super().perform(task)


def test_a_passage_is_shown_with_the_one_before_it_in_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are asked about together, and also where the one before was asked about in an earlier run."""
    monkeypatch.setattr(extractions, "BATCH", 2)
    log = ("Orla Finch went ashore at noon.", "She sold the Heron there.", "It was bought by Ida Voss.")
    documents = [make_document("Log", " ".join(log)), make_document("Isk", "The Isk is a river.")]
    site, first, second = Site(tmp_path, limits=PassageLimits(6, 0)), LookingBack(2), LookingBack()
    with pytest.raises(BudgetExhausted):
        site.build(Extractions(), add=documents, language=first)
    site.build(Extractions(), add=documents, language=second)
    expected = {log[0]: None, log[1]: log[0], log[2]: log[1], "The Isk is a river.": None}
    assert first.before | second.before == expected
    assert len(first.before) + len(second.before) == 4


def test_what_was_got_before_the_money_ran_out_is_kept(
    site: Site, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractions, "BATCH", 4)
    language = Limited(3)
    with pytest.raises(BudgetExhausted):
        site.build(Extractions(), add=documents, language=language)
    language.most = 100
    site.build(Extractions(), add=documents, language=language)
    assert len(language.asked) == len(set(language.asked)) == len(documents)
    assert len(facts(site)) == len(documents)


def test_a_stop_is_heeded_between_batches(
    site: Site, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractions, "BATCH", 2)
    site.build(add=documents)
    language = Rules()
    with writing_to(site.folder, site.encoder.identity) as writer:

        def stop_after_two_batches() -> None:
            writer.checkpoint()
            if len(language.asked) == 4:
                raise Interrupted("enough")

        context = BuildContext(writer, site.encoder, ignore, stop_after_two_batches, language)
        with pytest.raises(Interrupted):
            Extractions().update(context)
    site.build(Extractions(), language=language)
    assert sorted(language.asked) == sorted(document.title for document in documents)


def test_passages_are_asked_about_in_document_order_and_progress_is_told(
    site: Site, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractions, "BATCH", 4)
    language = Rules("Lindeth")
    site.build(Extractions(), add=documents, language=language)
    assert language.asked == [document.title for document in sorted(documents, key=lambda document: document.id)]
    told = [said for said in site.said if said[0] == "extracting"]
    assert told == [("extracting", done, len(documents)) for done in range(1, len(documents) + 1)]


def test_without_a_language_nothing_is_asked_and_what_went_goes(site: Site, documents: list[Document]) -> None:
    site.build(Extractions(), add=documents[:3], language=Rules())
    site.build(Extractions(), add=documents, remove=documents[:1])
    assert set(facts(site)) == {document.title for document in documents[1:3]}


def test_extractions_of_passages_that_were_cut_otherwise_go(site: Site) -> None:
    text = "The Isk is a river. It rises in the Grey Hills. The Isk is 90 km long."
    document = make_document("Isk", text)
    site.build(Extractions(), add=[document], language=Rules())
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.drop_units(Kind.PASSAGE)
        writer.publish(Usage())
    site.limits = PassageLimits(words=6, short_document_words=0)
    site.build(Extractions(), language=Rules())
    assert set(site.snapshot.table.extracted()) == set(site.units(Kind.PASSAGE))
    assert len(set(site.snapshot.table.extracted())) == 3


def test_a_passage_in_which_nothing_is_found_is_not_asked_about_again(site: Site) -> None:
    class Blank:
        name = "blank"
        asked = 0

        def perform(self, task: Task[T]) -> Reply[T]:
            del task
            Blank.asked += 1
            return Reply(Extraction((), ()), Usage())  # type: ignore[arg-type]

    language: Language = Blank()
    for _ in range(2):
        site.build(Extractions(), add=[make_document("Rain", "It rains.")], language=language)
    assert Blank.asked == 1
    assert facts(site) == {"Rain": []}


def test_a_language_is_needed_unless_there_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    assert Extractions().needs_language
    assert not Extractions(ExtractionSettings(str(file))).needs_language
    assert Extractions().built_from == ("passages",)
    assert structures_by_name(PassageLimits())["passages"].built_from == ()
