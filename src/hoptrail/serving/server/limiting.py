"""Questions to chosen documents alone: asked of a copy of the index without the others, so that every recipe finds, ranks and
reads as it would if nothing else had ever been indexed.

Copying and taking away cost little beside a question, and a copy is kept for the next question to the same choice. Copies lie in
the system's folder for temporary files, where only this user can read them, and go when the index has changed.
"""

from __future__ import annotations

import shutil
import weakref
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock

from hoptrail.corpus.copying import copy_index
from hoptrail.index import Index
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving.server.refusals import Refusal

KEPT = 4
"""Copies of a workspace at once: the choices that were asked last."""


class _Part(Index):
    """An index of some documents of another. Its files go when nobody holds on to it, or to a corpus of it."""

    def __init__(self, whole: Index, folder: Path, documents: frozenset[str]) -> None:
        place = mkdtemp(prefix="hoptrail-chosen-")
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        copy = Path(place, "index")
        copy_index(folder, copy)
        super().__init__(copy, whole.settings)
        self.encoder = whole.encoder
        if others := [one.id for one in self.contents().documents if one.id not in documents]:
            self.withdraw(others)


class Choices:
    """The copies of one index, the one asked last at the end."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._commit = 0
        self._copies: OrderedDict[frozenset[str], _Part] = OrderedDict()
        self._lock = Lock()

    def corpus(self, whole: Corpus, documents: Collection[str]) -> Corpus:
        """What of `whole`, the last committed state, is in these documents.

        Raises:
            Refusal: none of them is there.
        """
        chosen = frozenset(entry.id for entry in whole.snapshot.register.of(set(documents)))
        if not chosen:
            raise Refusal(404, "not_found", "None of the chosen documents is here any more.", "Choose others.")
        with self._lock:
            self._forget(unless=whole.snapshot.commit)
            copy = self._copies.pop(chosen, None) or _Part(self._index, whole.snapshot.folder, chosen)
            self._copies[chosen] = copy
            while len(self._copies) > KEPT:
                self._copies.popitem(last=False)
        return copy.corpus()

    def forget_others(self, commit: int) -> None:
        """Let copies of every other commit go."""
        with self._lock:
            self._forget(unless=commit)

    def _forget(self, unless: int) -> None:
        if self._commit != unless:
            self._copies.clear()
            self._commit = unless
