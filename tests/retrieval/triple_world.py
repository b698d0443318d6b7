"""A world of triples written as they are: who did what to whom in which document, without reading sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind, Span, Unit, Usage, content_id
from hoptrail_papers.comprag.triples import SEPARATOR, slot_id
from retrieval.paths.plain import WordEncoder
from world import make_document, make_passage

Said = tuple[str, str, str]
STRAY = "Stray Notes"
"""A document without a passage, so that its triples stand in none."""


def drawn() -> dict[str, list[Said]]:
    """Entities by lot, the first in many triples, some spelt in two ways, and some with themselves."""
    draw = Random(8)
    names = [
        f"{first} {last}" for first in ("Orla", "Ada", "Milo") for last in ("Finch", "Quill", "Fen", "Reed", "Voss")
    ]
    world: dict[str, list[Said]] = {}
    for number in range(30):
        facts = []
        for _ in range(draw.randint(1, 3)):
            one, other = draw.choices(names, [1 / (place + 1) for place in range(len(names))], k=2)
            facts.append(
                (one.upper() if draw.random() < 0.2 else one, draw.choice(["praised", "taught", "knew"]), other)
            )
        world[f"Book {number}" if number else STRAY] = list(dict.fromkeys(facts))
    return world


def publish(folder: Path, world: Mapping[str, Sequence[Said]]) -> Corpus:
    encoder = WordEncoder()
    with writing_to(folder, encoder.identity) as writer:
        for title, facts in world.items():
            sentences = [f"{' '.join(said)}." for said in facts]
            document = make_document(title, " ".join(sentences))
            units = [] if title == STRAY else [make_passage(document)]
            for said, sentence in zip(facts, sentences, strict=True):
                start = document.text.index(sentence)
                span, text = Span(document.id, start, start + len(sentence)), SEPARATOR.join(said)
                units.append(Unit(content_id("r", text, document.id), Kind.TRIPLE, title, text, (span,)))
                units += [Unit(slot_id(slot), Kind.SLOT, "", slot, (span,)) for slot in (*said, " ".join(said))]
            writer.put_documents([document])
            for kind in (Kind.PASSAGE, Kind.TRIPLE, Kind.SLOT):
                some = list({unit.id: unit for unit in units if unit.kind is kind}.values())
                writer.put_units(
                    some, encoder.encode([unit.text if kind is Kind.SLOT else unit.searchable for unit in some])
                )
        writer.publish(Usage())
    return Corpus(Snapshot.open(folder), lambda: encoder)
