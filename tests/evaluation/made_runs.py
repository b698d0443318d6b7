"""Builders for runs with given results and trails, without evaluating anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hoptrail.evaluation.answer_scores import AnswerScore, Rule
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.results import HitRecord, HopRecord, QuestionResult, ReadingRecord, TrailRecord
from hoptrail.evaluation.run_folder import Run, RunHeader
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Kind, Verdict


def question(
    name: str, supporting: Sequence[str] = (), kind: str | None = None, answers: Sequence[str] = ("yes",)
) -> Question:
    return Question(name, f"What about {name}?", tuple(answers), kind, tuple(supporting))


def result(name: str, score: float, *passages: str, confidence: float | None = None) -> QuestionResult:
    """A result with this score, one second in retrieval and two in the language."""
    return QuestionResult(
        name,
        prediction="said",
        abstained=False,
        error=None,
        score=AnswerScore(score, score, score, score),
        passages=passages,
        seconds_retrieval=1.0,
        seconds_language=2.0,
        tasks=1,
        confidence=confidence,
    )


def made_run(recipe: str, questions: Iterable[Question], results: Iterable[QuestionResult]) -> Run:
    header = RunHeader(
        data="tiny",
        recipe=recipe,
        language="offline",
        rule=Rule.HOTPOTQA,
        retrieval_only=False,
        fingerprint="0123456789ab",
        settings="ba9876543210",
        documents="d",
        structures=(),
        pool_size=3,
        outside_pool=(),
        encoder=EncoderIdentity("hashing", "0", 64),
        versions={"hoptrail": "0", "python": "3"},
    )
    return Run(
        Path("/runs") / f"tiny-{recipe}", header, tuple(questions), {result.question: result for result in results}
    )


def hop(question: str, passages: Sequence[str], answer: str | None) -> HopRecord:
    """A hop asked in its own words, with one unit per passage."""
    hits = tuple(HitRecord(f"u-{name}", Kind.PASSAGE, 1.0, "dense", f"d-{name}", (name,)) for name in passages)
    return HopRecord(question, question, hits, answer, Verdict.UNANSWERED if answer is None else Verdict.ANSWERED)


def passages_of(found: HopRecord) -> list[str]:
    """The passages that the hits of a hop show."""
    return [passage for hit in found.hits for passage in hit.passages]


def reading(question: str, passages: Sequence[str], answer: str | None) -> ReadingRecord:
    return ReadingRecord("answer", question, tuple(f"u-{name}" for name in passages), tuple(passages), answer)


def with_trails(run: Run, *trails: TrailRecord) -> Run:
    """The run with these trails in place of those of its folder, which does not exist."""
    vars(run)["trails"] = {trail.question: trail for trail in trails}
    return run
