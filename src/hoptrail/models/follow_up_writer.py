"""The trained writer of follow-ups: the question that a message asks after others, copied word piece by word piece.

    [CLS] message [SEP] last question [SEP] last answer [SEP] question before [SEP] answer before [SEP]

What is asked after other questions is nearly always said in words of the message and of what went before, with a few small words
between (`SMALL`). So the writer copies: at each step it points at the word piece that comes next, or at [CLS] to end (See et al.
2017, section 2.2, without generating from a vocabulary). A BERT as the reader's reads, a gated recurrent unit (Cho et al. 2014,
section 2.3) writes; `training/follow_up_writer.py` trains both, and their weights ship beside the reader's. It reads English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.networks import CLS, SEP, TrainedNetwork, read_reader_weights, reader_folder
from hoptrail.models.prompt_text import whole_text
from hoptrail.text.lexicon import FUNCTION_WORDS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WRITER = "follow-ups.npz"
SMALL = (
    "what", "is", "the", "of", "'", "s", "?", "are", "was", "in", "there", "how", "at", "who", "does", "on", "for", "a",
    "when", "were", "many", "much", "to", "do", "and", ",", "which", "has", "that", "or",
)  # fmt: skip
"""What may be written though nobody said it; each has a vector of its own, before those of the word pieces."""
LONGEST = (32, 48, 40, 32, 24)
"""Word pieces that are read of the message, of the last question and answer, and of those before. A longer message stands alone.
"""
_LONGEST_TEXT = 48  # word pieces of what is written
_BEAM = 4
_OWN = "writer."  # what the names of the weights begin with that are not the trunk's
_END = len(SMALL)  # the place of [CLS]: what points at it ends
_BEGINS = re.compile(r"[\w$€£#(]")
_JOINING = ("'", "’", "(", "-", "/", "$", "€", "£")
"""What begins with the one stands apart from what is before it, unless that ends with the other."""


@dataclass(frozen=True, slots=True)
class WrittenFollowUp:
    """A question that stands alone, and the probability that it is what was meant. Empty: none can be written."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class CopiedFrom:
    """What is copied from: the texts, latest first, with the word pieces of all, and of each its text and characters there (None:
    a mark between texts).
    """

    texts: tuple[str, ...]
    ids: tuple[int, ...]
    extents: tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A beginning: its log probability, the places that were copied, and the state after them, shape (256)."""

    likely: float
    places: tuple[int, ...]
    state: NDArray[np.float32]


class FollowUpWriter:
    """Writes what follow-ups ask. Thread-safe. Raises: ModelUnavailable: the weights are missing or unusable."""

    def __init__(self, folder: Path | None = None) -> None:
        weights = read_reader_weights(folder or reader_folder(), WRITER)
        self._weights = {name.removeprefix(_OWN): one for name, one in weights.items() if name.startswith(_OWN)}
        trunk = {name: one for name, one in weights.items() if not name.startswith(_OWN)}
        self._network = TrainedNetwork("states", trunk)

    def write(self, message: str, before: Sequence[tuple[str, str]]) -> WrittenFollowUp:
        """What `message` asks after the questions and answers `before`, oldest first: the likeliest text."""
        source = source_of(message, before, self._network.tokenizer)
        if source.ids.index(SEP) > LONGEST[0] and not message.isspace():
            return WrittenFollowUp(message, 1.0)
        (read,) = self._network.run(["states"], source.ids, source.ids.index(SEP) + 1)
        states = np.concatenate([self._weights["small"], read])
        likely: dict[str, float] = {"": -np.inf}
        for one in self._copied(states, np.array([at is not None for at in source.extents])):
            text = _text(source, one.places)
            likely[text] = float(np.logaddexp(likely.get(text, -np.inf), one.likely))
        text = max(likely, key=lambda one: likely[one])
        return WrittenFollowUp(text, float(np.exp(likely[text])))

    def _copied(self, states: FloatMatrix, is_piece: NDArray[np.bool_]) -> list[_Begun]:
        """The likeliest texts that end (beam search). `states` are the vectors of the small words, then what the trunk makes of
        the word pieces: shape (small words + pieces, width).
        """
        allowed = np.concatenate([np.ones(_END + 1, bool), is_piece[1:]])
        size = len(self._weights["keys.bias"]) ** 0.5
        keys, near_keys = (self._linear(name, states) / size for name in ("keys", "near_keys"))
        inputs = self._linear("inputs", states)
        begun = [_Begun(0.0, (), np.tanh(self._linear("init", states[_END])))]
        ended: list[_Begun] = []
        for _ in range(_LONGEST_TEXT):
            further: list[_Begun] = []
            for one in begun:
                given = inputs[one.places[-1]] if one.places else self._weights["start"]
                state = self._recur(given, one.state)
                logits = np.where(allowed, self._pointed(states, keys, near_keys, state, one.places), -np.inf)
                logits -= np.logaddexp.reduce(logits)
                for at in map(int, np.argsort(-logits, kind="stable")[:_BEAM]):
                    likely = one.likely + float(logits[at])
                    if at == _END:
                        ended.append(_Begun(likely, one.places, state))
                    else:
                        further.append(_Begun(likely, (*one.places, at), state))
            begun = sorted(further, key=lambda one: -one.likely)[:_BEAM]
            if len(ended) >= _BEAM and max(one.likely for one in ended) > begun[0].likely:
                break
        return ended

    def _pointed(
        self, states: FloatMatrix, keys: FloatMatrix, near_keys: FloatMatrix, state: FloatMatrix, copied: Sequence[int]
    ) -> FloatMatrix:
        """Of each place, the logit that it comes next."""
        near = near_keys @ self._linear("near", state)
        near = np.exp(near - near.max())
        mixed = np.concatenate([near @ states / near.sum(), state])
        context = np.tanh(self._linear("mix", mixed))
        logits = keys @ self._linear("query", context)
        logits[list(copied)] += self._weights["again"]
        if copied and copied[-1] + 1 < len(logits):
            logits[copied[-1] + 1] += float(self._weights["next"][0] + self._linear("goes_on", context)[0])
        return logits

    def _recur(self, given: FloatMatrix, state: FloatMatrix) -> FloatMatrix:
        weights = self._weights
        reset, update, new = np.split(weights["cell.weight_ih"] @ given + weights["cell.bias_ih"], 3)
        old_reset, old_update, old_new = np.split(weights["cell.weight_hh"] @ state + weights["cell.bias_hh"], 3)
        kept = _logistic(update + old_update)
        new = np.tanh(new + _logistic(reset + old_reset) * old_new)
        after: FloatMatrix = (1 - kept) * new + kept * state
        return after

    def _linear(self, name: str, values: FloatMatrix) -> FloatMatrix:
        found: FloatMatrix = values @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return found


def _logistic(values: FloatMatrix) -> FloatMatrix:
    return (1 / (1 + np.exp(-values))).astype(np.float32)


def source_of(message: str, before: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> CopiedFrom:
    """The word pieces of a message and of the two turns before it, the latest first."""
    texts = (message, *(text for turn in before[:-3:-1] for text in turn))
    ids: list[int] = [CLS]
    extents: list[tuple[int, int, int] | None] = [None]
    for part, (text, longest) in enumerate(zip(texts, LONGEST, strict=False)):
        encoded = tokenizer.encode(whole_text(text), add_special_tokens=False)
        ids += [*encoded.ids[:longest], SEP]
        extents += [*((part, *extent) for extent in encoded.offsets[:longest]), None]
    return CopiedFrom(texts, tuple(ids), tuple(extents))


def _text(source: CopiedFrom, places: Sequence[int]) -> str:
    """What was copied, as it stands in its text where it goes on there, with a capital letter at the beginning only."""
    text, last, last_end = "", -1, 0
    for place in places:
        if place < _END:
            said, within, end = SMALL[place], False, 0
        else:
            part, start, end = source.extents[place - _END] or (0, 0, 0)
            copied = source.texts[part]
            goes_on = last >= _END and place == last + 1
            said = copied[last_end:end] if goes_on else copied[start:end]
            within = goes_on or (start > 0 and copied[start - 1].isalnum() and copied[start].isalnum())
            if start == 0 and said.lower() in FUNCTION_WORDS and not copied[end : end + 1].isalnum():
                said = said.lower()
        apart = text and not within and _BEGINS.match(said) and not text.endswith(_JOINING)
        text += f" {said}" if apart else said
        last, last_end = place, end
    return f"{text[:1].upper()}{text[1:]}"


@cache
def _installed() -> FollowUpWriter:
    return FollowUpWriter()


@lru_cache(256)
def write_follow_up(message: str, before: tuple[tuple[str, str], ...]) -> WrittenFollowUp:
    """As `FollowUpWriter.write`, by the installed weights. Raises: ModelUnavailable: as for `FollowUpWriter`."""
    return _installed().write(message, before)
