"""Reads the training sets, in the layout of `../shared/data` (its README says what the files hold), as examples.

    reading     questions with answers in a paragraph (SQuAD, its shifts, Natural Questions)
    sentences   questions with answers in one sentence (QAMR, QA-SRL)
    yes_no      claims and yes/no questions (FEVER, BoolQ, StrategyQA, HotpotQA, 2WikiMultiHopQA)
    steps       answered sub-questions beside the passage that answers them (MuSiQue, 2WikiMultiHopQA)
    whole       whole questions beside the sentences that settle them (HotpotQA, MuSiQue)
    after       whole questions beside their last passage, after what the others say (the three sets)
    helps       whole questions beside passages that help or do not, after those read before

Answers are found in passages by their words alone, so a passage that names the answer for another reason teaches something
slightly wrong; passages that do not name it are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError
from hoptrail.evaluation import lines
from hoptrail.evaluation.datasets import CORPUS_FILES, QUESTION_FILES, first_file
from hoptrail.models.networks import fingerprint
from training.examples import VERDICTS, Example, Verdict, answered_at, under_title

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""The folder of the data sets, beside the repository."""

HEADS = Path(__file__).parent / "heads"
"""The folder of the rows that heads are trained on by themselves."""

_ONE_SENTENCE = ("qamr", "qasrl")
_WHOLE = 1200  # characters of passages read together
_STATEMENT = 300  # characters of what was read before


@dataclass(frozen=True, slots=True)
class MultiHop:
    """A set of questions over several passages: its lines, and its passages by id."""

    name: str
    questions: tuple[Mapping[str, Any], ...]
    passages: Mapping[str, Mapping[str, Any]]

    def shown(self, passage: str) -> str:
        """The passage under its title."""
        return under_title(self.passages[passage]["title"], self.passages[passage]["text"])


def read_multi_hop(folder: Path, held_out: Set[int] = frozenset()) -> MultiHop:
    """The set in `folder`, without passages whose text is in `held_out` and without questions that depend on one of them."""
    passages = {line["id"]: line for line in corpus_of(folder) if fingerprint(line["text"]) not in held_out}
    asked = read_lines(first_file(folder, QUESTION_FILES))
    questions = (line for line in asked if passages.keys() >= set(line["supporting"]))
    return MultiHop(folder.name, tuple(questions), passages)


def corpus_of(folder: Path) -> Iterator[Any]:
    return read_lines(first_file(folder, CORPUS_FILES))


def read_lines(path: Path) -> Iterator[Any]:
    """The objects of a JSONL file, compressed or not."""
    return (line.content for line in lines.read_lines(path))


def head_rows(path: Path, columns: int) -> list[Mapping[str, Any]]:
    """The rows for a head with so many columns. Raises: DataError: a label is not one that it can say."""
    rows, labels = list(read_lines(path)), range(max(columns, 2))
    for number, row in enumerate(rows, 1):
        if row["label"] not in labels:
            raise DataError(
                f"{path}, row {number}: the label is 0 to {labels[-1]} (COLUMNS of training/sizes.py), not {row['label']}"
            )
    return rows


def spans(folder: Path) -> Iterator[tuple[str, Example]]:
    """Questions with answers in their text, with the pool each belongs to."""
    for line in read_lines(folder / "spans.jsonl.gz"):
        pool = "sentences" if line["source"].startswith(_ONE_SENTENCE) else "reading"
        place = line["start"], line["start"] + len(line["answer"])
        yield pool, answered_at(line["source"], line["question"].strip(), line["text"], *place)


def judgements(folder: Path) -> Iterator[Example]:
    for line in read_lines(folder / "yes_no.jsonl.gz"):
        asked, verdict = line.get("claim"), Verdict.YES if line.get("supported") else Verdict.NO
        if asked is None:
            asked, verdict = line["question"], VERDICTS[line["answer"]]
        yield Example(line["source"], asked, line["text"], verdict=verdict, helps=True)


def steps(data: MultiHop) -> Iterator[Example]:
    """Answered sub-questions, each with a passage that names the answer."""
    for line in data.questions:
        for question, step in asked_steps(line):
            answer = step["answer"] or ""
            if answer and answer.lower() not in VERDICTS:
                named = [step["supporting"]] if step["supporting"] else _named_in(question, line["supporting"], data)
                yield from _first_found(data, question, answer, named)


def asked_steps(line: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The steps of a question, each after its wording with `#1`, `#2` … replaced by the earlier answers."""
    answers: list[str] = []
    for step in line["decomposition"]:
        yield re.sub(r"#(\d)", lambda found: (answers[int(found[1]) - 1 :] or [found[0]])[0], step["question"]), step
        answers.append(step["answer"] or "")


def _named_in(question: str, passages: list[str], data: MultiHop) -> list[str]:
    """The passages whose title, without parentheses, occurs in the question."""
    titles = {passage: re.sub(r" \(.*\)$", "", data.passages[passage]["title"]).lower() for passage in passages}
    return [passage for passage, title in titles.items() if title in question.lower()]


def _first_found(data: MultiHop, question: str, answer: str, passages: list[str]) -> Iterator[Example]:
    for passage in passages:
        text = data.shown(passage)
        if found := find_answer(text, answer):
            yield answered_at(f"{data.name}.steps", question, text, *found)
            return


def find_answer(text: str, answer: str) -> tuple[int, int] | None:
    """The first position of the answer as whole words, ignoring case."""
    found = answer and re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)
    return found.span() if found else None


def whole_questions(data: MultiHop) -> Iterator[Example]:
    """Questions with all their evidence: the gold sentences under their titles, or the gold passages if these are short."""
    for line in data.questions:
        text = "\n".join(_gold_parts(line, data))
        if len(text) > _WHOLE:
            continue
        answer = line["answers"][0]
        if (verdict := VERDICTS.get(answer.lower())) is not None:
            yield Example(f"{data.name}.whole", line["question"], text, verdict=verdict, helps=True)
        elif found := find_answer(text, answer):
            yield answered_at(f"{data.name}.whole", line["question"], text, *found)


def _gold_parts(line: Mapping[str, Any], data: MultiHop) -> Iterator[str]:
    for passage in line["supporting"]:
        chosen = [number for name, number in line["supporting_sentences"] if name == passage]
        sentences = data.passages[passage].get("sentences") or []
        statements = " ".join(sentences[number] for number in chosen if number < len(sentences))
        yield under_title(data.passages[passage]["title"], statements) if statements else data.shown(passage)


def helping(data: MultiHop) -> Iterator[Example]:
    """Whole questions with each gold passage after the previous ones, and with two other passages of their context.

    The position of the answer is taught by `steps`.
    """
    for line in data.questions:
        before, others = "", _others(line, data)
        for number, passage in enumerate(line["supporting"]):
            judged = [(passage, True), *((other, False) for other in others[2 * number : 2 * number + 2])]
            for one, helps in judged:
                yield Example(f"{data.name}.helps", line["question"], data.shown(one), before=before, helps=helps)
            before = f"{before}\n{data.shown(passage)}".strip()


def _others(line: Mapping[str, Any], data: MultiHop) -> list[str]:
    """The passages of a question's context that it does not need."""
    return [one for one in line["candidates"] if one in data.passages and one not in line["supporting"]]


def after_others(data: MultiHop) -> Iterator[Example]:
    """Whole questions with a passage that names the answer and one that does not, after the other gold statements."""
    for line in data.questions:
        answer, parts = line["answers"][0], list(_gold_parts(line, data))
        if answer.lower() in VERDICTS or len(parts) < 2:
            continue
        answers = [step["answer"] or "" for step in line["decomposition"]]
        parts = [_naming(part, answers) if len(part) > _STATEMENT else part for part in parts]
        shown = [data.shown(passage) for passage in line["supporting"]]
        at = next((at for at in reversed(range(len(shown))) if find_answer(shown[at], answer)), None)
        if at is None:
            continue
        before = "\n".join(part for number, part in enumerate(parts) if number != at)
        start, end = find_answer(shown[at], answer) or (0, 0)
        yield replace(answered_at(f"{data.name}.after", line["question"], shown[at], start, end), before=before)
        others = (data.shown(passage) for passage in _others(line, data))
        for text in islice((other for other in others if not find_answer(other, answer)), 1):
            yield Example(f"{data.name}.after", line["question"], text, before=before, answered=False, helps=False)


def _naming(part: str, answers: list[str]) -> str:
    """The title of a passage and the sentences that name one of the answers."""
    title, _, text = part.partition("\n")
    sentences = re.split(r"(?<=[.!?]) +", text)
    chosen = [one for one in sentences if any(find_answer(one, answer) for answer in answers)]
    return under_title(title, " ".join(chosen or sentences[:2])[:_STATEMENT])
