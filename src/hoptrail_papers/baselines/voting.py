"""Self-consistency: a majority vote, by meaning, of several replies to one sub-question.

The released code of HiRAG takes three replies wherever it answers; its paper does not mention that. The first reply is a reading,
with citations; the others come from the task sample, without. If these outvote the reading, the sentences of the evidence that
contain the answer word for word are cited. Languages that do not sample at random (the offline rules) vote by their pieces of
evidence. Whether the answer holds is verified elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Equate, Reading, Sample, Step
from hoptrail.retrieval.corpus import Corpus
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.text.normal_forms import folded, same_words, stands_in
from hoptrail.types import Kind, Span, Unit
from hoptrail_papers.sunar.answer_uncertainty import ABSTENTION, semantic_sets


@dataclass(frozen=True, slots=True)
class VotingSettings(Limited):
    """`replies` vote, the reading among them; each further one costs a generation. Two answers mean the same if they differ only
    in case and articles (`string`), or also if the language says so (`meaning`, one call a pair).
    """

    replies: AtLeast1 = 1
    equivalence: Literal["string", "meaning"] = "string"

    @property
    def most_judged(self) -> int:
        """Upper bound on calls that ask whether two replies mean the same."""
        return self.replies * (self.replies - 1) // 2 if self.equivalence == "meaning" else 0


def vote(
    reading: Reading,
    question: str,
    evidence: Sequence[Unit],
    corpus: Corpus,
    settings: VotingSettings,
    meter: Meter,
    abstain: Abstain = Abstain.ALWAYS,
) -> Reading:
    """The reading if it has the majority, else a reading of the majority's answer. The other replies abstain as the reading did.
    Raises: TaskFailed: from the language.
    """
    if settings.replies == 1:
        return reading
    drawn = meter.perform(Sample(question, tuple(evidence), settings.replies - 1, abstain)).answers
    replies = [reply or ABSTENTION for reply in (reading.answer, *drawn)]

    def same(one: str, other: str) -> bool:
        if ABSTENTION in (one, other):
            return one == other
        by_meaning = settings.equivalence == "meaning"
        return same_words(one, other) or (by_meaning and meter.perform(Equate(question, one, other)))

    sets = semantic_sets(replies, same)
    largest = max(sets, key=len)  # ties: the first
    share = len(largest) / len(replies)
    if largest is sets[0]:
        return Reading(reading.answer, reading.steps, share)
    answer = largest[0]
    if answer == ABSTENTION:
        return Reading(None)
    return Reading(answer, (Step(question, answer, _sentences_with(answer, evidence, corpus)),), share)


def _sentences_with(answer: str, evidence: Sequence[Unit], corpus: Corpus) -> tuple[Span, ...]:
    """The sentences with the answer's words in the first passage that has them; none if no passage has."""
    folded_answer = folded(answer)
    matches = (unit for unit in evidence if unit.kind is Kind.PASSAGE and stands_in(folded_answer, folded(unit.text)))
    unit = next(matches, None)
    if unit is None:
        return ()
    whole = unit.sources[0]
    for document in corpus.documents({whole.document}).values():  # none if the passage is from the web
        ends = ((max(span.start, whole.start), min(span.end, whole.end)) for span in document.sentences(whole))
        parts = (Span(document.id, start, end) for start, end in ends)
        return tuple(part for part in parts if stands_in(folded_answer, folded(document.slice(part))))
    return ()
