"""Features beside their plain definition, one candidate and one pair at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
import pytest

from hoptrail.corpus.keywords import keyword_words
from hoptrail.models.encoder import unit_length
from hoptrail.retrieval.paths import features
from hoptrail.retrieval.paths.candidates import find_candidates
from hoptrail.retrieval.paths.features import PAIR_FEATURES, PASSAGE_FEATURES, REPEATED, CandidateFeatures
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.text.words import stem, words
from hoptrail.types import Unit
from retrieval.paths.plain import QUESTION, SETTINGS, STEPS, Made

Weights = dict[str, float]


@dataclass(frozen=True)
class Occurrence:
    """Where a candidate has a name: a sentence, and the position of the first with it (-1: only the title has it)."""

    sentence: Unit
    position: int
    called: bool


class PlainFeatures:
    """The features of the candidates of a question, computed one by one; candidates go by their place."""

    def __init__(self, made: Made) -> None:
        self.made, self.plain = made, made.plain
        self.found = find_candidates(made.scores, made.corpus.encoder, SETTINGS)
        self.rows: list[int] = self.found.rows.tolist()
        self.asked = {made.scores.graph.name(number) for number in made.scores.asked}
        self.units = [self.plain.units[row] for row in self.rows]
        self.question = self.plain.asked_vectors[0]

    @cached_property
    def described(self) -> CandidateFeatures:
        return CandidateFeatures(self.made.scores, self.found)

    @cached_property
    def weights(self) -> tuple[Weights, Weights]:
        """The weight of each stem in coverage, and in coverage of the relation."""
        size, idf = len(self.plain.units), Weights()
        for word in self.plain.queries.words:
            having = sum(word in keyword_words(unit.searchable) for unit in self.plain.units)
            idf.setdefault(stem(word), math.log(1 + (size - having + 0.5) / (having + 0.5)))
        in_names = {stem(word) for name in self.asked for word in name.split()}
        relation = {key: 0 if key in in_names else value for key, value in idf.items()}
        assert 0 < sum(relation.values()) < sum(idf.values())
        return tuple({k: v / sum(part.values()) for k, v in part.items()} for part in (idf, relation))  # type: ignore[return-value]

    def covered(self, weights: Weights, *texts: str) -> float:
        """The weight of the stems that the texts have together."""
        return sum(weights.get(key, 0.0) for key in {stem(word.text) for text in texts for word in words(text)})

    def sentences(self, place: int) -> list[Unit]:
        return self.plain.sentences[self.rows[place]]

    def best(self, place: int, value: Callable[[Unit], float]) -> float:
        """The highest value of a candidate's sentences, 0 without any."""
        return max(map(value, self.sentences(place)), default=0.0)

    def bridged(self, place: int, bridge: int) -> float:
        vector = self.found.bridge_vectors[bridge]
        cosine = float(self.plain.vectors[self.rows[place]] @ vector)
        return max(cosine, self.best(place, lambda one: float(self.plain.said[one.id] @ vector)))

    def nearness(self, sentence: Unit) -> float:
        return float(max(self.plain.asked_vectors @ self.plain.said[sentence.id]))

    def passage(self, place: int) -> dict[str, float]:
        """The features of a candidate by name, as shares where others have to be known."""
        row, unit, plain, scores = self.rows[place], self.units[place], self.plain, self.made.scores
        queries, shares, direct = plain.queries, scores.shares()[self.rows[place]], self.found.direct
        steps = range(1, len(queries.texts))
        bridged = [
            max(
                [
                    0.0,
                    *(
                        self.bridged(at, number)
                        for number, one in enumerate(self.found.bridges)
                        if self.has(at, one.name)
                    ),
                ]
            )
            for at in range(len(self.rows))
        ]
        covered, relation = self.weights
        sentence = scores.sentences[row]
        return {
            "words": scores.keywords[row, 0], "cosine": scores.passages[row, 0], "sentence cosine": sentence[0],
            "direct": direct[row], "promise": self.found.promise[place],
            "direct rank": math.log1p(sorted(range(len(direct)), key=lambda other: (-direct[other], other)).index(row)),
            "step words": max(scores.keywords[row, at] for at in steps),
            "step cosine": max(scores.passages[row, at] for at in steps),
            "step sentence cosine": max(sentence[at] for at in steps), "step": max(shares[at] for at in steps),
            "standing step": max(shares[at] for at in queries.self_contained),
            "referring step": max(shares[at] for at in queries.referring),
            "standing sentence cosine": max(sentence[at] for at in queries.self_contained),
            "named": float(plain.titles[row] in self.asked),
            "coverage": self.best(place, lambda one: self.covered(covered, one.text, unit.title)),
            "relation coverage": self.best(place, lambda one: self.covered(relation, one.text)),
            "sentences": len(self.sentences(place)),
            "named elsewhere": math.log1p(len(plain.namers[plain.titles[row] or ""])),
            "bridged": bridged[place], "bridged share": bridged[place] / max(bridged),
            "promise share": self.found.promise[place] / max(self.found.promise),
        }  # fmt: skip

    def has(self, place: int, name: int) -> bool:
        return self.rows[place] in self.plain.passages_with(self.made.scores.graph.name(name))

    def occurrences(self, chosen: set[int]) -> dict[str, dict[int, Occurrence]]:
        """For each name the candidates that have it: in their sentence with it that is nearest to a query, or as title."""
        found: defaultdict[str, dict[int, Occurrence]] = defaultdict(dict)
        for place in sorted(chosen):
            sentences, title = self.sentences(place), self.plain.titles[self.rows[place]]
            for name in self.plain.mentioned(self.rows[place]):
                having = [at for at, one in enumerate(sentences) if name in self.plain.names[one.id]]
                nearest = max((sentences[at] for at in having), key=self.nearness)
                found[name][place] = Occurrence(nearest, having[0], called=name == title)
            if title and title not in self.plain.mentioned(self.rows[place]) and sentences:
                found[title][place] = Occurrence(self.lead(place), -1, called=True)
        return found

    def lead(self, place: int) -> Unit:
        return max(self.sentences(place), key=self.nearness)

    def worth(self, name: str) -> float:
        """How much a name says that joins two candidates."""
        rarity = math.log((len(self.plain.units) + 1) / (1 + len(self.plain.namers[name]))) / 10
        return rarity - 1.5 * (name in self.asked) + 0.8 * (name in self.bridging)

    @cached_property
    def bridging(self) -> set[str]:
        return {bridge.text for bridge in self.found.bridges}

    def joined(self, chosen: set[int]) -> dict[tuple[int, int], str]:
        """The most informative name of each pair of candidates that some name joins."""
        best: dict[tuple[int, int], tuple[float, str]] = {}
        for name, having in sorted(self.occurrences(chosen).items()):
            common = len(self.plain.namers[name]) > features.COMMON and name not in self.bridging
            for one, other in permutations(having, 2):
                first, second = having[one].called, having[other].called
                if (first and second) or (common and not first and not second):
                    continue
                value = self.worth(name) + (2 if second else 1 if first else 0)
                if value > best.get((one, other), (-math.inf, ""))[0]:
                    best[one, other] = value, name
        return {pair: name for pair, (_, name) in best.items()}

    def pair(self, first: int, second: int, name: str, having: dict[int, Occurrence]) -> dict[str, float]:
        """The features of a pair by name, without the scores of the first stage."""
        plain, (covered, relation), question = self.plain, self.weights, self.question
        a, one, other = having[first].sentence, self.units[first], self.units[second]
        b = self.lead(second) if having[second].called else having[second].sentence
        in_a, in_b = (a.text, one.title), (b.text, other.title)
        whole = [
            (unit.title, *(said.text for said in self.sentences(at))) for at, unit in ((first, one), (second, other))
        ]
        near, far = (plain.vectors[self.rows[place]] for place in (first, second))
        said = [plain.said[sentence.id] for sentence in (a, b)]
        both, shares = (
            self.covered(covered, *in_a, *in_b),
            self.made.scores.shares()[[self.rows[first], self.rows[second]]],
        )
        passages, edges = self.covered(covered, *whole[0], *whole[1]), plain.queries.edges
        cosines = [[float(vector @ asked) for asked in plain.asked_vectors] for vector in said]
        return {
            "called": float(having[second].called), "named by": math.log1p(len(plain.namers[name])),
            "position": having[first].position, "first sentence cosine": cosines[0][0], "coverage": both,
            "gain over first": both - self.covered(covered, *in_a),
            "gain over second": both - self.covered(covered, *in_b), "passage coverage": passages,
            "passage gain over first": passages - self.covered(covered, *whole[0]),
            "passage gain over second": passages - self.covered(covered, *whole[1]),
            "relation coverage": self.covered(relation, a.text, b.text),
            "cosine of both": float(unit_length(near + far) @ question), "cosine between": float(near @ far),
            "cosine of both sentences": float(unit_length(said[0] + said[1]) @ question),
            "steps": max(0, *(shares[0, before] + shares[1, step] for before, step in edges)),
            "step sentences": max(0, *(cosines[0][before] + cosines[1][step] for before, step in edges)),
            "residual cosine": float(unit_length(question - (near @ question) * near) @ far),
            "sharing": len(having), **self.bridged_pair(second, name),
        }  # fmt: skip

    def bridged_pair(self, second: int, name: str) -> dict[str, float]:
        """Of the queries with this name put into a step, the one nearest to the second."""
        bridges = [(self.bridged(second, at), one) for at, one in enumerate(self.found.bridges) if one.text == name]
        near, bridge = max(bridges, key=lambda pair: pair[0], default=(0.0, None))
        if bridge is None or near <= 0:
            return {"bridged": 0.0, "promise": 0.0, "bridged gain": 0.0}
        bare = self.made.scores.sentences[self.rows[second], bridge.step]
        return {"bridged": near, "promise": bridge.promise, "bridged gain": near - bare}


TITLED = "Which tower or garden praised the designer of the Amber Mill?"
"""Some titles have words of the relation, and the step that refers is nearer to some sentences than what stands alone."""
TITLED_STEPS = ("Who designed the Amber Mill?", "The Willow Tower praised the Copper Garden in #1")


@pytest.fixture(scope="module", params=[(QUESTION, STEPS), (TITLED, TITLED_STEPS)], ids=["names", "titles"])
def plain(made: Made, request: pytest.FixtureRequest) -> PlainFeatures:
    question, steps = request.param
    return PlainFeatures(Made.asked(made.corpus, made.documents, PathQueries.of(question, steps)))


def test_every_candidate_has_the_features_as_defined(plain: PlainFeatures) -> None:
    values = plain.described.passages
    assert plain.found.bridges
    assert any(not plain.sentences(place) for place in range(len(plain.rows)))
    for place in range(len(plain.rows)):
        expected = plain.passage(place)
        assert sorted(expected) == sorted(PASSAGE_FEATURES)
        assert dict(zip(PASSAGE_FEATURES, values[place].tolist(), strict=True)) == pytest.approx(expected, abs=2e-5)


def test_no_feature_of_candidates_is_the_same_for_all(plain: PlainFeatures) -> None:
    """Else the comparison would prove nothing of it."""
    spread = plain.described.passages.max(axis=0) - plain.described.passages.min(axis=0)
    assert (spread > 1e-3).all()


@pytest.mark.parametrize("common", [60, 6])
def test_every_pair_has_the_features_as_defined(
    plain: PlainFeatures, common: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among some of the candidates, and those alone."""
    monkeypatch.setattr(features, "COMMON", common)
    chosen = {place for place in range(len(plain.rows)) if plain.sentences(place) and place % 5 < 2}
    titles = [plain.plain.titles[plain.rows[place]] for place in chosen]
    assert len(set(titles)) < len(titles), "there are namesakes, which their common title does not join"
    scored = np.random.default_rng(2).random(len(plain.rows)).astype(np.float32)
    pairs = plain.described.pairs(np.array(sorted(chosen)), scored)
    names, having = plain.joined(chosen), plain.occurrences(chosen)
    found = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert found == sorted(names)
    assert [plain.made.scores.graph.name(name) for name in pairs.names] == [names[pair] for pair in found]
    ranks = {
        place: math.log1p(rank) for rank, place in enumerate(sorted(range(len(scored)), key=lambda at: -scored[at]))
    }
    for (first, second), values in zip(found, pairs.values.tolist(), strict=True):
        name = names[first, second]
        expected = plain.pair(first, second, name, having[name])
        expected |= {"first score": scored[first], "second score": scored[second]}
        expected |= {"first rank": ranks[first], "second rank": ranks[second]}
        for side, place in (("first", first), ("second", second)):
            own = dict(zip(PASSAGE_FEATURES, plain.described.passages[place].tolist(), strict=True))
            expected |= {f"{side} {feature}": own[feature] for feature in REPEATED}
        assert dict(zip(PAIR_FEATURES, values, strict=True)) == pytest.approx(expected, abs=2e-5)


def test_common_names_join_fewer_pairs(plain: PlainFeatures, monkeypatch: pytest.MonkeyPatch) -> None:
    every = set(range(len(plain.rows)))
    scored = np.zeros(len(plain.rows), dtype=np.float32)
    sizes = []
    for common in (60, 6, 0):
        monkeypatch.setattr(features, "COMMON", common)
        sizes.append(len(plain.described.pairs(np.array(sorted(every)), scored).first))
    assert sizes[0] > sizes[1] > sizes[2] > 0
