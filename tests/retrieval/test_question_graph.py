"""The part of a corpus that a question's path lies in: like the whole where it is, counted as the whole, and current."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.errors import UsageError
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.adaptive import AdaptiveSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.frontier import FRONTIER, FrontierSettings, search_frontier
from hoptrail.retrieval.hybrid import HybridSearchSettings
from hoptrail.retrieval.known_passages import KnownPassages
from hoptrail.retrieval.passage_graph import PassageGraph
from hoptrail.retrieval.path_candidates import CandidateSettings, names_asked
from hoptrail.retrieval.path_features import Described
from hoptrail.retrieval.paths import PathSettings, describe, find_paths, search_paths
from hoptrail.retrieval.question_graph import PartSettings
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.keyword_statistics import passage_keywords
from hoptrail.structures.mentions import MentionSettings, TitleMentions
from hoptrail.structures.sentences import Sentences
from hoptrail.types import Document, Kind
from structures.site import Site
from world import FACTS, HashingEncoder, make_document

QUESTION = "Which river flows through the birthplace of the designer of the Tallow Bridge?"
CHAIN = {
    "Quorn Light": "Quorn Light was built by Edda Vale in 1902.",
    "Edda Vale": "Edda Vale grew up in Hollin.",
    "Hollin": "Hollin lies on the Sarn.",
    "Sarn": "The Sarn is known for its salmon.",
}
CHAIN_QUESTION = "What is the water beside the home town of the builder of Quorn Light known for?"
CHAIN_STEPS = ["Who built Quorn Light?", "Where did #1 grow up?", "What does #2 lie on?", "What is #3 known for?"]
QUESTIONS = (QUESTION, CHAIN_QUESTION, "Dunmere?", "Was Orla Finch older than Mill 7?", "???", "川")
SMALL = PartSettings(found=4, reached=6)


def filler(number: int) -> Document:
    """A page that shares names with its neighbours, words with most others, and nothing with the question."""
    text = f"Mill {number} was built beside Mill {number + 1}. Its miller was Anna Reed. Flour was sold in Lindeth."
    return make_document(f"Mill {number}", text)


DOCUMENTS = [make_document(title, text) for title, text in (FACTS | CHAIN).items()]
DOCUMENTS += [filler(number) for number in range(60)]


def opened(folder: Path, documents: list[Document], terms_above: int) -> Corpus:
    site = Site(folder)
    site.build(*structures(terms_above), add=documents, language=OfflineLanguage())
    return Corpus(site.snapshot, HashingEncoder)


def structures(terms_above: int) -> tuple[Extractions, Sentences, TitleMentions]:
    return Extractions(), Sentences(), TitleMentions(MentionSettings(terms_above))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return opened(tmp_path_factory.mktemp("whole"), DOCUMENTS, 1000)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return opened(tmp_path_factory.mktemp("large"), DOCUMENTS, 0)


def described(corpus: Corpus, question: str, part: PartSettings | None = None) -> Described:
    found = describe(corpus, question, CandidateSettings(), None, part)
    assert found is not None
    return found


def test_where_the_part_is_all_there_is_the_same_paths_are_found(whole: Corpus, large: Corpus) -> None:
    assert large.snapshot.has_terms
    assert not whole.snapshot.has_terms
    everything = PathSettings(part=PartSettings(found=100))
    for question in QUESTIONS:
        ours, theirs = (find_paths(corpus, question, 8, everything) for corpus in (large, whole))
        assert [(path.hit, path.passages, path.crossings) for path in ours] == [
            (path.hit, path.passages, path.crossings) for path in theirs
        ]
        likelihoods = np.array([[path.likelihood for path in paths] for paths in (ours, theirs)])
        assert (
            np.ptp(likelihoods, axis=0).max(initial=0) < 0.02
        )  # sums of words and products of vectors are rounded differently


def test_a_small_part_holds_the_trail_past_the_second_hop(whole: Corpus, large: Corpus) -> None:
    settings = PathSettings(part=SMALL, least_link=0.0)
    part = describe(large, CHAIN_QUESTION, settings.candidates, CHAIN_STEPS, SMALL)
    assert part is not None
    assert len(part.scores.graph.passages) < len(DOCUMENTS) / 2
    paths = find_paths(large, CHAIN_QUESTION, 4, settings, CHAIN_STEPS)
    assert {path.hit.unit.title for path in paths} == set(CHAIN)
    assert any(path.crossings for path in paths)
    expected = find_paths(whole, CHAIN_QUESTION, 4, settings, CHAIN_STEPS)
    assert [(path.passages, path.crossings) for path in paths] == [(path.passages, path.crossings) for path in expected]


def test_the_part_is_counted_as_the_whole(whole: Corpus, large: Corpus) -> None:
    everything = PassageGraph.of(whole.snapshot)
    keywords = passage_keywords(whole.snapshot)
    for question in QUESTIONS:
        scores = described(large, question, SMALL).scores
        graph = scores.graph
        assert graph.size == len(everything.passages)
        for number, name in enumerate(graph.names):
            if len(graph.namers.at(number)) > 1 or len(graph.owners.at(number)):
                assert graph.counts[number] == everything.counts[everything.number(name)], name
        assert scores.document_frequencies.tolist() == [keywords.frequency(word) for word in scores.queries.words]
        rows = [everything.row(unit.id) for unit in graph.passages]
        best = np.maximum(keywords.scores(question).max(), 1e-9)
        assert np.allclose(scores.keywords[:, 0], keywords.scores(question)[rows] / best, atol=1e-6)
        asked = {everything.names[number] for number in names_asked(question, everything)}
        assert {graph.names[number] for number in scores.asked} == asked


def test_sentences_and_their_names_are_those_of_the_whole(whole: Corpus, large: Corpus) -> None:
    everything = PassageGraph.of(whole.snapshot)
    graph = described(large, QUESTION, SMALL).scores.graph
    for row, unit in enumerate(graph.passages):
        other = everything.row(unit.id)
        for ours, theirs in zip(sentences_of(graph, row), sentences_of(everything, other), strict=True):
            assert graph.text(ours) == everything.text(theirs)
            assert {graph.names[n] for n in graph.names_in.at(ours)} <= {
                everything.names[n] for n in everything.names_in.at(theirs)
            }
            assert np.array_equal(graph.sentence_vectors[ours], everything.sentence_vectors[theirs])
        assert np.array_equal(graph.passage_vectors[row], everything.passage_vectors[other])


def sentences_of(graph: PassageGraph, row: int) -> list[int]:
    return sorted(graph.sentences.at(row).tolist(), key=lambda sentence: graph.spans[sentence])


def test_what_is_added_is_found_and_what_is_removed_is_not(tmp_path: Path) -> None:
    site = Site(tmp_path)
    bridge = next(document for document in DOCUMENTS if document.title == "Tallow Bridge")
    language = OfflineLanguage()
    site.build(*structures(0), add=[one for one in DOCUMENTS if one is not bridge], language=language)
    settings = PathSettings(part=SMALL)
    titles = [hit.unit.title for hit in search_paths(Corpus(site.snapshot, HashingEncoder), QUESTION, 5, settings)]
    assert "Tallow Bridge" not in titles
    site.build(*structures(0), add=[bridge], language=language)
    titles = [hit.unit.title for hit in search_paths(Corpus(site.snapshot, HashingEncoder), QUESTION, 5, settings)]
    assert {"Tallow Bridge", "Orla Finch"} <= set(titles)
    site.build(Extractions(), Sentences(), remove=[bridge], language=language)  # its names are still counted
    titles = [hit.unit.title for hit in search_paths(Corpus(site.snapshot, HashingEncoder), QUESTION, 5, settings)]
    assert "Tallow Bridge" not in titles
    assert "Orla Finch" in titles


def test_a_frontier_is_the_same_by_look_ups(whole: Corpus, large: Corpus) -> None:
    settings = FrontierSettings(depth=3, namers=5, adaptive=AdaptiveSettings(budget=12, batch=3))
    for question in QUESTIONS[:3]:
        found = search_frontier(large, question, 10, HybridSearchSettings(), settings)
        assert found == search_frontier(whole, question, 10, HybridSearchSettings(), settings)
        assert any(hit.channel == FRONTIER for hit in found)


def test_only_the_first_passage_of_a_document_has_its_title(tmp_path: Path) -> None:
    filling = " ".join(f"Verse {number} praises the wind." for number in range(200))
    long = make_document("Sarn", f"The Sarn is a river. {filling} The end speaks of Hollin.")
    others = [make_document("Sarn (song)", "The Sarn is also a song."), make_document("Hollin", CHAIN["Hollin"])]
    corpus = opened(tmp_path, [long, *others], 0)
    passages = sorted(
        (unit for unit in corpus.snapshot.units(Kind.PASSAGE) if unit.document == long.id),
        key=lambda unit: unit.sources[0].start,
    )
    known = KnownPassages(corpus.snapshot)
    known.read_names([unit.id for unit in passages])
    first, *_, last = ({key for key, _ in known.named(unit.id)} for unit in passages)
    assert "sarn" in first
    assert "sarn" not in last
    assert "hollin" in last
    graph = PassageGraph.of(corpus.snapshot)
    for unit in passages:
        named = {graph.names[number] for number in graph.named_by.at(graph.row(unit.id))}
        assert {key for key, _ in known.named(unit.id)} <= named


def test_a_part_needs_something_found() -> None:
    with pytest.raises(UsageError, match="found"):
        PartSettings(found=0)
