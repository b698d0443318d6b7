"""A corpus with every structure, and small groups in its trees, to hold each preset of a paper against the full one."""

from __future__ import annotations

from pathlib import Path

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.catalogue import StructureSettings, structures_by_name
from hoptrail_papers.chainrag.sentence_graph import SentenceGraphSettings
from hoptrail_papers.comprag.triples import TripleSettings
from hoptrail_papers.sirerag.clustering import ClusteringSettings
from hoptrail_papers.sirerag.trees import SimilarityTreeSettings, TreeSettings
from recipes.chain_world import WORLD as CHAIN
from recipes.hirag_world import WORLD as PAGES
from world import HashingEncoder

_SMALL = ClusteringSettings(target=3, smallest=2, largest=4, neighbours=3)
_TREE = TreeSettings(clustering=_SMALL, summary_words=40)
_TOWNS = ("Wrenmouth", "Dunmere", "Lindeth")
_RIVERS = ("Isk", "Arrow", "Wend")
SHOPS = {
    f"{name} Forge": f"{name} Forge stands in {_TOWNS[at % 3]}. {name} Forge was built by {name} Hale. "
    f"The river {_RIVERS[at // 3 % 3]} drives its hammer. {name} Hale sold it to Jonas Pell."
    for at, name in enumerate(("Abel", "Bess", "Cole", "Dora", "Emil", "Fern", "Gail", "Hugo", "Iris"))
}
WORLD = CHAIN | PAGES | SHOPS


def build(folder: Path) -> Corpus:
    """An index with every structure, a passage a sentence or two."""
    encoder = HashingEncoder(dimension=256)
    for title, text in WORLD.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    settings = StructureSettings(
        similarity_tree=SimilarityTreeSettings(clustering=_SMALL, summary_words=40),
        relatedness_tree=_TREE,
        joint_tree=_TREE,
        entity_tree=_TREE,
        sentence_graph=SentenceGraphSettings(neighbours=2),
        triples=TripleSettings(lemmas=True),
    )
    structures = list(structures_by_name(PassageLimits(12, 0), settings).values())
    sources = sorted(folder.glob("*.txt"))
    performer = BuildLanguage(OfflineLanguage())
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)
