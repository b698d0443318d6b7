"""Selects the training examples: pools of examples, and the proportions of each round.

A round depends only on the seed and its number, so that an interrupted run continues with the same examples.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from hoptrail.models.networks import fingerprint
from training import compared, made, sources
from training.contrast import blocks, worlds
from training.contrast.changed import alone
from training.contrast.made import pair
from training.contrast.paths import path
from training.examples import Example, is_kept_for_validation
from training.linked import Links, linked, links_of
from training.made import Distractors, Fact, as_typed, facts, stated
from training.manuals import manual
from training.statements import Choice
from training.written import written

ROUND = 1000  # examples
SHARES: Mapping[str, float] = {
    "alone": 0.246, "pairs": 0.1, "paths": 0.13, "blocks": 0.13,
    "worlds": 0.03, "written": 0.1, "reading": 0.05, "sentences": 0.012, "steps": 0.018, "whole": 0.009, "after": 0.05,
    "yes_no": 0.021, "helps": 0.006,
    "rows": 0.006, "linked": 0.06, "manuals": 0.003, "stated": 0.006, "unanswerable": 0.015, "without_answer": 0.008,
}  # fmt: skip
"""Proportions of a round, by pool. The first four are made group by group, the pools after `helps` derived from the others."""
VALUE_SHARES = {"compared": 0.6, **{pool: 0.4 * share for pool, share in SHARES.items()}}
"""Those of the reader of values that are compared; its own pool is made group by group, too."""
GROUP = 4  # examples of a pair, or of a question with its statements, that a round takes

EVALUATED = ("2wiki", "2wiki_context", "hotpotqa", "musique", "multihoprag", "strategyqa")
"""The evaluation sets, whose passages are excluded from training."""

MULTI_HOP = ("hotpotqa_train", "2wiki_train", "musique_train")
READING = "reading_train"


@dataclass(frozen=True, slots=True)
class Pools:
    """Examples by pool, in an order that depends on the seed; validation examples apart; and the material of derived ones."""

    training: Mapping[str, Sequence[Example]]
    validation: Mapping[str, Sequence[Example]]
    kinds: made.Kinds
    distractors: Distractors
    facts: Sequence[Fact]
    links: Links
    choices: Sequence[Choice]
    blocks: Sequence[blocks.Asked]
    compared: Sequence[compared.Compared]
    seed: int
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)

    def round(self, number: int) -> list[Example]:
        """The examples of round `number`, from 0."""
        draw = random.Random(f"{self.seed}:{number}")
        drawn: list[Example] = []
        for pool, share in self.shares.items():
            count = round(ROUND * share)
            drawn += (self._make(pool, place, draw) for place in range(number * count, (number + 1) * count))
        draw.shuffle(drawn)
        return [as_typed(example, draw) for example in drawn]

    def _make(self, pool: str, place: int, draw: random.Random) -> Example:
        if pool in {"alone", "pairs", "paths", "blocks", "compared"}:
            group = random.Random(f"{self.seed}:{pool}:{place // GROUP}")
            examples = self._group(pool, place // GROUP, group)
            group.shuffle(examples)
            return examples[place % GROUP % len(examples)]
        if pool == "rows":
            return made.row(self.kinds, draw)
        if pool == "manuals":
            return manual(draw)
        if pool == "linked":
            return linked(self.links, self.kinds, self.distractors, draw)
        if pool == "stated":
            return stated(draw.choice(self.facts), self.facts, draw)
        if pool == "unanswerable":
            origin = draw.choices(("reading", "sentences", "yes_no", "steps"), (4, 2, 2, 2))[0]
            return made.unanswerable(draw.choice(self.training[origin]), self.distractors, draw)
        if pool == "without_answer":
            example = draw.choice(self.training["reading"])
            return made.without_answer(example) or made.unanswerable(example, self.distractors, draw)
        return self.training[pool][place % len(self.training[pool])]

    def _group(self, pool: str, number: int, draw: random.Random) -> list[Example]:
        if pool == "alone":
            return alone(self.choices[number % len(self.choices)], draw)
        if pool == "blocks":
            return self.blocks[number % len(self.blocks)].examples(draw)
        if pool == "compared":
            return self.compared[number % len(self.compared)].examples(draw)
        return pair(draw) if pool == "pairs" else path(draw).examples


def read_pools(data: Path, seed: int, choices: Sequence[Choice], shares: Mapping[str, float] = SHARES) -> Pools:
    """All training examples from the folder with the training sets, and those made of `choices`."""
    pools = ("worlds", "written", "reading", "sentences", "steps", "whole", "after", "yes_no", "helps")
    read: dict[str, list[Example]] = {pool: [] for pool in pools}
    read["worlds"] += worlds.learned()
    read["written"] += written()
    for pool, example in sources.spans(data / READING):
        read[pool].append(example)
    read["yes_no"] += sources.judgements(data / READING)
    names, known, sides = list[str](), list[Fact](), compared.learned()
    held_out = {fingerprint(passage["text"]) for name in EVALUATED for passage in sources.corpus_of(data / name)}
    for folder in MULTI_HOP:
        multi_hop = sources.read_multi_hop(data / folder, held_out)
        read["steps"] += sources.steps(multi_hop)
        read["helps"] += sources.helping(multi_hop)
        read["after"] += sources.after_others(multi_hop)
        for example in sources.whole_questions(multi_hop):
            read["whole" if example.verdict is None else "yes_no"].append(example)
        sides += (*compared.of_steps(multi_hop), *compared.of_passages(multi_hop, seed))
        names += (str(passage["title"]) for passage in multi_hop.passages.values())
        known += facts(multi_hop)
    for pool, examples in read.items():
        random.Random(f"{seed}:{pool}").shuffle(examples)
    training, validation = (
        {
            pool: [example for example in examples if is_kept_for_validation(example.text) == kept]
            for pool, examples in read.items()
        }
        for kept in (False, True)
    )
    kinds = made.kinds_of(chain(training["reading"], training["sentences"]), names)
    texts = [example.text for pool in ("reading", "sentences", "yes_no", "helps") for example in training[pool]]
    links = links_of(chain(training["reading"], training["sentences"]))
    chosen = random.Random(f"{seed}:choices").sample(choices, len(choices))
    near = blocks.learned()
    random.Random(f"{seed}:blocks").shuffle(near)
    random.Random(f"{seed}:compared").shuffle(sides)
    return Pools(training, validation, kinds, Distractors.of(texts), known, links, chosen, near, sides, seed, shares)
