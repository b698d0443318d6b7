"""Triples of the whole corpus: one unit a triple and sentence, and every distinct text of a slot with its vector.

CompRAG (the poster's "Methodology"). Triples are read off the stored facts (`language/triples/sentence_triples.py`; no language
is asked), so one extraction serves all. A slot is encoded once however many triples it stands in, and nothing else is: how slots
become the vector of a triple is decided when it is searched (`retrieval/triples/composition.py`), and no choice there needs this
built anew. Deviations: no filter by TF-IDF, which drops all relations of one word or none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from hoptrail.corpus.structure_names import EXTRACTIONS, TRIPLES
from hoptrail.execution.executor import Work, batched, from_to
from hoptrail.fingerprints import fingerprint
from hoptrail.models.encoder import unit_length
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived, Target
from hoptrail.structures.encoding import Encoded, encode_batches
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Extraction, Kind, Triple, Unit, content_id
from hoptrail_papers.comprag.finders import check_triple_finder, open_triple_finder
from hoptrail_papers.comprag.lemmas import lemmatised

SEPARATOR = " | "
"""Between the slots in a triple's text; a bar in a slot becomes a slash."""

LONGEST_SLOT = 200
"""Characters of a slot: what is longer is a sentence, not a name or a relation."""

READ_TOGETHER = 128
"""Passages whose facts are read together."""


@dataclass(frozen=True, slots=True)
class TripleSettings:
    """`extractor`: who reads triples off facts that are not stated as triples (`language/triples/finders.py`); `stated` takes
    those only. With `lemmas` the base forms of all slots are encoded too, and with `texts` every triple as a whole: what a recipe
    needs to search by these. They are added to an index, or taken from it, without touching the rest.
    """

    extractor: str = "rules"
    lemmas: bool = False
    texts: bool = False

    def __post_init__(self) -> None:
        check_triple_finder(self.extractor)


@dataclass(frozen=True, slots=True)
class Triples(Derived):
    """Units of kind triple, whose text is `subject | relation | object` and whose source is the fact's, and of kind slot.
    A slot's source is that of one triple it stands in. The vector stored with a triple is the mean of its slots'.
    """

    settings: TripleSettings = field(default_factory=TripleSettings)
    name = TRIPLES
    built_from = (EXTRACTIONS,)
    units = (Kind.SLOT, Kind.TRIPLE)
    shared = (Kind.SLOT,)

    @property
    def fingerprint(self) -> str:
        """That of the extractor: the other settings only add."""
        return fingerprint(TripleSettings(self.settings.extractor))

    def target_rows(self, context: BuildContext) -> Target:
        """All where a document went: slots that others need may have gone with it."""
        some = context.change is not None and not context.change.removed
        return Derived.target_rows(self, context) if some else Target(self.rows(context, None), whole=True)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`. Raises: UsageError: the extractor cannot be opened."""
        found = batched(stored_in_order(context.writer.snapshot(), documents), READ_TOGETHER)
        work = Work(
            "reading triples off",
            partial(_read_off, self.settings.extractor),
            lambda batch: from_to([f"{passage.title!r} ({passage.id})" for passage, _ in batch]),
        )
        for triples in context.executor.map(work, found):
            for triple in triples:
                yield triple
                for text in self._encoded_for(triple):
                    yield Unit(slot_id(text), Kind.SLOT, "", text, triple.sources[:1])

    def _encoded_for(self, triple: Unit) -> Iterator[str]:
        slots = slots_in(triple.text)
        yield from slots
        if self.settings.lemmas:
            yield from map(lemmatised, slots)
        if self.settings.texts:
            yield " ".join(slots)

    def vectors(
        self, context: BuildContext, kind: Kind, batches: Iterable[Sequence[Unit]], total: int
    ) -> Iterator[Encoded]:
        """See `Derived.vectors`. Those of triples are made of their slots', which are stored by then."""
        if kind is Kind.SLOT:
            yield from encode_batches(context, batches, total)
            return
        done = 0
        for batch in batches:
            context.pause()
            slots = [list(map(slot_id, slots_in(unit.text))) for unit in batch]
            rows = {name: row for row, name in enumerate({name: 0 for three in slots for name in three})}
            known = context.writer.snapshot().search.vectors_in_order([Kind.SLOT], list(rows))
            yield batch, unit_length(known[[[rows[name] for name in three] for three in slots]].mean(axis=1))
            done += len(batch)
            context.report("writing triples", done, total)


def _read_off(extractor: str, found: Sequence[tuple[Unit, Extraction]]) -> list[Unit]:
    find = open_triple_finder(extractor)
    read = []
    for passage, extraction in found:
        for fact in extraction.facts:
            for triple in find(fact, passage.title):
                text = text_of(triple)
                if text:
                    place = fact.source
                    name = content_id("r", text, place.document, str(place.start), str(place.end))
                    read.append(Unit(name, Kind.TRIPLE, passage.title, text, (place,)))
    return read


@lru_cache(maxsize=65_536)
def slot_id(text: str) -> str:
    """The same for equal texts, so that a slot is stored and encoded once however many triples have it."""
    return content_id("w", text)


def text_of(triple: Triple) -> str:
    """A triple as a unit's text; empty where a slot is empty or far too long."""
    slots = [squeeze(slot.replace("|", "/")) for slot in (triple.subject, triple.relation, triple.object)]
    return SEPARATOR.join(slots) if all(0 < len(slot) <= LONGEST_SLOT for slot in slots) else ""


def slots_in(text: str) -> tuple[str, str, str]:
    """The way back."""
    subject, relation, object_ = text.split(SEPARATOR)
    return subject, relation, object_
