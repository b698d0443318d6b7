"""The most informative name of an entity that a document calls by several: `Finch` is `Orla Finch`, once that has been said.

SiReRAG, figures 6 to 8: of each entity only its most informative name, in the light of the text before. A model that extracts is
asked for it; of what rules find, short names are resolved here, document by document. Only a family name is: one word, with or
without a form of address, that is the last of exactly one longer name of the document so far. `Wrenmouth` is not `University of
Wrenmouth`, and `Korea` not `North Korea`.
"""

from __future__ import annotations

from collections import defaultdict

from hoptrail.text.lexicon import DEMONYMS, word_set
from hoptrail.text.normal_forms import base_title, folded, squeeze

LONGEST = 4
"""Words of a full name."""

ADDRESSES = word_set("mr mrs ms miss dr sir lady lord professor prof king queen")
TELLING_APART = word_set(
    "north south east west northern southern eastern western central upper lower new old great greater little inner outer saint "
    "st mount lake river port fort san santa los las el la le the isle cape bay first second third world"
)
"""First words that make another thing of a name, not a fuller one."""


class InformativeNames:
    """What one document calls things, as far as it has been read."""

    def __init__(self, title: str) -> None:
        self._full: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.note(base_title(title))

    def note(self, name: str) -> None:
        """The text says this name."""
        words = squeeze(name).split()
        if words and words[0].casefold().rstrip(".") in ADDRESSES:
            words = words[1:]
        told = " ".join(words)
        if 1 < len(words) <= LONGEST and _is_full(words):
            self._full[folded(words[-1])].setdefault(folded(told), told)

    def of(self, name: str) -> str:
        """The name to call it by."""
        words = squeeze(name).split()
        if len(words) == 2 and words[0].casefold().rstrip(".") in ADDRESSES:
            words = words[1:]
        if len(words) != 1 or words[0].casefold() in DEMONYMS:
            return name
        full = list(self._full.get(folded(words[0]), {}).values())
        return full[0] if len(full) == 1 else name


def _is_full(words: list[str]) -> bool:
    """Whether a name of these words is what its last word may be short for."""
    capitals = all(word[:1].isalpha() and word[:1] != word[:1].lower() for word in words)
    return capitals and words[0].casefold().rstrip(".") not in TELLING_APART
