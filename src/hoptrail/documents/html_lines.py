"""Line numbers for the texts of an HTML page, which the parser does not report.

`marked` puts its line number before every text in the markup, between characters that no page may contain; `parted` extracts it
from the parser's output. Only the beginning of very long tags is examined, so that time is linear in the length of the page.
"""

from __future__ import annotations

import re

_OPENS, _CLOSES = "\ufdd0", "\ufdd1"
"""Unicode noncharacters, which are not for interchange."""
_MARK = re.compile(f"{_OPENS}([0-9]+){_CLOSES}")
_RAW = "script|style|textarea|title|xmp|iframe|noembed|noframes"
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(?P<raw>{_RAW})\b.*?(?:</(?P=raw)\b[^>]*+>|\Z)"
    r"""|<[a-z/!?](?:[^>"']|"[^"]{0,9999}+"|'[^']{0,9999}+'){0,999}+>|<[a-z/!?][^>]*+(?:>|\Z)|<""",
    re.IGNORECASE | re.DOTALL,
)


def marked(markup: str) -> str:
    """The markup with its lines marked. A character that could be taken for a mark becomes U+FFFD."""
    markup = markup.replace(_OPENS, "\N{REPLACEMENT CHARACTER}")
    parts: list[str] = []
    line, place, end = 1, 0, 0
    for tag in _MARKUP.finditer(markup):
        line, place = _mark(markup, end, tag.start(), line, place, parts)
        parts.append(tag[0])
        end = tag.end()
    _mark(markup, end, len(markup), line, place, parts)
    return "".join(parts)


def _mark(markup: str, start: int, end: int, line: int, place: int, parts: list[str]) -> tuple[int, int]:
    """Append the marked text from `start` to `end` to `parts`. Offset `place` is on `line`; returns the line and offset of the
    text's first character.
    """
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
    """A text without its marks, and the place of the first mark (`line 12`), or an empty place."""
    at = text.find(_OPENS)
    if at < 0:
        return text, ""
    end = text.index(_CLOSES, at)
    rest = text[:at] + text[end + 1 :]
    return _MARK.sub("", rest) if _OPENS in rest else rest, f"line {text[at + 1 : end]}"
