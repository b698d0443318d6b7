"""How answers and indexes look in a notebook: short, with the trail and the cited words marked. What documents say is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoptrail.types import Answer, Evidence, Hop, Statement

SHOWN_DOCUMENTS = 10


def answer_html(answer: Answer) -> str:
    """The answer, how sure it is, the trail with its evidence; or that nothing is settled, and what is closest."""
    head = (
        f"<p><strong>{escape(answer.text)}</strong>{_sure(answer)}</p>"
        if answer.text is not None
        else _unsettled(answer)
    )
    hops = "".join(
        _hop(hop, [item for item in answer.evidence if item.hop == number]) for number, hop in enumerate(answer.trail)
    )
    return f"<div><p>{escape(answer.question)}</p>{head}<ol>{hops}</ol></div>"


def documents_html(folder: str, documents: Sequence[tuple[str, int, str]]) -> str:
    """Where an index is, and the first of its documents: title, number of passages, source."""
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


def _sure(answer: Answer) -> str:
    return "" if answer.confidence is None else f" ({answer.certainty}, confidence {answer.confidence:.2f})"


def _unsettled(answer: Answer) -> str:
    closest = "".join(map(_closest, answer.closest))
    return "<p><strong>Not settled.</strong></p>" + (f"<p>Closest:</p><ul>{closest}</ul>" if closest else "")


def _closest(statement: Statement) -> str:
    return f"<li>{escape(statement.said)} <em>{_place(statement)}</em></li>"


def _hop(hop: Hop, evidence: list[Evidence]) -> str:
    quotes = "".join(
        f"<blockquote>{_marked(item.text, hop.answer or '')} <em>{_place(item)}</em></blockquote>" for item in evidence
    )
    return f"<li>{escape(hop.asked)} → {escape(hop.answer or hop.verdict.value)}{quotes}</li>"


def _place(item: Evidence | Statement) -> str:
    return escape(", ".join(filter(None, (item.title, item.place))))


def _marked(text: str, answer: str) -> str:
    """A sentence with the words of the answer marked in it, where they stand in it."""
    start = text.casefold().find(answer.casefold()) if answer else -1
    if start < 0 or len(text.casefold()) != len(text):
        return escape(text)
    end = start + len(answer)
    return f"{escape(text[:start])}<mark>{escape(text[start:end])}</mark>{escape(text[end:])}"
