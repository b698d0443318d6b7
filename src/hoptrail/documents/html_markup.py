"""Passes over the markup of an HTML page before it is parsed: refusing what takes too long, and numbering its lines.

A parser takes quadratic time for elements with very many attributes or nested very deep. The shape is estimated from the tags
alone. A parser also closes some elements implicitly; pages that slip through are stopped by the limit on time.

A parser does not report lines. `marked` puts its line number before every text in the markup, between characters that no page may
contain; `parted` extracts it from the parser's output. Only the beginning of very long tags is examined, so that time is linear.
"""

from __future__ import annotations

import re
from collections import Counter

from hoptrail.documents.decoding import Unreadable
from hoptrail.text.lexicon import word_set

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
    line, counted, end = 1, 0, 0
    for start, after in (*(tag.span() for tag in _MARKUP.finditer(markup)), (len(markup), len(markup))):
        if body := markup[end:start].lstrip():
            first = start - len(body)
            line, counted = line + markup.count("\n", counted, first), first
            parts += (markup[end:first], f"{_OPENS}{line}{_CLOSES}")
            end = first
        parts.append(markup[end:after])
        if markup[start : start + 4].lower() == "<img":  # whose words in place of the picture are its text
            line, counted = line + markup.count("\n", counted, start), start
            parts.append(f"{_OPENS}{line}{_CLOSES}")
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


MOST_ATTRIBUTES = 1000
"""Per element. The parser compares each attribute with all before it."""
DEEPEST = 10_000
"""Nested open elements. The parser searches them at many tags."""

_TAGS = re.compile(
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>{_RAW})\b.*?(?:</(?P=raw)\b[^>]*+>|\Z)"
    r"""|<(?P<closes>/?)(?P<name>[a-z][^\s/>]*+)(?P<rest>(?:[^>"']++|"[^"]*+"|'[^']*+')*+)""",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""[^\s/=>"']++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?""")
_VOID = word_set("area base br col embed hr img input link meta param source track wbr")
_IMPLICITLY_CLOSED = word_set("a dd dt li optgroup option p rp rt tbody td tfoot th thead tr")
"""Elements without a required end tag; the next of them closes the one before."""
_FOREIGN = ("svg", "math")
"""Elements in which others may be self-closing: `<path/>`."""


def refuse_slow_markup(markup: str) -> None:
    """Check the shape of a page. Raises: Unreadable: an element has too many attributes, or elements are nested too deep."""
    stack: list[str] = []
    opened: Counter[str] = Counter()
    for tag in _TAGS.finditer(markup):
        name = (tag["name"] or "").lower()
        if not name or name in _VOID:
            continue
        rest = tag["rest"]
        if tag["closes"]:
            last = "" if opened[name] else name
            while last != name:  # all that are open within it end as well
                last = stack.pop()
                opened[last] -= 1
            continue
        if len(rest) > 2 * MOST_ATTRIBUTES and sum(1 for _ in _ATTRIBUTE.finditer(rest)) > MOST_ATTRIBUTES:
            what = f"an element with more than {MOST_ATTRIBUTES:,} attributes"
            raise Unreadable(f"has {what}, which would take too long to parse")
        if rest.endswith("/") and any(opened[element] for element in _FOREIGN):
            continue
        if name in _IMPLICITLY_CLOSED:
            while stack and stack[-1] in _IMPLICITLY_CLOSED:
                opened[stack.pop()] -= 1
        stack.append(name)
        opened[name] += 1
        if len(stack) > DEEPEST:
            raise Unreadable(f"nests elements more than {DEEPEST:,} deep, which would take too long to parse")
