"""Each ablation of each paper changes what it should and nothing else, held against the full system on one small corpus."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import (
    Assess,
    Clarify,
    Complete,
    Decompose,
    Decomposition,
    Integrate,
    Read,
    Reading,
    Recall,
    Reply,
    Sample,
    Samples,
    Task,
)
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Answer, Kind, Usage
from hoptrail_papers.chainrag.chainrag import Chainrag, ChainragSettings
from hoptrail_papers.chainrag.sentence_graph import KINDS
from hoptrail_papers.comprag.comprag import Comprag
from hoptrail_papers.comprag.graph import LocalGraph, local_graph
from hoptrail_papers.comprag.question_triples import Pattern
from hoptrail_papers.hirag.hirag import Hirag, HiragSettings
from hoptrail_papers.hirag.rethinking import FALLBACK
from hoptrail_papers.presets import shipped_papers
from hoptrail_papers.sunar.adaptive import AdaptiveSettings
from hoptrail_papers.sunar.sunar import Sunar
from recipes.presets_world import build


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("presets"))


class Doubtful:
    """Asks the sub-questions it is given, finds nothing enough, and answers none of them; keeps the tasks it was given. Its
    samples are `meanings`, or none.
    """

    name = "doubtful"

    def __init__(self, *questions: str, meanings: tuple[str, ...] = ()) -> None:
        self.questions = questions
        self.meanings = meanings
        self.tasks: list[Task[Any]] = []

    def perform(self, task: Task[Any]) -> Reply[Any]:
        self.tasks.append(task)
        return Reply(self._reply(task), Usage(calls=1))

    def _reply(self, task: Task[Any]) -> Any:
        match task:
            case Decompose(one_at_a_time=True, findings=findings):
                return Decomposition(self.questions[len(findings) : len(findings) + 1])
            case Decompose():
                return Decomposition(self.questions)
            case Complete(question=question) | Clarify(question=question):
                return question
            case Assess():
                return 0.0
            case Sample():
                return Samples(self.meanings or (None,))
        return Reading(None)

    def reads(self) -> list[tuple[str, ...]]:
        """What each reading was handed: kinds and ids."""
        return [tuple(unit.id for unit in task.evidence) for task in self.tasks if isinstance(task, Read)]

    def kinds(self) -> set[Kind]:
        return {unit.kind for task in self.tasks if isinstance(task, Read) for unit in task.evidence}


def hirag(corpus: Corpus, preset: str, question: str, **rethink: Any) -> tuple[Doubtful, Answer]:
    settings: HiragSettings = Hirag.presets[preset]
    language = Doubtful(question)
    changed = replace(settings, rethink=replace(settings.rethink, **({"memory": False} | rethink)))
    return language, Hirag(corpus, language, changed).answer(question)


MILLS = "Who owns the Kestrel Mill or the Harrow Mill?"
FORGES = "Who sold the Abel Forge or the Bess Forge?"


def pages_of(language: Doubtful) -> list[str]:
    """The documents that each reading's first unit is from."""
    return [task.evidence[0].document for task in language.tasks if isinstance(task, Read)]


def test_hirag_loses_with_each_rethinking_the_attempts_that_are_its_own(corpus: Corpus) -> None:
    read = {
        name: pages_of(hirag(corpus, name, FORGES)[0])
        for name in ("paper", "no-chunk-rethink", "no-document-rethink", "no-rethink")
    }
    assert len(read["paper"]) == 4
    assert len(set(read["paper"])) < 4, "several chunks of a page"
    assert len(set(read["paper"])) > 1, "and of several pages"
    assert len(set(read["no-chunk-rethink"])) == len(read["no-chunk-rethink"]) > 1, "one chunk a page"
    assert set(read["no-document-rethink"]) == set(read["paper"][:1])
    assert len(read["no-document-rethink"]) > 1
    assert read["no-rethink"] == read["paper"][:1]
    assert all(pages[0] == read["paper"][0] for pages in read.values()), "the first attempt is the same"


@pytest.mark.parametrize("preset", ["paper", "no-chunk-rethink", "no-document-rethink", "no-rethink", "no-profile"])
def test_hirag_concludes_from_no_page_that_it_did_not_read(preset: str, corpus: Corpus) -> None:
    """What an ablation does not read would come back in the end, when a question must not be left open."""
    language, answer = hirag(corpus, preset, FORGES)
    (task,) = [task for task in language.tasks if isinstance(task, Integrate)]
    read = {unit.id for task in language.tasks if isinstance(task, Read) for unit in task.evidence}
    sources = {
        span for task in language.tasks if isinstance(task, Read) for unit in task.evidence for span in unit.sources
    }
    assert task.evidence
    for unit in task.evidence:
        assert unit.id in read or any(span.covers(source) for span in unit.sources for source in sources)
    assert {unit.document for unit in task.evidence} == set(pages_of(language))
    assert {hit.unit.document for hit in answer.ranking} > set(pages_of(language)), "more was found"


def test_hirag_without_profiles_reads_the_same_chunks_alone(corpus: Corpus) -> None:
    full, bare = (hirag(corpus, name, MILLS)[0] for name in ("paper", "no-profile"))
    assert full.kinds() == {Kind.PASSAGE, Kind.PROFILE}
    assert bare.kinds() == {Kind.PASSAGE}
    assert [read[0] for read in full.reads()] == [read[0] for read in bare.reads()]


def test_hirag_asks_another_engine_only_for_ambiguous_names(corpus: Corpus) -> None:
    def asked(preset: str, question: str) -> tuple[int, bool]:
        language, answer = hirag(corpus, preset, question)
        return len(language.reads()), any(hit.channel == FALLBACK for hop in answer.trail for hit in hop.hits)

    isk = "How long is the Isk?"
    assert asked("paper", isk)[1]
    assert not asked("no-enrichment", isk)[1]
    assert asked("paper", isk)[0] == asked("no-enrichment", isk)[0] + 1
    assert not asked("paper", MILLS)[1]
    assert asked("fallback", MILLS) == (asked("paper", MILLS)[0] + 1, True)


def test_hirag_asks_memory_by_equation_seven(corpus: Corpus) -> None:
    def recalls(preset: str) -> int:
        asked = 0
        for seed in range(20):
            language = Doubtful(MILLS)
            settings = Hirag.presets[preset]
            Hirag(corpus, language, replace(settings, rethink=replace(settings.rethink, seed=seed))).answer(MILLS)
            asked += sum(isinstance(task, Recall) for task in language.tasks)
        return asked

    assert 10 <= recalls("paper") <= 40, "(.04 + .16 + .36 + .64) a sub-question"
    assert recalls("reference") > 0 == recalls("no-memory")


SUBS = ("Who built the Abel Forge?", "Where was #1 born?")


def chainrag(corpus: Corpus, preset: str, *questions: str) -> tuple[Doubtful, Answer]:
    settings: ChainragSettings = Chainrag.presets[preset]
    language = Doubtful(*(questions or SUBS))
    few = replace(settings.search, context_k=1, seed_k=1, expansions=min(1, settings.search.expansions))
    return language, Chainrag(corpus, language, replace(settings, search=few, carried_words=0)).answer("?")


def around(corpus: Corpus, kind: str) -> dict[str, set[str]]:
    """The sentences that links of a kind lead to, from each."""
    found: dict[str, set[str]] = {}
    for link in corpus.snapshot.links(kind):
        found.setdefault(link.source, set()).add(link.target)
        found.setdefault(link.target, set()).add(link.source)
    return found


@pytest.mark.parametrize(("preset", "kind"), [("no-ec", "EC"), ("no-ss", "SS"), ("no-sa", "SA")])
def test_chainrag_without_a_kind_of_link_finds_what_the_others_lead_to(preset: str, kind: str, corpus: Corpus) -> None:
    linked = {one: around(corpus, one) for one in KINDS}
    sentences = {unit.id: unit.text for unit in corpus.snapshot.units(Kind.SENTENCE)}

    def reached(seed: str, kinds: Iterable[str]) -> set[str]:
        return {seed}.union(*(linked[one].get(seed, set()) for one in kinds))

    others = [one for one in KINDS if one != kind]
    seeds = [
        id_
        for id_, text in sorted(sentences.items())
        if reached(id_, KINDS) != reached(id_, others) and list(sentences.values()).count(text) == 1
    ]
    seed = seeds[0]
    for name, kinds in (("paper", KINDS), (preset, others)):
        hop = chainrag(corpus, name, sentences[seed], "Who?")[1].trail.hops[0]
        assert hop.hits[0].unit.id == seed
        assert {hit.unit.id for hit in hop.hits} == reached(seed, kinds)


def test_chainrag_without_its_graph_reads_passages_or_seeds_alone(corpus: Corpus) -> None:
    assert chainrag(corpus, "passages")[0].kinds() <= {Kind.PASSAGE}
    alone = chainrag(corpus, "no-expansion")[1].trail.hops[0]
    assert [hit.unit.id for hit in alone.hits] == [chainrag(corpus, "paper")[1].trail.hops[0].hits[0].unit.id]


def test_chainrag_without_completion_asks_no_one_to_complete(corpus: Corpus) -> None:
    language, answer = chainrag(corpus, "no-completion")
    assert [hop.asked for hop in answer.trail] == ["Who built the Abel Forge?", "Where was this person born?"]
    assert not any(isinstance(task, Complete) for task in language.tasks)
    full = chainrag(corpus, "paper")[1]
    assert full.trail.hops[0].hits == answer.trail.hops[0].hits


@pytest.mark.parametrize("preset", ["naive", "naive-decomposed"])
def test_the_baselines_of_chainrag_are_search_and_reading(preset: str, corpus: Corpus) -> None:
    language, answer = chainrag(corpus, preset)
    assert {type(task) for task in language.tasks} <= {Read, Decompose, Integrate}, "in the end it guesses"
    assert len(answer.trail) == (1 if preset == "naive" else 2)
    assert {hit.unit.kind for hop in answer.trail for hit in hop.hits} == {Kind.PASSAGE}


def test_nothing_is_asked_of_a_language_that_has_nothing_to_say(corpus: Corpus) -> None:
    assert Hirag(corpus, ScriptedLanguage([]), Hirag.presets["paper"]).answer(MILLS).abstained


SOLD = "Who sold the Abel Forge?"


def graph_of(corpus: Corpus, preset: str) -> LocalGraph:
    """Around one question, with few seeds and branches: else all of so small a corpus is reached at once."""
    recipe = Comprag(corpus, Doubtful(), Comprag.presets[preset])
    few = replace(recipe.settings.graph, seed_k=1, branching_k=1)
    return local_graph(recipe.space(), recipe.asked(SOLD), few)


def test_comprag_without_a_graph_finds_the_passages_of_its_seeds_alone(corpus: Corpus) -> None:
    full, bare = graph_of(corpus, "poster"), graph_of(corpus, "poster-no-graph")
    assert bare.scores == bare.seeds == full.seeds
    assert not bare.edges
    assert full.scores.keys() > full.seeds.keys()
    settings = Comprag.presets["poster-no-graph"]
    assert replace(settings, graph=replace(settings.graph, depth=4)) == Comprag.presets["poster"]


def test_comprag_with_fewer_steps_finds_a_part_of_what_more_find(corpus: Corpus) -> None:
    bare, two, full = (graph_of(corpus, name) for name in ("poster-no-graph", "poster-depth-2", "poster"))
    assert bare.scores.items() < two.scores.items() < full.scores.items()
    assert two.seeds == full.seeds
    assert two.edges.items() <= full.edges.items()


@pytest.mark.parametrize(("preset", "blind"), [("poster-product", True), ("poster-lemmatised", False)])
def test_comprag_composes_the_same_question_otherwise(preset: str, blind: bool, corpus: Corpus) -> None:
    """Without roles it does not see who did it to whom; of lemmas it sees that, but not when."""
    poster, other = (Comprag(corpus, Doubtful(), Comprag.presets[name]) for name in ("poster", preset))
    assert poster.settings == replace(other.settings, space=poster.settings.space)
    assert poster.asked(SOLD) == other.asked(SOLD)
    there, back = other.space().vectors_of([Pattern("Ann", "sold", "Bo"), Pattern("Bo", "sold", "Ann")])
    assert (float(there @ back) > 0.999) is blind
    one, past = other.space().vectors_of([Pattern("Ann", "sells", "Bo"), Pattern("Ann", "sold", "Bo")])
    assert (float(one @ past) > 0.999) is not blind


def test_the_code_of_comprag_composes_the_same_triples_of_the_same_question_otherwise(corpus: Corpus) -> None:
    poster, code = (Comprag(corpus, Doubtful(), Comprag.presets[name]) for name in ("poster", "reference"))
    assert poster.asked(SOLD) == code.asked(SOLD)
    assert poster.space().triples is code.space().triples
    assert poster.settings == replace(code.settings, space=poster.settings.space)
    patterns = poster.asked(SOLD).patterns
    assert not np.allclose(poster.space().vectors_of(patterns), code.space().vectors_of(patterns), atol=0.01)


@pytest.mark.parametrize("preset", shipped_papers()["comprag"].rows.values())
def test_comprag_reads_once_whatever_finds_its_passages(preset: str, corpus: Corpus) -> None:
    language = Doubtful()
    answer = Comprag(corpus, language, Comprag.presets[preset.partition(":")[2]]).answer(SOLD)
    assert [type(task) for task in language.tasks] == [Read]
    assert {hit.channel for hit in answer.ranking} == {"triples"}, "and not by what stands beside them in the default"


def sunar(corpus: Corpus, preset: str, *meanings: str) -> tuple[Doubtful, Answer]:
    """With a budget that is no more than a part of the corpus, and a first stage of less."""
    language = Doubtful("Who built the Abel Forge?", "Where was the one born?", meanings=meanings)
    few = replace(Sunar.presets[preset], depth=4, adaptive=AdaptiveSettings(batch=4, budget=8, backfill=False))
    return language, Sunar(corpus, language, few).answer(SOLD)


def scores_of(answer: Answer) -> list[dict[str, float]]:
    """What each hop found, with the scores."""
    return [{hit.unit.id: hit.score for hit in hop.hits} for hop in answer.trail]


def test_sunar_without_feedback_draws_no_samples_and_ranks_as_where_all_samples_agree(corpus: Corpus) -> None:
    language, vanilla = sunar(corpus, "paper-vanilla")
    assert not any(isinstance(task, Sample) for task in language.tasks)
    agreeing, same = sunar(corpus, "paper", "Abel Hale")
    assert sum(isinstance(task, Sample) for task in agreeing.tasks) >= 2 * 2, "two batches a sub-question, or more"
    assert scores_of(same) == scores_of(vanilla)
    _, torn = sunar(corpus, "paper", "Abel Hale", "Jonas Pell")
    assert scores_of(torn) != scores_of(vanilla)
    others = [[task for task in one.tasks if not isinstance(task, Sample)] for one in (language, agreeing)]
    assert others[0] == others[1], "what is asked, read and weighed is the same"


def test_sunar_reranking_alone_scores_the_first_stage_as_the_graph_does_and_nothing_else(corpus: Corpus) -> None:
    alone, vanilla = (sunar(corpus, name)[1] for name in ("paper-rerank-only", "paper-vanilla"))
    for few, more in zip(scores_of(alone), scores_of(vanilla), strict=True):
        assert few.items() < more.items()
    assert {hit.channel for hop in alone.trail for hit in hop.hits} == {"keyword"}
    assert {hit.channel for hop in vanilla.trail for hit in hop.hits} == {"keyword", "dense-neighbours"}


def test_sunar_without_mer_concludes_from_the_last_hop_alone(corpus: Corpus) -> None:
    (full, with_mer), (bare, without) = (sunar(corpus, name, "Abel Hale") for name in ("paper", "paper-no-mer"))
    assert full.tasks[:-1] == bare.tasks[:-1]
    assert [hop.hits for hop in with_mer.trail] == [hop.hits for hop in without.trail]
    best, last = full.tasks[-1], bare.tasks[-1]
    assert isinstance(best, Integrate)
    assert isinstance(last, Integrate)
    assert best.findings == last.findings
    assert [unit.id for unit in last.evidence] == [
        hit.unit.id for hit in without.trail.hops[-1].hits[: len(last.evidence)]
    ]
    firsts = {hit.unit.id for hop in with_mer.trail for hit in hop.hits[:2]}
    assert {unit.id for unit in best.evidence} == firsts, "the two best of every hop"
