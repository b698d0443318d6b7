"""The triples of a large corpus that a question can be answered from, by look-ups in the store.

1. The names and the triples nearest to what is searched for: the store's index of vectors finds them.
2. The triples that these names stand in, then those that the names at their other ends stand in. The nearest to what is searched
   for are kept.
3. What else the passages of the best say, and what the nearest passages say, because a walk may go through a passage.

How much is read does not grow with the corpus. Of the triples that a famous name stands in A_NAME at most are looked at; which
ones is as good as drawn by lot, but the nearest of all come from the first step. How often a name stands in triples, and which
passages are least like the question, is what it is among these triples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.stored_triples import StoredTriples, some_triples
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.triples import END, STATED, TRIPLE_ID, slot_id, triple_in
from hoptrail.types import Kind, bound_of_ids

HELD = 500_000
"""Triples that are held in memory: some 1.4 GB with names, vectors of these, and the graph. To look them up takes longer."""

NEAREST = 50
"""Names, and triples, that are nearest to each text."""
NAMES = 200
A_NAME = 100
LOOKED_AT = 4000
REACHED = 1000
"""Of a step: names that are followed, triples of one name that are looked at, of all together, and those kept."""
SPEAKING = 100
"""Passages of likely triples of which all are taken."""

SHARE = 1 / 64
FAMOUS = 20
"""A name with so many triples in such a share of all stands in thousands, of which these are enough."""


def triples_around(corpus: Corpus, texts: Sequence[str], nearest: int = 0) -> StoredTriples:
    """All triples of a corpus; of a large one those around `texts`: a question, names in it, what it says of them.

    The `nearest` triples and names to each text are among them, at least NEAREST.
    """
    snapshot = corpus.snapshot
    if snapshot.count(Kind.TRIPLE) <= HELD or not snapshot.derived((STATED,), lambda: _has_links(snapshot)):
        return StoredTriples.of(snapshot)
    around = _Around(snapshot, corpus.encoder.encode(list(dict.fromkeys(texts))))
    names = around.start(max(NEAREST, nearest))
    for _ in range(2):
        names = around.go_on(names)
    around.take_passages()
    return around.found()


def _has_links(snapshot: Snapshot) -> bool:
    """Indexes built before triples had links are searched whole until they are next brought up to date."""
    return next(snapshot.links(STATED), None) is not None


class _Around:
    """Triples with their texts, and how like what is searched for each is."""

    def __init__(self, snapshot: Snapshot, vectors: FloatMatrix) -> None:
        self._snapshot, self._vectors = snapshot, vectors
        self._texts: dict[str, str] = {}
        self._likeness: dict[str, float] = {}
        self._followed: set[str] = set()
        self._stating: dict[str, str] = {}

    def start(self, count: int) -> list[str]:
        """Take the nearest triples; gives the slots to go on from, the most promising first."""
        near = _best(self._snapshot.nearest(Kind.SLOT, self._vectors, count))
        best = _best(self._snapshot.nearest(Kind.TRIPLE, self._vectors, count))
        self._texts |= self._snapshot.texts(Kind.TRIPLE, best)
        self._likeness |= best
        return [*near, *self._ends(self._likeness)]

    def go_on(self, slots: Sequence[str]) -> list[str]:
        """Take the nearest triples that have these slots as ends; gives the slots at the ends of those that are new."""
        new = [slot for slot in dict.fromkeys(slots) if slot not in self._followed][:NAMES]
        self._followed.update(new)
        some = self._triples_of(new, bound_of_ids(TRIPLE_ID, SHARE))
        famous = {slot: triples for slot, triples in some.items() if len(triples) >= FAMOUS}
        standing = self._triples_of([slot for slot in new if slot not in famous]) | famous
        candidates = (triple for slot in new for triple in sorted(standing[slot])[:A_NAME])
        looked_at = [triple for triple in dict.fromkeys(candidates) if triple not in self._texts][:LOOKED_AT]
        texts: dict[str, str] = {}
        likeness: dict[str, float] = {}
        for ids, said, matrix in self._snapshot.texts_and_vectors(Kind.TRIPLE, looked_at):
            texts |= zip(ids, said, strict=True)
            likeness |= zip(ids, (matrix @ self._vectors.T).max(axis=1).tolist(), strict=True)
        kept = sorted(likeness, key=lambda triple: (-likeness[triple], triple))[:REACHED]
        self._texts |= {triple: texts[triple] for triple in kept}
        self._likeness |= {triple: likeness[triple] for triple in kept}
        return self._ends(kept)

    def _triples_of(self, slots: Sequence[str], below: str = "") -> dict[str, list[str]]:
        """The triples that slots are ends of, those with lower ids than a bound."""
        standing: dict[str, list[str]] = {slot: [] for slot in slots}
        for slot, triple in self._snapshot.linked("source", slots, END, below):
            standing[slot].append(triple)
        return standing

    def take_passages(self) -> None:
        """Take what else the passages of the most likely triples say, and what the nearest passages say."""
        order = sorted(self._likeness, key=lambda triple: (-self._likeness[triple], triple))
        self._stating = dict(self._snapshot.linked("source", order, STATED))
        stating = (self._stating[triple] for triple in order if triple in self._stating)
        near = _best(self._snapshot.nearest(Kind.PASSAGE, self._vectors, NEAREST))
        speaking = [*near, *list(dict.fromkeys(stating))[:SPEAKING]]
        self._stating |= self._snapshot.linked("target", speaking, STATED)
        self._texts |= self._snapshot.texts(Kind.TRIPLE, self._stating.keys() - self._texts.keys())

    def found(self) -> StoredTriples:
        return some_triples(self._texts, self._stating)

    def _ends(self, triples: Iterable[str]) -> list[str]:
        """The slots at the ends of triples that were taken, in the order of the triples."""
        found = (triple_in(self._texts[triple]) for triple in triples)
        return [slot_id(text) for triple in found for text in (triple.subject, triple.object)]


def _best(found: Sequence[Sequence[tuple[str, float]]]) -> dict[str, float]:
    """Ids with their highest cosine, the highest first."""
    best: dict[str, float] = {}
    for near in found:
        for id_, cosine in near:
            best[id_] = max(cosine, best.get(id_, -1.0))
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


SAMPLED = 5000


def sample_of_triples(snapshot: Snapshot) -> StoredTriples:
    """As many triples of a large corpus as tell the mean of all: those of the lowest ids, which is as good as by lot."""
    return snapshot.derived(("triples", "sample"), lambda: _sampled(snapshot))


def _sampled(snapshot: Snapshot) -> StoredTriples:
    return some_triples({unit.id: unit.text for unit in snapshot.sample(Kind.TRIPLE, SAMPLED)}, {})
