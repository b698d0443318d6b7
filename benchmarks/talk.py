"""Measures conversations: dialogues of two to four turns, and one question in twenty wordings, over folders of documents.

    python -m benchmarks.talk --work DIR [--dialogues FILE] [--wordings FILE]

Of a dialogue's turns after the first: the share whose really asked question is one of the key's, in the same words but for
articles, case and punctuation. Of all turns whose first wording in the key, asked alone, is answered rightly: the share that is
right in the dialogue; and the share of all turns that is wrong. Of wordings: the share of those whose plain question is answered
rightly that lose the answer. Answers are those of `Index.ask` without a model.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, data_folder, parser, write_results
from training.sources import read_lines

from hoptrail import Answer, Index
from hoptrail.evaluation.answer_scores import contains

JUDGED = ROOT / "training" / "asked" / "judged"


@dataclass
class Talk:
    """Counts: of later turns asked as the key says, of turns right of those right alone, of wrong ones, of wordings lost."""

    later_turns: int = 0
    asked: int = 0
    right_alone: int = 0
    right: int = 0
    turns: int = 0
    wrong: int = 0
    wordings: int = 0
    lost: int = 0


def folder_of(name: str) -> Path:
    """The documents of a folder: one that is kept for judging, else one of the shared data."""
    own = ROOT / "training" / "judged" / name
    return (own if own.is_dir() else data_folder(name)) / "documents"


def plain(text: str) -> list[str]:
    """Words without articles, apostrophes and case."""
    words = re.findall(r"\w+", text.lower().replace("’", "'").replace("'s", ""))
    return [word for word in words if word not in {"the", "a", "an"}]


def is_right(answer: Answer, accepted: Sequence[str]) -> bool:
    """Whether an answer has the words of an accepted one; an abstention where nothing is accepted."""
    if answer.text is None or not accepted:
        return answer.text is None and not accepted
    said = plain(answer.text)
    return any(contains(said, plain(one)) for one in accepted)


def indexes_of(work: Path, names: Sequence[str]) -> dict[str, Index]:
    found = {name: Index(work / name) for name in names}
    for name, index in found.items():
        if not (work / f"{name}.ready").exists():
            index.add(folder_of(name))
            (work / f"{name}.ready").touch()
    return found


def talk_over(index: Index, turns: Sequence[Mapping[str, Any]], counts: Talk, log: list[str]) -> None:
    """Hold one dialogue, and ask each turn's whole question alone."""
    talk = index.conversation()
    for at, turn in enumerate(turns):
        answer = talk.ask(turn["message"])
        good = is_right(answer, turn["answers"])
        counts.turns += 1
        counts.wrong += not good and answer.text is not None
        if turn["answers"] and is_right(index.ask(turn["asked"][0]), turn["answers"]):
            counts.right_alone += 1
            counts.right += good
        if at:
            same = plain(answer.asked) in map(plain, turn["asked"])
            counts.later_turns += 1
            counts.asked += same
            if not same:
                log.append(f"{turn['message']!r} asked {answer.asked!r}, not {turn['asked'][0]!r}")


def word_otherwise(index: Index, row: Mapping[str, Any], counts: Talk, log: list[str]) -> None:
    """Ask one question in its wordings, if it is answered rightly by itself."""
    if is_right(index.ask(row["question"]), row["answers"]):
        for wording in row["wordings"]:
            counts.wordings += 1
            if not is_right(answer := index.ask(wording), row["answers"]):
                counts.lost += 1
                log.append(f"{wording!r} asked {answer.asked!r} and lost {row['answers']}: {answer.text!r}")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR", help="indexes")
    arguments.add_argument("--dialogues", type=Path, default=JUDGED / "dialogues.jsonl")
    arguments.add_argument("--wordings", type=Path, default=JUDGED / "wordings.jsonl")
    arguments.add_argument("--fresh", action="store_true", help="index again")
    options = arguments.parse_args()
    if options.fresh:
        shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True, exist_ok=True)
    log: list[str] = []
    dialogues, wordings = list(read_lines(options.dialogues)), list(read_lines(options.wordings))
    indexes = indexes_of(options.work, sorted({row["folder"] for row in (*dialogues, *wordings)}))
    found = Talk()
    for row in dialogues:
        talk_over(indexes[row["folder"]], row["turns"], found, log)
    for row in wordings:
        word_otherwise(indexes[row["folder"]], row, found, log)
    (options.work / "differences.txt").write_text("\n".join(log), encoding="utf-8")
    write_results(options.out, [found])
    print(found)


if __name__ == "__main__":
    main()
