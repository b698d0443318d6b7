"""A world whose facts are read as triples: what a question asks stands two facts away from the names in it."""

from __future__ import annotations

from pathlib import Path

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.types import Ranking
from hoptrail_papers.comprag.triples import Triples
from world import HashingEncoder

WORLD = {
    "Guild Roll": "Orla Finch designed the Tallow Bridge.",
    "Parish Book": "Orla Finch praised Wrenmouth.",
    "Pilot Guide": "The Isk flows through Wrenmouth.",
    "Ballad": "Dame Orla Finch sang Grey Songs.",
    "Gallery": "Jonas Pell painted Harrow Fair.",
    "Mill": "Tom Reed grinds barley with Ida Voss.",
    "Fair": "Ida Voss sells Green Apples.",
    "Town Talk": "Ada Quill designed a harbour. A harbour was designed by Milo Fen.",
}
QUESTION = "Which harbour was designed like the Tallow Bridge?"
"""Its words stand in Town Talk, its name in Guild Roll."""


def build(folder: Path) -> Corpus:
    encoder = HashingEncoder(dimension=256)
    for title, text in WORLD.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    structures: list[Structure] = [Passages(PassageLimits()), Extractions(), Triples()]
    sources = sorted(folder.glob("*.txt"))
    performer = BuildLanguage(OfflineLanguage())
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


def titles(ranking: Ranking) -> list[str]:
    return [hit.unit.title for hit in ranking]
