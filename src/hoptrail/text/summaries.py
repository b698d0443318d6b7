"""Extractive summaries: the sentences nearest the centre of a text, without near-repetitions.

The centre is the sum of the sentences' weighted stems. A chosen sentence lowers the worth of similar ones (maximal marginal
relevance).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import content_stems

_SIMILARITY_COST = 0.6
_MOST_SENTENCES = 400


def summarise(sentences: Sequence[str], limit: int) -> str:
    """Whole sentences in their original order, at most `limit` words in all; if none fits, the best one cut short."""
    lines = [line for line in dict.fromkeys(squeeze(sentence) for sentence in sentences[:_MOST_SENTENCES]) if line]
    stems = [content_stems(line) for line in lines]
    count = Counter(stem for line_stems in stems for stem in line_stems)
    weight = {stem: number * math.log(1 + len(lines) / number) for stem, number in count.items()}
    worth = [sum(weight[stem] for stem in sorted(line_stems)) / math.sqrt(1 + len(line_stems)) for line_stems in stems]
    chosen: list[int] = []
    similarity, room = [0.0] * len(lines), limit
    candidates = [at for at in range(len(lines)) if worth[at] > 0]
    while candidates := [at for at in candidates if len(lines[at].split()) <= room]:
        best = max(candidates, key=lambda at: worth[at] * (1 - _SIMILARITY_COST * similarity[at]))
        chosen.append(best)
        candidates.remove(best)
        room -= len(lines[best].split())
        for at in candidates:
            overlap = len(stems[at] & stems[best]) / max(1, len(stems[at] | stems[best]))
            similarity[at] = max(similarity[at], overlap)
    if not chosen and lines:
        best = max(range(len(lines)), key=lambda at: worth[at])
        return " ".join(lines[best].split()[: max(0, limit)])
    return " ".join(lines[at] for at in sorted(chosen))
