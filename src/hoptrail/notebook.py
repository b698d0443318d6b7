"""Answers and indexes as HTML for notebooks. Text of documents is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hoptrail.types import Answer, Cited

SHOWN_DOCUMENTS = 10


def answer_html(answer: Answer) -> str:
    """An answer, its confidence, and the trail with its evidence; for an abstention, the closest statements."""
    if answer.parts:
        return f"<div>{''.join(map(answer_html, answer.parts))}</div>"
    if answer.text is None:
        head = _unsettled(answer)
    else:
        certainty = "" if answer.confidence is None else f" ({answer.certainty}, confidence {answer.confidence:.2f})"
        head = f"<p><strong>{escape(answer.text)}</strong>{certainty}</p>"
    hops = ""
    for number, hop in enumerate(answer.trail):
        quotes = "".join(
            f"<blockquote>{_marked(item.said, hop.answer or '')} <em>{_place(item)}</em></blockquote>"
            for item in answer.evidence
            if item.hop == number
        )
        hops += f"<li>{escape(hop.asked)} → {escape(hop.answer or hop.verdict)}{quotes}</li>"
    return f"<div><p>{escape(answer.question)}</p>{head}<ol>{hops}</ol></div>"


Answer._repr_html_ = answer_html


def progress_html(share: float | None, line: str) -> str:
    """A progress bar of a run, and what is being done; `share` from 0 to 1, None where it is unknown."""
    value = "" if share is None else f' value="{share:.3f}"'
    return f"<p><progress{value}></progress> {escape(line)}</p>"


def documents_html(folder: str, documents: Sequence[tuple[str, int, str]]) -> str:
    """The folder of an index, and its first documents: title, number of passages, source."""
    if not documents:
        return f"<p>An index at {escape(folder)}, empty.</p>"
    rows = "".join(
        f"<tr><td>{escape(title)}</td><td>{passages}</td><td>{escape(source)}</td></tr>"
        for title, passages, source in documents[:SHOWN_DOCUMENTS]
    )
    hidden = len(documents) - SHOWN_DOCUMENTS
    more = f"<p>and {hidden:,} more</p>" if hidden > 0 else ""
    head = "<tr><th>title</th><th>passages</th><th>source</th></tr>"
    return f"<p>An index at {escape(folder)}: {len(documents):,} documents.</p><table>{head}{rows}</table>{more}"


def _unsettled(answer: Answer) -> str:
    closest = "".join(f"<li>{escape(one.said)} <em>{_place(one, one.date)}</em></li>" for one in answer.closest)
    guess = f" Perhaps: {escape(answer.guess.text)} (confidence {answer.guess.confidence:.2f})" if answer.guess else ""
    return f"<p><strong>Not settled.</strong>{guess}</p>" + (f"<p>Closest:</p><ul>{closest}</ul>" if closest else "")


def _place(item: Cited, date: str = "") -> str:
    return escape(", ".join(filter(None, (item.title, date, item.place))))


def _marked(text: str, answer: str) -> str:
    """A sentence with the answer marked where it occurs. Not where folding the case changes the length of the text."""
    start = text.casefold().find(answer.casefold()) if answer else -1
    if start < 0 or len(text.casefold()) != len(text):
        return escape(text)
    end = start + len(answer)
    return f"{escape(text[:start])}<mark>{escape(text[start:end])}</mark>{escape(text[end:])}"
