"""The steps of training, made in worker processes: examples of the mixture, and questions whose statements are ranked.

A step depends only on the seed, the number of its round and the number of workers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer
from torch.utils.data import IterableDataset, get_worker_info

from hoptrail.models.encoder_factory import open_encoder
from training.batches import Pieces, Ranked, Step, cut, encode, step_of
from training.contrast.paths import Read, path
from training.examples import Example
from training.mixture import SHARES, Pools, read_pools
from training.statements import HELD_OUT, Choice, choices_in_paragraphs, choices_of, drawn, typed
from training.written import worlds

_WRITTEN = 0.68  # share of the questions about `training/written` among those whose statements are ranked
_PATHS, _BLOCKS = 0.3, 0.2
"""Shares of questions about made pairs of statements, and of near misses by hand, among those."""
_UNSETTLED = 0.25  # share of these without the pair that answers
_PIECES_A_QUESTION = 600  # word pieces of examples for which a step has one question with statements
_LONGEST_STATEMENT = 72  # word pieces
_SOURCE = "choices"


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that is learned from."""

    pools: Pools
    written: Sequence[Choice]
    paragraphs: Sequence[Choice]


def read_material(data: Path, seed: int, shares: Mapping[str, float] = SHARES) -> Material:
    """Reads all of it: about twenty minutes of one core, for the words and vectors of statements above all."""
    written = [one for world in worlds() if world.name not in HELD_OUT for one in choices_of(world)]
    paragraphs = list(choices_in_paragraphs(open_encoder("minilm"), 0, data))
    return Material(read_pools(data, seed, [*written, *paragraphs[: len(written)]], shares), written, paragraphs)


def ranked(question: str, statements: Sequence[Read], pieces: Tokenizer, *, is_settled: bool) -> Ranked:
    """A question and its statements as word pieces, each after another one or by itself."""
    examples = [Example(_SOURCE, question, statement, before) for before, statement in statements]
    nothing_is_drawn = random.Random(0)  # only answers move a crop
    return Ranked(encode(examples, pieces, _LONGEST_STATEMENT, nothing_is_drawn), is_settled)


class Steps(IterableDataset[Step]):
    """Endless steps from round `first` on, of about `budget` word pieces in texts of at most `longest`."""

    def __init__(self, material: Material, pieces: Tokenizer, budget: int, longest: int, first: int) -> None:
        self._material = material
        self._pieces = pieces
        self._budget = budget
        self._longest = longest
        self._first = first

    def __iter__(self) -> Iterator[Step]:
        worker = get_worker_info()
        number, apart = (self._first + worker.id, worker.num_workers) if worker else (self._first, 1)
        while True:
            for examples in self._round(number):
                yield step_of(examples, self._questions(random.Random(f"{number}:{len(examples)}")))
            number += apart

    def _round(self, number: int) -> Iterator[list[Pieces]]:
        pools = self._material.pools
        draw = random.Random(f"{pools.seed}:{number}:steps")
        encoded = encode(pools.round(number), self._pieces, self._longest, draw)
        draw.shuffle(encoded)
        yield from cut(encoded, self._budget)

    def _questions(self, draw: random.Random) -> list[Ranked]:
        material = self._material
        made: list[Ranked] = []
        for _ in range(self._budget // _PIECES_A_QUESTION):
            if draw.random() < _PATHS:
                made.append(self._path(draw))
                continue
            if draw.random() < material.pools.shares.get("compared", 0.0):
                side = draw.choice(material.pools.compared)
                asked, is_settled = typed(side.question, draw), side.text is not None
                made.append(ranked(asked, side.ranked(draw), self._pieces, is_settled=is_settled))
                continue
            if draw.random() < _BLOCKS:
                near = draw.choice(material.pools.blocks)
                question, statements, is_settled = near.question, near.ranked(draw), bool(near.answers)
            else:
                one = draw.choice(material.written if draw.random() < _WRITTEN else material.paragraphs)
                question, statements, is_settled = one.question, drawn(one, draw), one.settling is not None
            texts = [("", statement) for statement in statements]
            made.append(ranked(typed(question, draw), texts, self._pieces, is_settled=is_settled))
        return made

    def _path(self, draw: random.Random) -> Ranked:
        """A question that needs two statements, among pairs of which one answers it or none."""
        one, is_settled = path(draw), draw.random() >= _UNSETTLED
        pairs = [one.right, *one.wrong] if is_settled else one.wrong
        return ranked(typed(one.question, draw), pairs, self._pieces, is_settled=is_settled)
