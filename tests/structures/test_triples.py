"""Triples and slots in an index: kept up to date, encoded once, gone with their documents, gone on with after a stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted, UsageError
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Extraction, Fact, Kind, Triple, Unit, Usage
from hoptrail_papers.comprag.space import stored_triples
from hoptrail_papers.comprag.triples import Triples, TripleSettings, slots_in, text_of
from structures.site import Rules, Site
from world import make_document


def slots_of(units: dict[str, Unit]) -> set[str]:
    return {slot for unit in units.values() for slot in unit.text.split(" | ")}


@pytest.fixture
def site(tmp_path: Path, documents: list[Document]) -> Site:
    made = Site(tmp_path)
    made.build(Extractions(), Triples(), add=documents, language=Rules())
    return made


def test_every_triple_is_a_unit_with_its_sentence_as_source(site: Site, documents: list[Document]) -> None:
    units = site.units(Kind.TRIPLE)
    texts = {document.id: document for document in documents}
    said_in = {(unit.title, unit.text): texts[unit.document].slice(unit.sources[0]).strip() for unit in units.values()}
    assert said_in[("Orla Finch", "Orla Finch | was born in | Wrenmouth")] == "Orla Finch was born in Wrenmouth."
    assert said_in[("Orla Finch", "Orla Finch | designed | Tallow Bridge")] == "She designed the Tallow Bridge in 1871."
    assert said_in[("Isk", "Isk | rises in | Grey Hills")].startswith("It rises")


def test_every_slot_is_encoded_once_and_nothing_else(site: Site) -> None:
    slots = {unit.text for unit in site.units(Kind.SLOT).values()}
    assert slots == slots_of(site.units(Kind.TRIPLE))
    encoded = [text for text in site.encoder.texts if text in slots]
    assert sorted(encoded) == sorted(slots)
    assert len(site.encoder.texts) == len(slots) + len(site.units(Kind.PASSAGE))


def test_a_triple_has_the_mean_of_its_slots_as_vector(site: Site) -> None:
    mirror = site.snapshot.search.vectors(Kind.TRIPLE)
    for unit in list(site.units(Kind.TRIPLE).values())[:5]:
        mean = site.encoder.encode(unit.text.split(" | ")).mean(axis=0)
        np.testing.assert_allclose(mirror.matrix[mirror.ids.index(unit.id)], mean / np.linalg.norm(mean), atol=1e-5)


def test_triples_come_and_go_with_documents_and_only_new_slots_are_encoded(site: Site) -> None:
    triples, slots, head = site.units(Kind.TRIPLE), site.units(Kind.SLOT), site.snapshot.commit
    twin = make_document("Old Finch", "Orla Finch was born in Harrow.")
    before = len(site.encoder.texts)
    site.build(Extractions(), Triples(), add=[twin], language=Rules())
    assert site.encoder.texts[before + 1 :] == ["Harrow"]  # after the passage
    assert set(triples) < set(site.units(Kind.TRIPLE))
    site.build(Extractions(), Triples(), remove=[twin])
    assert site.units(Kind.TRIPLE) == triples
    assert site.units(Kind.SLOT) == slots
    changed = site.snapshot.commit
    assert changed != head
    site.build(Extractions(), Triples())
    assert site.snapshot.commit == changed


def test_a_removed_document_leaves_no_slot_of_its_own_and_takes_none_of_others(
    site: Site, documents: list[Document]
) -> None:
    gone = next(document for document in documents if document.title == "Orla Finch")
    site.build(Extractions(), Triples(), remove=[gone])
    triples = site.units(Kind.TRIPLE)
    assert all(span.document != gone.id for unit in triples.values() for span in unit.sources)
    slots = site.units(Kind.SLOT)
    assert {unit.text for unit in slots.values()} == slots_of(triples)
    assert "was born in" not in slots_of(triples)
    assert "Orla Finch" in slots_of(triples)
    assert all(span.document != gone.id for unit in slots.values() for span in unit.sources)


def test_a_stopped_build_goes_on_to_the_same_end(tmp_path: Path, documents: list[Document], site: Site) -> None:
    stopped = Site(tmp_path / "stopped")
    stopped.build(Extractions(), add=documents, language=Rules())

    with writing_to(stopped.folder, stopped.encoder.identity) as writer:
        pauses = 0

        def pause() -> None:
            nonlocal pauses
            pauses += 1
            writer.checkpoint()
            if pauses == 2:  # all slots are there, no triple is
                raise Interrupted("stopped")

        with pytest.raises(Interrupted):
            Triples().update(BuildContext(writer, stopped.encoder, ignore, pause))
    encoded = len(stopped.encoder.texts)
    assert stopped.units(Kind.TRIPLE) == {}
    stopped.build(Extractions(), Triples())
    assert len(stopped.encoder.texts) == encoded
    assert stopped.units(Kind.TRIPLE) == site.units(Kind.TRIPLE)
    assert stopped.units(Kind.SLOT) == site.units(Kind.SLOT)
    for kind in (Kind.TRIPLE, Kind.SLOT):
        np.testing.assert_array_equal(
            stopped.snapshot.search.vectors(kind).matrix, site.snapshot.search.vectors(kind).matrix
        )


def test_base_forms_and_whole_texts_are_added_and_taken_without_touching_the_rest(site: Site) -> None:
    triples, slots, encoded = site.units(Kind.TRIPLE), site.units(Kind.SLOT), len(site.encoder.texts)
    more = Triples(TripleSettings(lemmas=True, texts=True))
    assert more.fingerprint == Triples().fingerprint != Triples(TripleSettings("stated")).fingerprint
    site.build(Extractions(), more)
    added = {unit.text for unit in site.units(Kind.SLOT).values()} - {unit.text for unit in slots.values()}
    assert {"design", "be bear in", "Orla Finch was born in Wrenmouth"} <= added
    assert sorted(site.encoder.texts[encoded:]) == sorted(added)
    site.build(Extractions(), Triples())
    assert site.units(Kind.SLOT) == slots
    assert site.units(Kind.TRIPLE) == triples


def test_stated_triples_are_kept_and_stored_with_their_facts(tmp_path: Path) -> None:
    site = Site(tmp_path)
    document = make_document("Tallow Bridge", "Orla Finch designed it. It is old.")
    site.build(add=[document])
    (passage,) = site.units(Kind.PASSAGE).values()
    first, second = document.sentences()
    stated = Fact(
        "Orla Finch designer Tallow Bridge", ("Orla Finch",), first, Triple("Orla Finch", "designer of", "it")
    )
    plain = Fact("The Tallow Bridge is in Dunmere.", ("Tallow Bridge",), second)
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.put_extractions({passage.id: Extraction(("Orla Finch",), (stated, plain))})
        writer.publish(Usage())
    ((_, kept),) = site.snapshot.extractions()
    assert kept.facts == (stated, plain)
    site.build(Triples(TripleSettings("stated")))
    assert {unit.text: unit.sources for unit in site.units(Kind.TRIPLE).values()} == {
        "Orla Finch | designer of | it": (first,)
    }
    site.build(Triples())
    assert {unit.text for unit in site.units(Kind.TRIPLE).values()} == {
        "Orla Finch | designer of | it",
        "Tallow Bridge | is in | Dunmere",
    }


def test_a_triple_is_written_so_that_it_can_be_read_back() -> None:
    triple = Triple("A | B", " plays\nfor ", "C")
    assert text_of(triple) == "A / B | plays for | C"
    assert slots_in(text_of(triple)) == ("A / B", "plays for", "C")
    for odd in (Triple("", "is", "x"), Triple("x", " ", "y"), Triple("x", "is", "y" * 201)):
        assert text_of(odd) == ""


@pytest.mark.parametrize("name", ["", "spacy", "spacy:", "openie"])
def test_an_extractor_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="available: rules, stated, spacy:MODEL"):
        TripleSettings(name)


def test_a_corpus_without_facts_has_no_triples(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.build(Extractions(), Triples(), add=[make_document("", "zqx")], language=Rules())
    assert site.units(Kind.TRIPLE) == site.units(Kind.SLOT) == {}


def passages_of_triples(site: Site) -> dict[str, str]:
    triples = stored_triples(site.snapshot)
    places = zip(triples.ids, triples.passages.tolist(), strict=True)
    return {id_: triples.passage_ids[place] for id_, place in places if place >= 0}


def covering(site: Site) -> dict[str, str]:
    """For each triple the passage that covers its place."""
    passages = site.units(Kind.PASSAGE).values()
    return {
        id_: passage.id
        for id_, unit in site.units(Kind.TRIPLE).items()
        for passage in passages
        if passage.sources[0].covers(unit.sources[0])
    }


def test_the_passage_of_a_triple_is_the_one_that_covers_its_place(site: Site) -> None:
    assert passages_of_triples(site) == covering(site)
    assert passages_of_triples(site).keys() == site.units(Kind.TRIPLE).keys()
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.drop_units(Kind.PASSAGE)
        writer.publish(Usage())
    assert passages_of_triples(site) == {}


def test_lost_triples_are_made_again_without_encoding(site: Site) -> None:
    triples, encoded = site.units(Kind.TRIPLE), len(site.encoder.texts)
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.drop_units(Kind.TRIPLE)
        writer.publish(Usage())
    site.build(Extractions(), Triples())
    assert site.units(Kind.TRIPLE) == triples
    assert len(site.encoder.texts) == encoded


def test_triples_are_found_in_passages_that_were_cut_anew(site: Site) -> None:
    triples, passages = site.units(Kind.TRIPLE), site.units(Kind.PASSAGE)
    encoded = len(site.encoder.texts)
    site.limits = PassageLimits(8, 0)
    with writing_to(site.folder, site.encoder.identity) as writer:
        Passages(site.limits).discard(writer)
        writer.publish(Usage())
    site.build(Extractions(), Triples(), language=Rules())
    cut = site.units(Kind.PASSAGE)
    assert len(cut) > len(passages)
    assert set(site.encoder.texts[encoded:]) <= {unit.searchable for unit in cut.values()} | slots_of(
        site.units(Kind.TRIPLE)
    )
    assert len(site.units(Kind.TRIPLE)) > len(triples) / 2
    assert passages_of_triples(site) == covering(site)
    assert passages_of_triples(site).keys() == site.units(Kind.TRIPLE).keys()
