"""Extractive summaries: the sentences nearest the centre of what the units say, without saying the same twice.

The centre is the sum of the sentences' weighted stems; a chosen sentence lowers the worth of those like it (maximal marginal
relevance). Writes no sentence of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import content_stems

_LIKENESS_COST = 0.6
_MOST_SENTENCES = 400


def summarise(sentences: Sequence[str], limit: int) -> str:
    """Whole sentences in their order, at most `limit` words; the best one cut short when even it is longer."""
    lines = [line for line in dict.fromkeys(squeeze(sentence) for sentence in sentences[:_MOST_SENTENCES]) if line]
    stems = [content_stems(line) for line in lines]
    count = Counter(stem for found in stems for stem in found)
    weight = {stem: number * math.log(1 + len(lines) / number) for stem, number in count.items()}
    worth = [sum(weight[stem] for stem in sorted(found)) / math.sqrt(1 + len(found)) for found in stems]
    chosen = _choose(lines, stems, worth, limit)
    if not chosen and lines:
        best = max(range(len(lines)), key=lambda at: worth[at])
        return " ".join(lines[best].split()[: max(0, limit)])
    return " ".join(lines[at] for at in sorted(chosen))


def _choose(lines: Sequence[str], stems: Sequence[frozenset[str]], worth: Sequence[float], limit: int) -> list[int]:
    chosen: list[int] = []
    left = limit
    open_places = set(range(len(lines)))
    most_alike = [0.0] * len(lines)
    while open_places:
        fitting = [at for at in sorted(open_places) if len(lines[at].split()) <= left and worth[at] > 0]
        if not fitting:
            break
        best = max(fitting, key=lambda at: worth[at] * (1 - _LIKENESS_COST * most_alike[at]))
        chosen.append(best)
        open_places.discard(best)
        left -= len(lines[best].split())
        for at in open_places:
            most_alike[at] = max(most_alike[at], _likeness(stems[at], stems[best]))
    return chosen


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
