"""The trained tagger: which words of a message are questions, what a message wants that asks nothing; what kind of answer a
question wants, and which of its words describe something that has to be found first; and which words of a text answer it.

    [CLS] message [SEP]
    [CLS] question [SEP] text [SEP]

A BERT as the reader's, from whose layers its training began (`training/question_tagger.py`); its weights ship beside the
reader's, as `questions.npz`. A head tags word pieces, or judges the whole at [CLS]:

    asked    pieces that begin a question, belong to it, or stand around it    (Ramshaw and Marcus 1995, section 3, for tags)
    inner    first and last piece of the innermost description, or of the noun for what leads to compared values, else [CLS]
    kind     what kind of answer a question wants
    form     whether a question is to be taken apart
    reply    what a message wants that asks nothing
    items    pieces of the text that answer the question, as in `asked`
    when     pieces for a time, as in `asked`
    relation how what is asked for lies to this time
    sides    pieces of the things that a question compares, as in `asked`
    rule     how their values decide

Four narrow layers stand over the last three, which they taught nothing: that of `asked`; of `inner` and `form`; of `when` and
`relation`; of `sides` and `rule`. It reads English. Longer messages are tagged in stretches of 96 word pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.networks import CLS, SEP, TrainedNetwork, read_reader_weights, reader_folder
from hoptrail.types import AnswerKind

QUESTIONS = "questions.npz"
LONGEST, LONGEST_QUESTION, LONGEST_TEXT = 96, 64, 256
"""Word pieces of a message, of a question before a text, and of the text."""
_LEAST_LIKELY = 0.7  # a less likely relation is none, a less likely kind a short answer
_LEAST_SURE = 0.94  # the same for lists, because what might be several things often is one, and for a single side
_COSTS = {"asked": 2.0, "items": 1.0, "when": 1.0, "sides": 2.0}
"""Of a place in log probability; between 1 and 4 the judged rows hardly change."""

KINDS = (AnswerKind.SHORT, AnswerKind.LIST, AnswerKind.YES_NO, AnswerKind.STEPS, AnswerKind.PASSAGE)
"""The kinds of answers in the order of the head's columns."""

Extent = tuple[int, int]
"""Characters of a text: start and end."""


WantedReply = Enum("WantedReply", ["QUESTION", "THANKS", "GREETING", "HELP", "TITLE", "OTHER"], start=0)
"""What a message without a question wants, in the order of the head's columns; QUESTION: it has one."""
QuestionForm = Enum("QuestionForm", ["SINGLE", "CHAIN", "COMPARE"], start=0)
"""Whether a question is to be taken apart, in the order of the head's columns."""
TimeRelation = Enum("TimeRelation", ["NONE", "IN", "BEFORE", "AFTER", "BETWEEN", "LATEST", "EARLIEST"], start=0)
"""How what a question asks for lies to the time that it says, in the order of the head's columns; NONE: it asks for none."""
ComparisonRule = Enum("ComparisonRule", ["LESS", "MORE", "SAME", "BOTH"], start=0)
"""What the values of two sides decide, in the order of the head's columns: that the side with the smaller number or the earlier
date is the answer, or the other one; whether both have the same value; whether the same is true of both.
"""

_TAGS = 3  # a piece stands around places, begins one, or belongs to one
LAYERS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "": ({"items": _TAGS}, {"kind": len(KINDS), "reply": len(WantedReply)}),
    "messages": ({"asked": _TAGS}, {}),
    "plans": ({"inner": 2}, {"form": len(QuestionForm)}),
    "times": ({"when": _TAGS}, {"relation": len(TimeRelation)}),
    "comparisons": ({"sides": _TAGS}, {"rule": len(ComparisonRule)}),
}
"""The heads over the last layer and over each narrow one, for word pieces and for the whole, with their columns."""
_TAGGED, _JUDGED = (tuple(head for heads in LAYERS.values() for head in heads[at]) for at in (0, 1))


@dataclass(frozen=True, slots=True)
class MessageTags:
    """The places of a message's questions, and what it wants if it has none."""

    asked: tuple[Extent, ...]
    reply: WantedReply


@dataclass(frozen=True, slots=True)
class QuestionTags:
    """The kind of answer, the form, a chain's innermost description, what is compared, how, and the noun that leads to values."""

    kind: AnswerKind
    form: QuestionForm
    inner: Extent | None = None
    sides: tuple[Extent, ...] = ()
    rule: ComparisonRule = ComparisonRule.LESS
    lead: Extent | None = None


@dataclass(frozen=True, slots=True)
class TimeTags:
    """How what a question asks for lies to a time, and the places of the words for it."""

    relation: TimeRelation
    places: tuple[Extent, ...] = ()


class QuestionTagger:
    """Tags messages. Thread-safe. Raises: ModelUnavailable: the weights are missing or unusable."""

    def __init__(self, folder: Path | None = None) -> None:
        self._network = TrainedNetwork("questions", read_reader_weights(folder or reader_folder(), QUESTIONS))
        self._heads = lru_cache(64)(self._run)  # a question is a message first, and then may have a time

    def tag_message(self, message: str) -> MessageTags:
        asked: list[Extent] = []
        replies = []
        for start, stretch in self._stretches(message):
            offsets, heads = self._heads(stretch)
            replies.append(WantedReply(int(heads["reply"].argmax())))
            places = _marked(heads["asked"], offsets, stretch, _COSTS["asked"])
            asked += [(start + first, start + last) for (first, last), _ in places]
        return MessageTags(tuple(asked), replies[0] if replies else WantedReply.OTHER)

    def tag_question(self, question: str) -> QuestionTags:
        offsets, heads = self._heads(question)
        odds, forms = (heads[name] - np.logaddexp.reduce(heads[name]) for name in ("kind", "form"))
        kind, form = KINDS[int(odds.argmax())], QuestionForm(int(forms.argmax()))
        sides = _two_sides(heads["sides"], offsets, question) if form is QuestionForm.COMPARE else ()
        rule = ComparisonRule(int(heads["rule"].argmax()))
        if rule is ComparisonRule.BOTH or kind is AnswerKind.LIST or forms.max() < np.log(_LEAST_SURE):
            sides = () if len(sides) == 1 else sides  # not the value of one side (`Is the weir older than?`)
        is_difference = kind is AnswerKind.PASSAGE and len(sides) == 2
        unlikely = odds.max() < np.log(_LEAST_SURE if kind is AnswerKind.LIST else _LEAST_LIKELY)
        if len(sides) == 1 or (unlikely and not is_difference):
            kind = AnswerKind.SHORT
        if form is QuestionForm.SINGLE or not offsets:
            return QuestionTags(kind, form)
        none, inner = heads["inner"][0].sum(), heads["inner"][1 : 1 + len(offsets)]
        spans = np.where(np.tri(len(offsets), k=-1, dtype=bool), -np.inf, inner[:, :1] + inner[:, 1])
        first, last = divmod(int(spans.argmax()), len(offsets))
        extent, is_chain = (offsets[first][0], offsets[last][1]), form is QuestionForm.CHAIN
        lead = None if is_chain or spans.max() < none else extent
        return QuestionTags(kind, form, extent if is_chain else None, sides, rule, lead)

    def tag_text(self, question: str, text: str) -> tuple[tuple[Extent, float], ...]:
        """The places in the first `LONGEST_TEXT` word pieces that answer a question, each with its words' log probability."""
        offsets, heads = self._heads(question, text)
        return tuple(_marked(heads["items"], offsets, text, _COSTS["items"]))

    def tag_values(self, question: str, values: Sequence[str]) -> ComparisonRule:
        """How two values decide a question: a date of birth is less for the older one, an age more."""
        _, heads = self._heads(question, "; ".join(values))
        return ComparisonRule(int(heads["rule"].argmax()))

    def tag_time(self, question: str) -> TimeTags:
        offsets, heads = self._heads(question)
        odds = heads["relation"] - np.logaddexp.reduce(heads["relation"])
        places = _marked(heads["when"], offsets, question, _COSTS["when"])
        found = TimeRelation(int(odds.argmax()))
        if found is TimeRelation.NONE or not places or odds.max() < np.log(_LEAST_LIKELY):
            return TimeTags(TimeRelation.NONE)
        return TimeTags(found, tuple(place for place, _ in places))

    def _run(self, message: str, text: str | None = None) -> tuple[list[Extent], dict[str, FloatMatrix]]:
        """Tag a message, or a question before a text: the offsets of the word pieces of what comes last, and the logits of each
        head, for these pieces (of `inner` for all) or for the whole.
        """
        texts, longest = ([message], [LONGEST]) if text is None else ([message, text], [LONGEST_QUESTION, LONGEST_TEXT])
        ids = [CLS]
        for encoded, most in zip(self._network.encode(*texts), longest, strict=True):
            first, offsets = len(ids), encoded.offsets[:most]
            ids += [*encoded.ids[:most], SEP]
        found = self._network.run((*_TAGGED, *_JUDGED), ids, len(ids) if text is None else first)
        heads = dict(zip((*_TAGGED, *_JUDGED), found, strict=True))
        heads |= {name: heads[name][first : first + len(offsets)] for name in _TAGGED if name != "inner"}
        return offsets, heads

    def _stretches(self, message: str) -> Iterator[tuple[int, str]]:
        """The message in stretches that are not too long, cut before a word: the start of each, and its text."""
        offsets, first = self._network.encode(message)[0].offsets, 0
        while first < len(offsets):
            last = min(first + LONGEST, len(offsets))
            ends = [at for at in range(last, first, -1) if at == len(offsets) or message[offsets[at][0] - 1] in "\n.?!"]
            if last < len(offsets):
                last = next((at for at in ends if at > first + LONGEST // 2), last)
            yield offsets[first][0], message[offsets[first][0] : offsets[last - 1][1]]
            first = last


@cache
def _installed() -> QuestionTagger:
    return QuestionTagger()


@lru_cache(256)
def tag_message(message: str) -> MessageTags:
    """The questions in a message, by the installed weights. Raises: ModelUnavailable: as for `QuestionTagger`."""
    return _installed().tag_message(message)


@lru_cache(1024)
def tag_question(question: str) -> QuestionTags:
    """What a question wants, and its parts, by the installed weights. Raises: ModelUnavailable: as for `QuestionTagger`."""
    return _installed().tag_question(question)


@lru_cache(1024)
def tag_time(question: str) -> TimeTags:
    """The words for a time in a question, by the installed weights. Raises: ModelUnavailable: as for `QuestionTagger`."""
    return _installed().tag_time(question)


@lru_cache(256)
def tag_text(question: str, text: str) -> tuple[tuple[Extent, float], ...]:
    """The words of a text that answer a question, by the installed weights. Raises: ModelUnavailable: as for `QuestionTagger`."""
    return _installed().tag_text(question, text)


def tag_values(question: str, values: Sequence[str]) -> ComparisonRule:
    """How two values decide a question, by the installed weights. Raises: ModelUnavailable: as for `QuestionTagger`."""
    return _installed().tag_values(question, values)


def _two_sides(logits: FloatMatrix, offsets: Sequence[Extent], question: str) -> tuple[Extent, ...]:
    """The sides; more than two are joined to two if dearer places join them (titles have `and` in them), not across a comma."""
    costs = (times * _COSTS["sides"] for times in (1, 2, 3))
    marked = (tuple(place for place, _ in _marked(logits, offsets, question, cost)) for cost in costs)
    sides = next(marked)
    for places in marked if len(sides) > 2 else ():
        whole = all(any(start <= first and last <= end for start, end in places) for first, last in sides)
        if len(places) == 2 and whole and not any("," in question[start:end] for start, end in places):
            return places
    return sides


def _marked(logits: FloatMatrix, offsets: Sequence[Extent], text: str, cost: float) -> list[tuple[Extent, float]]:
    """The places of the likeliest sequence of places and words around them (Viterbi), each with the log probability of its words'
    tags. A place begins and ends with a word, and each costs something, so that a doubtful word within does not cut it in two.
    """
    words = _words(logits, offsets, text)
    outside, inside = np.zeros(len(words) + 1), np.full(len(words) + 1, -np.inf)
    came_from = []  # of each word, inside: 0 from outside, 1 goes on, 2 begins after another; outside: whether from inside
    for at, (_, word) in enumerate(words):
        ways = outside[at] + max(word[1], word[2]) - cost, inside[at] + word[2], inside[at] + word[1] - cost
        came_from.append((int(np.argmax(ways)), inside[at] > outside[at]))
        inside[at + 1], outside[at + 1] = max(ways), max(inside[at], outside[at]) + word[0]
    places: list[tuple[Extent, float]] = []
    within, end, likely = inside[-1] > outside[-1], 0, 0.0
    for ((start, stop), word), (way, was_inside) in zip(reversed(words), reversed(came_from), strict=True):
        if within:
            end, likely = end or stop, likely + float(max(word[1], word[2]))
            if way != 1:
                places.append(((start, end), likely))
                end, likely = 0, 0.0
            within = way != 0
        else:
            within = was_inside
    return places[::-1]


def _words(logits: FloatMatrix, offsets: Sequence[Extent], text: str) -> list[tuple[Extent, FloatMatrix]]:
    """Each word's characters, and the log probabilities of its tags: its pieces' together, the first alone beginning it."""
    found: list[tuple[Extent, FloatMatrix]] = []
    scores = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    for (start, end), (around, begins, belongs) in zip(offsets, scores, strict=True):
        joined = bool(found) and found[-1][0][1] == start
        if joined and text[start - 1 : start].isalnum() and text[start : start + 1].isalnum():
            (first, _), before = found[-1]
            found[-1] = (first, end), before + np.array([around, belongs, belongs])
        else:
            found.append(((start, end), np.array([around, begins, belongs])))
    return found
