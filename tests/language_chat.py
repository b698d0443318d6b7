"""A few passages, a usable reply about them, and the type of the fixture that opens the language `chat`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hoptrail.language.tasks import Language
from hoptrail.types import Kind, Span, Unit

ISK = "The Isk is a river. It rises in the Grey Hills and is 90 km long."
WRENMOUTH = "Wrenmouth is a market town. The river Isk flows through Wrenmouth."
Speaking = Callable[..., Language]


def passage(title: str, text: str, start: int = 7) -> Unit:
    """A passage that starts inside its document."""
    return Unit(f"u-{title}", Kind.PASSAGE, title, text, (Span(f"d-{title}", start, start + len(text)),))


QUESTION = "Where does the Isk rise?"
ANSWER: dict[str, Any] = {
    "steps": [
        {
            "question": QUESTION,
            "answer": "the Grey Hills",
            "evidence": [1],
            "quote": "It rises in the Grey Hills and is 90 km long.",
        }
    ],
    "answer": "the Grey Hills",
    "confidence": 0.9,
}
