"""Before an HTML page is parsed, refuses what takes too long, and numbers its lines.

A parser takes quadratic time for elements with very many attributes or nested very deep. The shape is estimated from the tags
alone. A parser also closes some elements implicitly; pages that slip through are stopped by the limit on time.

A parser does not report lines. `marked` puts its line number before every text in the markup, between characters that no page may
contain; `parted` extracts it from the parser's output.
"""

from __future__ import annotations

import re
from collections import Counter

from hoptrail.documents.limits import Unreadable
from hoptrail.text.lexicon import word_set

_OPENS, _CLOSES = "\ufdd0", "\ufdd1"  # Unicode noncharacters, which are not for interchange
_MARK = re.compile(f"{_OPENS}([0-9]+){_CLOSES}")
_RAW = "script|style|textarea|title|xmp|iframe|noembed|noframes"
_TAGS = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(?P<raw>{_RAW})\b.*?(?:</(?P=raw)\b[^>]*+>|\Z)"
    r"""|<(?P<closes>/?)(?P<name>[a-z][^\s/>]*+)(?P<rest>(?:[^>"']++|"[^"]*+"|'[^']*+')*+)(?:["'][^>]*+)?+>?"""
    r"|<[/!?][^>]*+>?|<",
    re.IGNORECASE | re.DOTALL,
)
MOST_ATTRIBUTES = 1000  # per element. The parser compares each attribute with all before it.
DEEPEST = 10_000  # nested open elements. The parser searches them at many tags.
_ATTRIBUTE = re.compile(r"""[^\s/=>"']++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?""")
VOID = word_set("area base br col embed hr img input link meta param source track wbr")
_IMPLICITLY_CLOSED = word_set("a dd dt li optgroup option p rp rt tbody td tfoot th thead tr")
"""Elements without a required end tag; the next of them closes the one before."""
_FOREIGN = ("svg", "math")  # elements in which others may be self-closing: `<path/>`


def mark(line: int) -> str:
    """What marks the text behind it as that of a line."""
    return f"{_OPENS}{line}{_CLOSES}"


def unmarked(markup: str) -> str:
    """The markup with U+FFFD for what could be taken for a mark."""
    return markup.replace(_OPENS, "\N{REPLACEMENT CHARACTER}")


def marked(markup: str, *, lines: bool = True, first_line: int = 1) -> str:
    """The markup, if `lines` with its lines marked, from `first_line` on. Raises: Unreadable: it takes too long to parse."""
    markup, shape = unmarked(markup) if lines else markup, _Shape()
    parts: list[str] = []
    line, counted, end = first_line, 0, 0
    for tag in (*_TAGS.finditer(markup), None):
        start, after = tag.span() if tag else (len(markup), len(markup))
        if tag:
            shape.add(tag)
        if body := lines and markup[end:start].lstrip():
            first = start - len(body)
            line, counted = line + markup.count("\n", counted, first), first
            parts += (markup[end:first], mark(line))
            end = first
        parts.append(markup[end:after])
        if lines and tag and (tag["name"] or "").lower() == "img":  # whose words in place of the picture are its text
            line, counted = line + markup.count("\n", counted, start), start
            parts.append(mark(line))
        end = after
    return "".join(parts)


def parted(text: str) -> tuple[str, str]:
    """A text without its marks, and the place of the first mark (`line 12`), or an empty place."""
    at = text.find(_OPENS)
    if at < 0:
        return text, ""
    end = text.index(_CLOSES, at)
    rest = text[:at] + text[end + 1 :]
    return _MARK.sub("", rest) if _OPENS in rest else rest, f"line {text[at + 1 : end]}"


class _Shape:
    """The elements that are open behind a tag, estimated from the tags alone."""

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._opened: Counter[str] = Counter()

    def add(self, tag: re.Match[str]) -> None:
        name, rest, stack, opened = (tag["name"] or "").lower(), tag["rest"], self._stack, self._opened
        if not name or name in VOID:
            return
        if tag["closes"]:
            last = "" if opened[name] else name
            while last != name:  # all that are open within it end as well
                last = stack.pop()
                opened[last] -= 1
            return
        if len(rest) > 2 * MOST_ATTRIBUTES and sum(1 for _ in _ATTRIBUTE.finditer(rest)) > MOST_ATTRIBUTES:
            what = f"an element with more than {MOST_ATTRIBUTES:,} attributes"
            raise Unreadable(f"has {what}, which would take too long to parse")
        if rest.endswith("/") and any(opened[element] for element in _FOREIGN):
            return
        while name in _IMPLICITLY_CLOSED and stack and stack[-1] in _IMPLICITLY_CLOSED:
            opened[stack.pop()] -= 1
        stack.append(name)
        opened[name] += 1
        if len(stack) > DEEPEST:
            raise Unreadable(f"nests elements more than {DEEPEST:,} deep, which would take too long to parse")
