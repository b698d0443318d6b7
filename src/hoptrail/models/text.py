"""Makes any Python string fit to leave Python: encoders and endpoints take Unicode text, and strings can hold less."""

from __future__ import annotations


def whole_text(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates (a JSON escape can bring them in) replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
