"""Measures languages other than English: keywords, two encoders, and what the reader answers or shows.

    python -m benchmarks.languages [--encoder NAME] [--out FILE.json]

Eight short documents and eight questions per language (`languages.txt`), with the same facts in each. Every language
has a separate index. `first` and `three`: the settling statement is in the first hit, or in the first three. For the default
mode: questions answered correctly, wrongly, or not, and in that case with a closest statement that settles them. Every citation
is compared with its document.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import origin, parser, write_results

from hoptrail import Index, Settings
from hoptrail.types import Answer


@dataclass(frozen=True, slots=True)
class Row:
    """A fact: the document that states it, a question, and the words that settle it."""

    text: str
    question: str
    settles: str


def read_rows() -> dict[str, list[Row]]:
    """The facts of each language, in lines of language, document, question and settling words."""
    rows: dict[str, list[Row]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        language, *fact = line.split("|")
        rows.setdefault(language, []).append(Row(*fact))
    return rows


def index_of(folder: Path, rows: list[Row], encoder: str) -> Index:
    sources = folder / "documents"
    sources.mkdir(parents=True)
    for number, row in enumerate(rows):
        (sources / f"{number}.txt").write_text(row.text, encoding="utf-8")
    index = Index(folder / "index", Settings(encoder=encoder))
    index.add(sources, ["bm25", "dense", "trail"])
    return index


def found(index: Index, recipe: str, rows: list[Row]) -> dict[str, int]:
    """How many settling statements are in the first hit, and in the first three."""
    settled = [[row.settles in hit.unit.text for hit in index.search(row.question, recipe)] for row in rows]
    return {"first": sum(any(hits[:1]) for hits in settled), "three": sum(any(hits[:3]) for hits in settled)}


def outcome(answer: Answer, row: Row) -> str:
    """The outcome of an answer: right, shown, missed or wrong."""
    if answer.text is None:
        return "shown" if any(row.settles in one.text for one in answer.closest) else "missed"
    is_cited = any(row.settles in one.text for one in answer.evidence)
    return "right" if is_cited and (row.settles in answer.text or answer.text in row.settles) else "wrong"


def check_citations(index: Index, answer: Answer) -> int:
    """The number of citations; checks that each occurs in its document."""
    cited = (*answer.evidence, *answer.closest)
    documents = index.corpus().documents({one.document for one in cited})
    for one in cited:
        assert documents[one.document].text[one.start : one.end] == one.text, one
    return len(cited)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--encoder", default="", help="a second encoder, as in the setting `encoder`")
    chosen = options.parse_args()
    facts, results = read_rows(), dict[str, object]()
    with tempfile.TemporaryDirectory() as folder:
        for language, rows in facts.items():
            index = index_of(Path(folder) / language, rows, "minilm")
            answers = [index.ask(row.question) for row in rows]
            outcomes = Counter(outcome(answer, row) for answer, row in zip(answers, rows, strict=True))
            one: dict[str, object] = {"keywords": found(index, "bm25", rows), "minilm": found(index, "dense", rows)}
            if chosen.encoder:
                other = index_of(Path(folder) / f"{language}-other", rows, chosen.encoder)
                one["encoder"] = found(other, "dense", rows)
            one |= {"outcomes": dict(outcomes), "citations": sum(check_citations(index, answer) for answer in answers)}
            results[language] = one
            print(language, json.dumps(one, ensure_ascii=False), flush=True)
    questions = len(next(iter(facts.values())))
    of = {"of": origin(facts), "questions": questions, "encoder": chosen.encoder}
    write_results(chosen.out, of | {"languages": results})


if __name__ == "__main__":
    main()
