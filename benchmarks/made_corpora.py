"""Generates corpora of any size for measuring growth, with questions whose passages are known, and an encoder at almost no cost.

Passage number i is about thing number i. Its name, its sentences and the things that they name depend only on the seed and i,
so a corpus of any size streams in constant memory, and a chain of questions can be computed without it. Like real text:
words follow Zipf's law, and most belong to a topic; parts of names recur; nearly every page names some things, and hardly any
page others (the number of a named thing is log-uniform in half of the sentences that name one,
and close by in the others). Unlike real text: there is no grammar, and words mean nothing.

The encoder hashes words and knows neither meaning nor frequency; its identity says so.
"""

from __future__ import annotations

import hashlib
import json
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress

SEED = 20260401
DIMENSION = 384
SYLLABLES = tuple(first + rest for first in "bdfgklmnprstvz" for rest in ("a", "el", "in", "o", "ur"))
VOCABULARY = 50_000
TOPICS = 400
TOPIC_WORDS = 150
WORDS = (35, 65)  # minimum and maximum number of words in a passage besides those of sentences that name things
NEAR = 1000  # maximum distance between the numbers of a thing and one named because it is close by

RELATIONS = {
    "founder": "{s} was founded by {v}.",
    "teacher": "{s} was taught by {v}.",
    "neighbour": "{v} lies beside {s}.",
    "keeper": "The keeper of {s} is {v}.",
    "rival": "{s} has long been the rival of {v}.",
    "heir": "{v} is the heir of {s}.",
    "maker": "{s} was made by {v}.",
    "patron": "{v} paid for {s}.",
}
"""Relations that a sentence states between two things."""


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question that a thing answers; `supporting` are the ids of the passages of the hops, in order."""

    question: str
    supporting: tuple[str, ...]


@dataclass(frozen=True)
class MadeCorpus:
    """`size` passages. Those of a larger corpus differ, because any thing may be named in any passage."""

    size: int
    seed: int = SEED

    def passage(self, number: int) -> Passage:
        chance = random.Random(f"{self.seed} {self.size} {number}")
        named = self._named(number, chance)
        sentences = [f"{name_of(number)} is a {_word(chance.randrange(200))} of {_word(chance.randrange(2000))}."]
        words = self._words(chance)
        for relation, other in named.items():
            sentences.append(RELATIONS[relation].format(s=name_of(number), v=name_of(other)))
            cut = chance.randint(6, 18)
            sentences.append(_sentence(words[:cut]))
            words = words[cut:]
        sentences += [_sentence(words[start : start + 15]) for start in range(0, len(words), 15)]
        return Passage(_id(number), name_of(number), " ".join(sentences))

    def questions(self, number: int) -> Iterator[MadeQuestion]:
        """Questions of one, two and three hops in turn."""
        chance = random.Random(f"{self.seed} {self.size} questions")
        count = 0
        while count < number:
            question = self._question(count % 3 + 1, chance)
            if question is not None:
                yield question
                count += 1

    def _question(self, hops: int, chance: random.Random) -> MadeQuestion | None:
        """A question; None if the path returns to a thing that it has passed."""
        way = [chance.randrange(self.size)]
        subject = name_of(way[0])
        for _ in range(hops):
            relation, other = chance.choice(list(self._named(way[-1]).items()))
            subject = f"the {relation} of {subject}"
            way.append(other)
        if len(set(way)) < len(way):
            return None
        return MadeQuestion(f"Who is {subject}?", tuple(_id(number) for number in way[:-1]))

    def _named(self, number: int, chance: random.Random | None = None) -> dict[str, int]:
        """The things that a passage names, by relation: its first random choices."""
        chance = chance or random.Random(f"{self.seed} {self.size} {number}")
        relations = chance.sample(sorted(RELATIONS), chance.randint(2, 4))
        return {relation: self._other(number, chance) for relation in relations}

    def _other(self, number: int, chance: random.Random) -> int:
        if chance.random() < 0.5:
            return int(self.size ** chance.random()) % self.size
        return (number + chance.randint(1, min(NEAR, self.size - 1))) % self.size

    def _words(self, chance: random.Random) -> list[str]:
        count = chance.randint(*WORDS)
        topic = chance.randrange(TOPICS)
        ranks = [bisect_left(_zipf(VOCABULARY), chance.random()) for _ in range(count // 3)]
        about = [bisect_left(_zipf(TOPIC_WORDS), chance.random()) for _ in range(count - count // 3)]
        ranks += [(topic * 7919 + rank * 104_729) % VOCABULARY for rank in about]
        words = list(map(_word, ranks))
        chance.shuffle(words)
        return words


FEATURES = 4  # entries of a word in a vector: enough to distinguish words that share some


@dataclass(frozen=True)
class WordHashes:
    """Encodes a text as the sum of its words' vectors; each has FEATURES entries, chosen with signs by its hash. Words of fewer
    than three letters are left out, since nothing else reduces their weight.
    """

    dimension: int = DIMENSION
    _places: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @cached_property
    def identity(self) -> EncoderIdentity:
        name = "word-hashes: made for measuring growth, knows no meaning"
        return EncoderIdentity(name, hashlib.sha256(name.encode()).hexdigest(), self.dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        sums[:, 0] = 1e-3  # a text without words has a direction too
        for row, text in enumerate(texts):
            places = [self._of(word) for word in text.lower().replace(".", " ").split() if len(word) > 2]
            if places:
                counts = np.bincount(np.concatenate(places), minlength=2 * self.dimension)
                sums[row] += counts[: self.dimension] - counts[self.dimension :]
        if progress is not None:
            progress(len(texts), len(texts))
        unit: FloatMatrix = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return unit

    def _of(self, word: str) -> NDArray[np.int64]:
        """Entries of a word; those above the dimension count negative."""
        if word not in self._places:
            digest = np.frombuffer(hashlib.blake2b(word.encode(), digest_size=4 * FEATURES).digest(), dtype=np.uint32)
            self._places[word] = (digest % (2 * self.dimension)).astype(np.int64)
        return self._places[word]


def write_corpus(corpus: MadeCorpus, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(corpus.size):
            file.write(json.dumps(asdict(corpus.passage(number))) + "\n")


def _id(number: int) -> str:
    return f"m{number}"


def name_of(number: int) -> str:
    """Two words, different for different numbers below the square of the number of two-syllable words, then three."""
    base = len(SYLLABLES) ** 2
    rest, last = divmod(number, base)
    # A step without a common factor with the base spreads numbers that lie close over different words.
    last = last * 1789 % base
    parts = [_syllables(last, 2)]
    while True:
        rest, part = divmod(rest, base)
        parts.append(_syllables((part * 1097 + last * 31 + 7) % base, 2))
        if not rest:
            return " ".join(part.capitalize() for part in reversed(parts))


@cache
def _word(rank: int) -> str:
    """The word of a rank: frequent ones are short."""
    return _syllables(rank, 1 if rank < len(SYLLABLES) else 0) + ("" if rank < len(SYLLABLES) else "sh")


def _syllables(number: int, least: int) -> str:
    text = ""
    while number or least > 0:
        number, place = divmod(number, len(SYLLABLES))
        text += SYLLABLES[place]
        least -= 1
    return text


def _sentence(words: list[str]) -> str:
    return f"{' '.join(words).capitalize()}." if words else ""


@cache
def _zipf(size: int) -> list[float]:
    """Cumulative shares of the words of rank 0, 1, ..."""
    shares = list(accumulate(1 / (rank + 2) ** 1.05 for rank in range(size)))
    return [share / shares[-1] for share in shares]
