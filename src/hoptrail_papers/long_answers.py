"""Measures of answers that an evaluation does not have: accuracy over options (QuALITY), and those of long answers (ASQA).

They are computed from the predictions of a run and from further keys of the lines of its questions:

    options       the options of a question, which its text has too; its one answer is the right one          accuracy
    pairs         [[question, [answer, ...]], ...]: what the ambiguous question may mean, with short answers  str-em, disambig-f1
    references    long answers                                                                                dr

Deviations: Disambig-F1 is read by our reader (the paper's by RoBERTa-large trained on SQuAD 2), and ROUGE-L is that of whole
answers without stemming. An option is chosen by the words it shares with the prediction; a tie is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hoptrail.evaluation.answer_scores import Rule, contains, mean, normalise, score_answer
from hoptrail.evaluation.datasets import QUESTION_FILES
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.run_folder import RUNS_FOLDER, open_run
from hoptrail.language.tasks import Language, Read
from hoptrail.types import Kind, Span, Unit
from hoptrail.types.json_object import JsonObject

MEASURES = frozenset({"accuracy", "str-em", "disambig-f1", "dr"})
"""In percent."""

ShortAnswer = Callable[[str, str], str | None]  # reads a text for a question


def measured_answers(measure: str, data: Path, work: Path, report: Mapping[str, Any]) -> float | None:
    """A measure of the run of a report over the questions in `data`; None where these lack the keys that it takes.
    Raises: DataError, UsageError: the run cannot be read.
    """
    file = next((data / name for name in QUESTION_FILES if (data / name).is_file()), None)
    run = work / RUNS_FOLDER / str(report["run"])
    if file is None or not run.is_dir():
        return None
    results = open_run(run).results
    pairs = [(line.content, results.get(str(line.content.get("id")))) for line in read_lines(file)]
    needed = {"accuracy": ("options",), "dr": ("pairs", "references")}.get(measure, ("pairs",))
    usable = (pair for pair in pairs if all(map(pair[0].get, needed)))
    scored = [(content, (result.prediction if result else None) or "") for content, result in usable]
    return 100 * mean([_score(measure, content, said) for content, said in scored]) if scored else None


def _score(measure: str, content: JsonObject, said: str) -> float:
    match measure:
        case "accuracy":
            return chosen_rightly(said, content["options"], content["answers"])
        case "str-em":
            return string_match(said, content["pairs"])
        case "disambig-f1":
            return disambiguated(said, content["pairs"], read_by_reader)
    read = disambiguated(said, content["pairs"], read_by_reader)
    return math.sqrt(read * max(rouge_l(said, reference) for reference in content["references"]))


def chosen_rightly(said: str, options: Sequence[str], answers: Sequence[str]) -> float:
    """1 if the right option is the one that shares most words with what is said, 0 otherwise."""
    likeness = {option: score_answer(said, [option], Rule.MUSIQUE).f1 for option in options}
    best = max(likeness.values(), default=0.0)
    chosen = [option for option, value in likeness.items() if value == best and best > 0]
    return float(len(chosen) == 1 and chosen[0] in answers)


def string_match(said: str, pairs: Sequence[tuple[str, Sequence[str]]]) -> float:
    """The share of the meanings of which a short answer stands in what is said."""
    words = normalise(said).split()
    return mean([float(any(contains(words, normalise(one).split()) for one in answers)) for _, answers in pairs])


def disambiguated(said: str, pairs: Sequence[tuple[str, Sequence[str]]], read: ShortAnswer) -> float:
    """The mean F1 of what a reader takes from the answer for each meaning."""
    return mean([score_answer(read(question, said), answers, Rule.MUSIQUE).f1 for question, answers in pairs])


def rouge_l(said: str, reference: str) -> float:
    """The F1 of the longest common subsequence of words, 0 to 1. Takes time in proportion to the product of the lengths."""
    one, other = normalise(said).split(), normalise(reference).split()
    row = [0] * (len(other) + 1)
    for word in one:
        before = row[:]
        for place, further in enumerate(other):
            row[place + 1] = before[place] + 1 if word == further else max(row[place], before[place + 1])
    return 2 * row[-1] / (len(one) + len(other)) if one and other else 0.0


def read_by_reader(question: str, text: str) -> str | None:
    """The answer that our reader finds in a text; None where there is none."""
    if not text.strip():
        return None
    unit = Unit("answer", Kind.PASSAGE, "", text, (Span("answer", 0, len(text)),))
    return _reader().perform(Read(question, (unit,))).value.answer


@cache
def _reader() -> Language:
    from hoptrail.language.factory import LanguageContext, open_language
    from hoptrail.models.encoder_factory import DEFAULT_ENCODER, open_encoder

    return open_language("offline", LanguageContext(open_encoder(DEFAULT_ENCODER)))
