"""Tells what of an HTML page is not its text. Before it is parsed, refuses what takes too long, and numbers its lines.

A parser takes quadratic time for elements with very many attributes or nested very deep. The shape is estimated from the tags
alone. A parser also closes some elements implicitly; pages that slip through are stopped by the limit on time.

A parser does not report lines. `marked` puts its line number before every text in the markup, between characters that no page may
contain; `parted` extracts it from the parser's output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from hoptrail.documents.limits import Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK
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


def marked(markup: str, *, lines: bool = True) -> str:
    """The markup, if `lines` with its lines marked. Raises: Unreadable: too many attributes, or elements nested too deep."""
    markup, shape = unmarked(markup) if lines else markup, _Shape()
    parts: list[str] = []
    line, counted, end = 1, 0, 0
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


_DROPPED = re.compile("script|style|nav|noscript|template|iframe|object|svg|head|button|select|textarea")
_NAVIGATION = re.compile(
    r"(?<!\S)(?:nav(?:bar|header|footer)|sphinxsidebar|breadcrumbs?|pagination|skip-?(?:link|nav\w*))(?!\S)",
    re.IGNORECASE,
)
"""Classes of elements that only navigate, as Sphinx, DocBook, Bootstrap and others write them."""
_BANNER = re.compile(
    r"(?<![a-z])(?:cookie|consent|onetrust|gdpr)s?(?=[-_ ]?(?:banner|bar|notice|popup|consent|dialog|sdk)|\s|$)",
    re.IGNORECASE,
)
"""Names and classes of what asks for consent."""
_MAY_NAVIGATE = re.compile(
    r"(?<!\S)(?:nav|navigation|menu|mainmenu|mobilemenu|toc|contents|sidebar|related)(?!\S)", re.IGNORECASE
)
"""Classes of elements that navigate if nearly all of their text is links: a menu may be that of a restaurant."""
_LINKED = 0.8  # least share of the characters that are in links
_NOT_SHOWN = re.compile(
    r"(?:^|[;{\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]))", re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_SELECTOR = re.compile(r"(?:^|,)\s*[a-z]*([.#][\w-]+)\s*(?=,|$)", re.MULTILINE)
"""A selector of one class or name; what others select depends on more than the element."""
_STRUCK = ("s", "del", "strike")
BLOCKS = re.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    "h[1-6]|header|hr|li|main|menu|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
"""Elements that begin and end a block."""
HEADINGS = re.compile("h[1-6]|summary")


def text_of(node: LexborNode) -> str:
    """The text of a node without the marks of its lines."""
    return parted(node.text())[0]


def is_dropped(node: LexborNode) -> bool:
    """Whether an element holds no text of the page: a script, navigation, a banner, or a mark that links to its own place."""
    tag, attributes = node.tag or "", node.attributes
    dropped = _DROPPED.fullmatch(tag) is not None and not (tag == "button" and _in_heading(node))
    if dropped or (tag != "body" and _is_navigation(node, attributes)):
        return True
    # A permalink sign beside a heading, or a link back from a note.
    is_link = tag == "a" and "#" in (attributes.get("href") or "")
    return is_link and text_of(node).strip(" \ufe0e\ufe0f") in ("¶", "#", "§", "🔗", "↩", "↑", "⤴", "⏎")


def unseen(node: LexborNode, hidden: frozenset[str]) -> str:
    """The note on why the text of an element is not read, because it is struck out or not shown; empty if it is read."""
    attributes = node.attributes
    names = {f".{name}" for name in (attributes.get("class") or "").split()} | {f"#{attributes.get('id')}"}
    if "hidden" in attributes or _NOT_SHOWN.search(attributes.get("style") or "") or names & hidden:
        return HIDDEN
    return STRUCK if node.tag in _STRUCK else ""


def hidden_names(style: str) -> frozenset[str]:
    """The classes (`.x`) and names (`#x`) that a style sheet does not show; rules for some media only do not count."""
    names: set[str] = set()
    depth = 0
    for rule in _COMMENT.sub("", style).split("}"):
        selectors, _, declarations = rule.partition("{")
        depth += rule.count("{")
        if depth == 1 and _NOT_SHOWN.search(declarations):
            names.update(_SELECTOR.findall(selectors))
        depth = max(0, depth - 1)
    return frozenset(names)


def _is_navigation(node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    classes = attributes.get("class") or ""
    is_banner = _BANNER.search(f"{attributes.get('id') or ''} {classes}")
    if attributes.get("role") == "navigation" or _NAVIGATION.search(classes) or is_banner:
        return True
    if node.tag == "li" and (link := node.css_first("a[hreflang]")) is not None:  # the page in another language
        return text_of(link).strip() == text_of(node).strip()
    if not _MAY_NAVIGATE.search(classes):
        return False
    linked = sum(len(text_of(link).strip()) for link in node.css("a"))
    return linked > 0 and linked >= _LINKED * len("".join(text_of(node).split()))


def note_number(node: LexborNode) -> str:
    """The number of the note that a raised or marked link leads to, which must not run into the word before it; else empty."""
    attributes = node.attributes
    kinds = " ".join(attributes.get(name) or "" for name in ("epub:type", "role", "class"))
    is_marked = "noteref" in kinds or "footnote-ref" in kinds
    is_raised = any(near is not None and near.tag == "sup" for near in (node.parent, node.child))
    if not (is_marked or is_raised) or "#" not in (attributes.get("href") or ""):
        return ""
    number = text_of(node).strip()
    return number if number.isdecimal() else ""


def _in_heading(node: LexborNode | None) -> bool:
    """Whether the nearest block element around it is a heading: the text of a folding heading is often in a button."""
    while node is not None and not BLOCKS.fullmatch(node.tag or ""):
        node = node.parent
    return node is not None and HEADINGS.fullmatch(node.tag or "") is not None
