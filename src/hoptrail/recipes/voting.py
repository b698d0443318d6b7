"""Self-consistency: several replies to one sub-question, of which the commonest in meaning counts.

The released code of HiRAG takes three replies wherever it answers; its paper does not mention that. The first reply is a reading,
which cites; the others are drawn by the task sample, which does not. Where these outvote the reading, what is cited are the
sentences of the evidence in which the answer stands, word for word. Languages that draw nothing at random (the offline rules)
vote by their pieces of evidence. Does not know whether an answer holds: that is verified afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Equate, Reading, Sample, Step
from hoptrail.recipes.answer_uncertainty import ABSTENTION, semantic_sets
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.normal_forms import folded, same_words, stands_in
from hoptrail.types import Kind, Span, Unit


@dataclass(frozen=True, slots=True)
class VotingSettings:
    """`replies` are counted, the reading among them; 1 is the reading alone, and every further one is a generation more.

    `equivalence`: two answers mean the same if they are equal but for case and articles (`string`), or as the language
    judges where they are not (`meaning`, a call for a pair).
    """

    replies: int = 1
    equivalence: Literal["string", "meaning"] = "string"

    def __post_init__(self) -> None:
        if self.replies < 1:
            raise ValueError(f"replies is at least 1, not {self.replies}")

    @property
    def most_judged(self) -> int:
        """How often the language is asked, at the most, whether two replies mean the same."""
        return self.replies * (self.replies - 1) // 2 if self.equivalence == "meaning" else 0


def voted(
    reading: Reading, question: str, evidence: Sequence[Unit], corpus: Corpus, settings: VotingSettings, meter: Meter
) -> Reading:
    """The reading, if what it says (or that it abstains) is the commonest reply; else what is, or an abstention.

    Raises:
        TaskFailed: as the language raised it.
    """
    if settings.replies == 1:
        return reading
    drawn = meter.perform(Sample(question, tuple(evidence), settings.replies - 1)).answers
    replies = [reply or ABSTENTION for reply in (reading.answer, *drawn)]
    sets = semantic_sets(replies, lambda one, other: _same(one, other, question, settings, meter))
    largest = max(sets, key=len)  # the first of those equally large
    share = len(largest) / len(replies)
    if largest is sets[0]:
        return Reading(reading.answer, reading.steps, share)
    answer = largest[0]
    if answer == ABSTENTION:
        return Reading(None)
    return Reading(answer, (Step(question, answer, _saying(answer, evidence, corpus)),), share)


def _same(one: str, other: str, question: str, settings: VotingSettings, meter: Meter) -> bool:
    if ABSTENTION in (one, other):
        return one == other
    if same_words(one, other):
        return True
    return settings.equivalence == "meaning" and meter.perform(Equate(question, one, other))


def _saying(answer: str, evidence: Sequence[Unit], corpus: Corpus) -> tuple[Span, ...]:
    """The sentences of the best piece of evidence that has the answer's words; none where no piece has, or it is no passage."""
    folded_answer = folded(answer)
    telling = (unit for unit in evidence if unit.kind is Kind.PASSAGE and stands_in(folded_answer, folded(unit.text)))
    unit = next(telling, None)
    if unit is None:
        return ()
    whole = unit.sources[0]
    for document in corpus.documents({whole.document}).values():  # none, where the piece is from the web
        ends = ((max(span.start, whole.start), min(span.end, whole.end)) for span in document.sentences())
        parts = [Span(document.id, start, end) for start, end in ends if start < end]
        return tuple(part for part in parts if stands_in(folded_answer, folded(document.slice(part))))
    return ()
