"""What of an HTML page is not its text: scripts, navigation, banners, hidden and struck-out elements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hoptrail.documents.html_markup import parted
from hoptrail.documents.markup import HIDDEN, STRUCK

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

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


def is_dropped(node: LexborNode) -> bool:
    """Whether an element holds no text of the page: a script, navigation, a banner, or a mark that links to its own place."""
    tag, attributes = node.tag or "", node.attributes
    dropped = _DROPPED.fullmatch(tag) is not None and not (tag == "button" and _in_heading(node))
    if dropped or (tag != "body" and _is_navigation(node, attributes)):
        return True
    # A permalink sign beside a heading, or a link back from a note.
    is_link = tag == "a" and "#" in (attributes.get("href") or "")
    return is_link and parted(node.text())[0].strip(" \ufe0e\ufe0f") in ("¶", "#", "§", "🔗", "↩", "↑", "⤴", "⏎")


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
    """Whether an element leads to other pages or parts of this one, by its role or class."""
    classes = attributes.get("class") or ""
    if attributes.get("role") == "navigation" or _NAVIGATION.search(classes):
        return True
    if _BANNER.search(f"{attributes.get('id') or ''} {classes}"):
        return True
    if node.tag == "li" and (link := node.css_first("a[hreflang]")) is not None:  # the page in another language
        return parted(link.text())[0].strip() == parted(node.text())[0].strip()
    if not _MAY_NAVIGATE.search(classes):
        return False
    linked = sum(len(parted(link.text())[0].strip()) for link in node.css("a"))
    return linked > 0 and linked >= _LINKED * len(without_spaces(parted(node.text())[0]))


def without_spaces(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def note_number(node: LexborNode) -> str:
    """The number of the note that a raised or marked link leads to, which must not run into the word before it; else empty."""
    attributes = node.attributes
    kinds = (attributes.get("epub:type"), attributes.get("role"), attributes.get("class"))
    is_marked = any("noteref" in (kind or "") or "footnote-ref" in (kind or "") for kind in kinds)
    is_raised = any(near is not None and near.tag == "sup" for near in (node.parent, node.child))
    if not (is_marked or is_raised) or "#" not in (attributes.get("href") or ""):
        return ""
    number = parted(node.text())[0].strip()
    return number if number.isdecimal() else ""


def _in_heading(node: LexborNode) -> bool:
    """Whether the nearest block element around it is a heading: the text of a folding heading is often in a button."""
    above = node.parent
    while above is not None and not BLOCKS.fullmatch(above.tag or ""):
        above = above.parent
    return above is not None and HEADINGS.fullmatch(above.tag or "") is not None
