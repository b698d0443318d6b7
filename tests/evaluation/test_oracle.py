"""The oracle in recipes and evaluations: four hops over an index, and the share that a perfect reader would answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation.oracle_world import CHAIN, LENGTHS, LONGER, PASSAGES
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.evaluation.datasets import Dataset, Question, load_dataset
from hoptrail.evaluation.question_run import PerQuestion
from hoptrail.evaluation.reports import oracle_share
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.runner import RecipeRun
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Language
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving.cli import app
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Verdict
from hoptrail_papers.oracle import OracleLanguage
from world import HashingEncoder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world as an evaluation folder."""
    folder = tmp_path_factory.mktemp("data") / "chain"
    folder.mkdir()
    corpus = [{"id": name, "title": title, "text": text} for name, (title, text) in PASSAGES.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in corpus))
    questions = [as_json(question) for question in (CHAIN, LONGER, LENGTHS)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in questions))
    return folder


def as_json(question: Question) -> dict[str, object]:
    return {
        "id": question.id,
        "question": question.question,
        "answers": question.answers,
        "supporting": question.supporting,
        "supporting_sentences": question.supporting_sentences,
        "decomposition": [
            {"question": step.question, "answer": step.answer, "supporting": step.supporting}
            for step in question.decomposition
        ],
    }


@pytest.fixture(scope="session")
def dataset(data: Path) -> Dataset:
    return load_dataset(data)


@pytest.fixture(scope="session")
def corpus(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder, encoder = tmp_path_factory.mktemp("index"), HashingEncoder()
    structures = list(structures_by_name(PassageLimits()).values())
    update_index(folder, [data / "corpus.jsonl"], encoder, structures, Watcher())
    return Corpus(Snapshot.open(folder), lambda: encoder)


class TestWalkingTheChain:
    """Self-ask over an index, hop by hop."""

    def oracle(self, corpus: Corpus, question: Question = CHAIN) -> OracleLanguage:
        names = {entry.id: [entry.sources[0].rpartition("#")[2]] for entry in corpus.snapshot.register.entries}
        oracle = OracleLanguage()
        oracle.follow(question, names, corpus.documents)
        return oracle

    def test_four_hops_are_answered_each_from_its_gold_passage(self, corpus: Corpus) -> None:
        recipe = open_recipe("selfask", corpus, self.oracle(corpus), RecipeSettings(), limit=3)
        answer = recipe.answer(CHAIN.question)
        assert answer.text == "Grey Hills"
        assert [(hop.asked, hop.answer) for hop in answer.trail] == [
            ("Who designed the Tallow Bridge?", "Orla Finch"),
            ("Where was Orla Finch born?", "Wrenmouth"),
            ("Which river flows through Wrenmouth?", "Isk"),
            ("Where does Isk rise?", "Grey Hills"),
        ]
        assert [(item.hop, item.text) for item in answer.evidence] == [
            (0, "Orla Finch designed the Tallow Bridge."),
            (1, "Orla Finch was born in Wrenmouth."),
            (2, "The Isk runs past its walls and on to the sea."),
            (3, "It does rise in the Grey Hills."),
        ]

    def test_what_is_missed_at_the_third_hop_is_unanswered_from_there(self, corpus: Corpus) -> None:
        """The one unit that the third hop finds says the right words, but is not gold."""
        recipe = open_recipe("selfask", corpus, self.oracle(corpus), RecipeSettings(), limit=1)
        answer = recipe.answer(CHAIN.question)
        assert [hop.hits[0].unit.title for hop in answer.trail][:3] == ["Tallow Bridge", "Orla Finch", "Which river"]
        assert [hop.answer for hop in answer.trail] == ["Orla Finch", "Wrenmouth", None, None]
        assert [hop.verdict for hop in answer.trail][2:] == [Verdict.UNANSWERED, Verdict.FAILED]
        assert answer.trail.hops[3].asked == "Where does this river rise?"
        assert answer.abstained

    @pytest.mark.parametrize("name", ["bm25", "dense", "hybrid"])
    def test_a_single_pass_needs_all_the_support(self, name: str, corpus: Corpus) -> None:
        oracle = self.oracle(corpus, LONGER)
        whole = open_recipe(name, corpus, oracle, RecipeSettings(), limit=6).answer(LONGER.question)
        assert whole.text == "yes"
        assert {item.text for item in whole.evidence} == {"The Isk is 90 km long.", "The Arrow is 40 km long."}
        part = open_recipe(name, corpus, oracle, RecipeSettings(), limit=1).answer(LONGER.question)
        assert part.ranking[0].unit.title in {"Isk", "Arrow"}
        assert part.abstained

    def test_a_question_without_decomposition_is_its_own_only_hop(self, corpus: Corpus) -> None:
        recipe = open_recipe("selfask", corpus, self.oracle(corpus, LONGER), RecipeSettings())
        answer = recipe.answer(LONGER.question)
        assert [hop.question for hop in answer.trail] == [LONGER.question]
        assert answer.text == "yes"


class TestReporting:
    def report(
        self, corpus: Corpus, dataset: Dataset, work: Path, language: Language, **options: bool
    ) -> dict[str, object]:
        held = PerQuestion(language.name, lambda: language)
        recipe = open_recipe("selfask", corpus, held, RecipeSettings(), limit=1)
        only = options.get("retrieval_only", False)
        return RecipeRun("selfask", recipe, held, dataset, work).run(Watcher(), retrieval_only=only).content

    def test_the_share_that_a_perfect_reader_would_answer(
        self, corpus: Corpus, dataset: Dataset, tmp_path: Path
    ) -> None:
        """With one unit a hop, the chain breaks at its third, and LONGER never sees both rivers."""
        report = self.report(corpus, dataset, tmp_path, OracleLanguage())
        assert report["oracle_answerable"] == pytest.approx(1 / 3)
        assert report["oracle_answerable_by_hops"] == {"2": 0.5, "4": 0.0}
        assert (report["failed"], report["abstained"], report["calls"]) == (0, 2, 0)
        assert report["em"] == pytest.approx(1 / 3)

    def test_other_languages_and_retrieval_alone_have_no_such_key(
        self, corpus: Corpus, dataset: Dataset, tmp_path: Path
    ) -> None:
        offline = self.report(corpus, dataset, tmp_path, OfflineLanguage())
        retrieved = self.report(corpus, dataset, tmp_path, OracleLanguage(), retrieval_only=True)
        assert "oracle_answerable" not in offline.keys() | retrieved.keys()

    def test_questions_without_gold_passages_are_left_out(self) -> None:
        questions = [Question("q", "?", ("yes",), supporting=tuple("abc"[:hops])) for hops in (0, 2, 2, 3, 3)]
        predictions = ("yes", "yes", None, None, None)
        results = [QuestionResult("q", given, given is None, None, None, ()) for given in predictions]
        by_hops = {"2": 0.5, "3": 0.0}
        assert oracle_share(questions, results) == {"oracle_answerable": 0.25, "oracle_answerable_by_hops": by_hops}
        assert oracle_share(questions[:1], results[:1]) == {}

    def test_the_command_line_evaluates_with_it(
        self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda _settings: HashingEncoder())
        out = tmp_path / "out.json"
        arguments = ["evaluate", str(data), "--recipes", "bm25,dense,hybrid,selfask", "--language", "oracle"]
        result = CliRunner().invoke(app, [*arguments, "--work", str(tmp_path), "--out", str(out)])
        assert result.exit_code == 0, result.output
        report = json.loads(out.read_text())
        assert report["language"] == "oracle"
        shares = {name: recipe["oracle_answerable"] for name, recipe in report["recipes"].items()}
        assert shares["dense"] == shares["hybrid"] == shares["selfask"] == 1.0
        assert 0 < shares["bm25"] <= 1.0
