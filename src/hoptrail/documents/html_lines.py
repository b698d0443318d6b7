"""Tells on which line of its file a text of an HTML page begins: the parser does not.

`marked` puts the number of its line before every text in the markup, in characters that no page may hold; `parted` takes it out
of what the parser gives. Of very long tags only the beginning is looked at, so that time is linear in the length of the page.
"""

from __future__ import annotations

import re

_OPENS, _CLOSES = "\ufdd0", "\ufdd1"
"""Noncharacters of Unicode: nobody exchanges them."""
_MARK = re.compile(f"{_OPENS}([0-9]+){_CLOSES}")
_RAW = "script|style|textarea|title|xmp|iframe|noembed|noframes"
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(?P<raw>{_RAW})\b.*?(?:</(?P=raw)\b[^>]*+>|\Z)"
    r"""|<[a-z/!?](?:[^>"']|"[^"]{0,9999}+"|'[^']{0,9999}+'){0,999}+>|<[a-z/!?][^>]*+(?:>|\Z)|<""",
    re.IGNORECASE | re.DOTALL,
)


def marked(markup: str) -> str:
    """The markup with its lines marked. What could be taken for a mark becomes U+FFFD."""
    markup = markup.replace(_OPENS, "\N{REPLACEMENT CHARACTER}")
    parts: list[str] = []
    line, place, end = 1, 0, 0
    for found in _MARKUP.finditer(markup):
        line, place = _mark(markup, end, found.start(), line, place, parts)
        parts.append(found[0])
        end = found.end()
    _mark(markup, end, len(markup), line, place, parts)
    return "".join(parts)


def _mark(markup: str, start: int, end: int, line: int, place: int, parts: list[str]) -> tuple[int, int]:
    """Add the text from `start` to `end`; which line it begins on, `line` being that of `place`, and where that is."""
    text = markup[start:end]
    body = text.lstrip()
    if not body:
        parts.append(text)
        return line, place
    first = end - len(body)
    line += markup.count("\n", place, first)
    parts += (text[: len(text) - len(body)], f"{_OPENS}{line}{_CLOSES}", body)
    return line, first


def parted(text: str) -> tuple[str, str]:
    """A text without marks, and the place of the first (`line 12`); no place where there is none."""
    at = text.find(_OPENS)
    if at < 0:
        return text, ""
    end = text.index(_CLOSES, at)
    rest = text[:at] + text[end + 1 :]
    return _MARK.sub("", rest) if _OPENS in rest else rest, f"line {text[at + 1 : end]}"
