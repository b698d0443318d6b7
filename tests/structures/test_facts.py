"""Facts as units: one each, under their passage's title, brought up to date with what is stored."""

from __future__ import annotations

from pathlib import Path

from hoptrail.structures.extractions import Extractions, Facts
from hoptrail.types import Document, Kind
from structures.site import Rules, Site
from world import make_document


def test_every_fact_is_a_unit_with_its_sentence_as_source(tmp_path: Path, documents: list[Document]) -> None:
    site = Site(tmp_path)
    site.build(Extractions(), Facts(), add=documents, language=Rules())
    units = site.units(Kind.FACT)
    texts = {document.id: document for document in documents}
    assert len(units) == sum(len(document.sentence_ends) for document in documents)
    assert ("Isk", "Isk rises in the Grey Hills and is 90 km long.") in {
        (unit.title, unit.text) for unit in units.values()
    }
    for unit in units.values():
        (span,) = unit.sources
        assert texts[span.document].title == unit.title
        assert texts[span.document].slice(span).split()[-2:] == unit.text.split()[-2:]


def test_facts_come_and_go_with_documents_and_only_new_ones_are_encoded(
    tmp_path: Path, documents: list[Document]
) -> None:
    site = Site(tmp_path)
    # The same sentence in two documents is two facts: each has its own place.
    twin = make_document("Isk again", "The Isk is a river.")
    site.build(Extractions(), Facts(), add=documents, language=Rules())
    before, encoded = site.units(Kind.FACT), len(site.encoder.texts)
    site.build(Extractions(), Facts(), add=[twin], language=Rules())
    assert len(site.units(Kind.FACT)) == len(before) + 1
    assert len(site.encoder.texts) == encoded + 2  # the passage and its fact
    site.build(Extractions(), Facts(), remove=[twin])
    assert site.units(Kind.FACT) == before
    head = site.snapshot.commit
    site.build(Extractions(), Facts())
    assert site.snapshot.commit == head
