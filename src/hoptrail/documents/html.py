"""Parses HTML pages into headings, paragraphs, list items, table rows, code and quotes.

Scripts, styles, and navigation as far as its element, role or class tells are left out, as is what is hidden by an attribute, by
its own style or by a class or name of the page's style sheet, and what is struck out. Nothing is run or fetched, and the main
text is not separated from its surroundings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.html_markup import VOID, marked, parted
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK, Flow, OpenTable, TableCell, bold_headings, lowered, raised
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DATE_LINE = 60  # characters of a line that may hold the date of a page
_LARGEST_SPAN = 1000  # columns or rows that a cell may span, as in browsers
_LEAST_LINKS = 3  # of a list of contents
_BOLD = ("b", "strong")
_LISTS = ("ul", "ol", "menu", "dl")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s(?:[-–—|·•~/«»‹›]|::?)\s")
_BOXES = re.compile(r"(?<!\S)checkbox-(on|off)(?!\S)")
_SPACES = re.compile(r"\s+")
_EMPTY_ELEMENT = re.compile(rf"<(?!(?:{'|'.join(sorted(VOID))})\b)([A-Za-z][\w:.-]*)(\s[^<>]*?)?/>")
_AROUND_BREAKS = re.compile(r"[ \n\u2060]*\n[ \n\u2060]*")
_DATES = (
    *("meta[property='article:published_time' i]", "meta[name='date' i]", "meta[name='dc.date' i]"),
    *("meta[name='dcterms.date' i]", "meta[name='dc.date.issued' i]", "meta[itemprop='datePublished' i]"),
)


def parse_html(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a page: title (`title` without the site's name, else the first `h1`), date (`meta`, else one `time`), blocks."""
    if len(data) > limits.text:
        raise Unreadable(f"is larger than {limits.text} bytes: split it, or raise the limit `text`")
    charset = _CHARSET.search(data, 0, 4096)
    markup = decode(data, charset[1].decode("ascii") if charset else None)
    tree = html_tree(markup.text, lines=True)
    notes: dict[str, None] = dict.fromkeys(markup.notes)
    pieces = _pieces(tree, notes)
    return assemble(_title(tree), pieces, tuple(notes), limits.text, (_date(tree), "page metadata"))


def html_pieces(markup: str, *, lines: bool = False, notes: dict[str, None] | None = None) -> list[Piece]:
    """The pieces of a page or a part of one. `lines`: the place of each piece is its line. `notes` gets what was left out."""
    return _pieces(html_tree(markup, lines=lines), {} if notes is None else notes)


def html_tree(markup: str, *, lines: bool = False, first_line: int = 1) -> LexborHTMLParser:
    """Parse a page, or XML as one, into a tree. `lines` marks the lines in its texts, see `html_markup`."""
    if "<?xml" in markup[:100] or "xmlns=" in markup[:1000]:
        markup = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", markup)  # in XML any element may be empty: `<a id="top"/>`
    try:
        return LexborHTMLParser(marked(markup, lines=lines, first_line=first_line))
    except SelectolaxError as error:
        raise Unreadable(f"is not HTML that can be parsed ({error})") from error


def _pieces(tree: LexborHTMLParser, notes: dict[str, None]) -> list[Piece]:
    hidden = _hidden_names("\n".join(element.text() for element in tree.css("style")))
    return bold_headings(_Reader(tree.body, hidden, notes).read()) if tree.body else []


def _title(tree: LexborHTMLParser) -> str:
    """The title; if it is a heading followed by a separator and the name of a site, that heading."""
    for line_break in tree.css("h1 br"):
        line_break.replace_with(" ")
    headings = [squeeze(_text_of(heading)) for heading in tree.css("h1")]
    element = tree.css_first("head > title")
    title = squeeze(element.text()) if element else ""
    if not title:
        return next(iter(headings), "")
    starts = (heading for heading in headings if title.startswith(heading) and _SEPARATOR.match(title, len(heading)))
    return next(starts, title)


def _date(tree: LexborHTMLParser) -> str:
    """The date of the page. A date within a sentence, and several different ones in `time` elements, belong to its content."""
    elements = (element for selector in _DATES for element in tree.css(selector))
    declared = filter(None, (find_date(element.attributes.get("content") or "") for element in elements))
    around = ((one, squeeze(_text_of(one.parent or one))) for one in tree.css("time[datetime]"))
    alone = (one for one, line in around if len(line) <= _DATE_LINE and not line.endswith("."))
    times = {find_date(element.attributes.get("datetime") or "") for element in alone}
    return next(declared, times.pop() if len(times) == 1 else "")


@dataclass(slots=True)
class _Row:
    """An open table row. `start` and `cell`: the number of pieces before it and its last cell. `layout`: it holds other rows."""

    start: int
    cell: int = 0
    cells: list[TableCell] = field(default_factory=list)
    layout: bool = False


class _Reader:
    """Turns the tree of a page into pieces, in reading order. `_holder` is the open heading, `pre` or `dt`, whose content is one
    block; `_nested` counts the block elements open within it. `_place` is the line on which the text of the next piece begins,
    and `_line` the last one known, if lines are marked. `_bold` counts the open elements with bold text; `_is_plain`: the next
    piece has text outside them. `_hidden`: classes (`.x`) and names (`#x`) whose elements are not shown. `_raised`: the parts of
    text before each open `sup` and `sub`.
    """

    def __init__(self, root: LexborNode, hidden: frozenset[str], notes: dict[str, None]) -> None:
        self._root, self._hidden, self._notes = root, hidden, notes
        self._raised: list[int] = []
        self._text: list[str] = []
        self._place = self._line = ""
        self._bold, self._is_plain = 0, False
        self._holder, self._nested = "", 0
        self._flow = Flow()
        self._tables: list[OpenTable] = []
        self._rows: list[_Row] = []

    def read(self) -> list[Piece]:
        """Iterative, because pages nest deeper than Python's stack."""
        node, depth = self._root, 0
        while True:
            is_whole = self._enter(node)
            child = None if is_whole else node.child
            if child is not None:
                node, depth = child, depth + 1
                continue
            if not is_whole:
                self._leave(node)
            while depth and node.next is None and node.parent is not None:
                node, depth = node.parent, depth - 1
                self._leave(node)
            if depth == 0 or node.next is None:
                self._end_block()
                return self._flow.pieces
            node = node.next

    def _enter(self, node: LexborNode) -> bool:
        """Begin a node. Returns whether to skip its children."""
        tag = node.tag or ""
        if tag == "-text":
            text, place = parted(node.text_content or "")
            self._place = self._place or place
            self._line = place or self._line
            self._is_plain |= not self._bold and bool(text.strip())
            self._text.append(text if self._holder == "pre" else _SPACES.sub(" ", text))
            return True
        if tag == "a" and (number := _note_number(node)):
            self._text.append(f"[{number}]")
            return True
        if tag == "br":
            if not self._holder and "".join(self._text[-2:]).endswith(("\n", "\n ")):  # two end a paragraph
                self._end_block()
            else:
                self._text.append(" " if self._holder not in ("", "pre") else "\n")
            return True
        if self._is_left_out(node, tag):
            if tag in _BLOCKS and not self._holder:
                self._end_block()
            return True
        return self._begin(node, tag)

    def _begin(self, node: LexborNode, tag: str) -> bool:
        if tag in ("sup", "sub"):
            self._raised.append(len(self._text))
        elif tag in _BOLD:
            self._bold += 1
        elif tag in ("input", "img"):
            self._text.append(_shown(node, tag))
            self._is_plain |= bool(self._text[-1])
        elif not node.child and (box := _BOXES.search(node.attributes.get("class") or "")):  # of Notion
            self._text.append("☑ " if box[1] == "on" else "☐ ")
            return True
        elif tag in _BLOCKS:
            self._open(tag)
            if tag == "li" and "data-inline-task-id" in node.attributes:  # of Confluence
                self._text.append("☑ " if "checked" in (node.attributes.get("class") or "").split() else "☐ ")
        return False

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _BOLD:
            self._bold -= 1
        elif tag in ("sup", "sub"):
            start = self._raised.pop()
            text, self._text[start:] = "".join(self._text[start:]), []
            self._text.append(raised("".join(self._text[-2:]), text) if tag == "sup" else lowered(text))
        elif tag in _BLOCKS:
            self._close(node, tag)

    def _is_left_out(self, node: LexborNode, tag: str) -> bool:
        if _is_dropped(node) or (tag in ("ul", "ol") and not self._flow.depth and self._is_contents(node)):
            return True
        why = _unseen(node, self._hidden)
        if why and _text_of(node).strip():
            self._notes[why] = None
        return bool(why)

    @cached_property
    def _targets(self) -> set[str | None]:
        return {element.attributes.get(name) for name in ("id", "name") for element in self._root.css(f"[{name}]")}

    def _is_contents(self, node: LexborNode) -> bool:
        """Whether all text of a list is links to places of the page."""
        links = node.css("a[href^='#']")
        names = [(link.attributes.get("href") or "")[1:] for link in links]
        if len(links) < _LEAST_LINKS or not all(name and name in self._targets for name in names):
            return False
        linked = "".join(map(_text_of, links))
        return "".join(linked.split()) == "".join(_text_of(node).split())

    def _open(self, tag: str) -> None:
        if self._holder:
            self._nested += 1
            self._text += [" "] * (self._holder != "pre")
            return
        self._end_block()
        if tag in _LISTS:
            self._flow.begin_list(ordered=tag == "ol")
        elif tag in ("li", "dd"):
            self._flow.item()
        elif tag == "blockquote":
            self._flow.quotes += 1
        elif tag == "dt" and self._flow.depth:
            self._holder = tag
        elif tag == "pre" or tag in _HEADINGS:
            self._flow.end_item()
            self._holder = "" if tag == "summary" else tag
        elif tag == "table":
            self._flow.end_item()
            self._tables.append(OpenTable())
        elif tag == "tr":
            self._rows.append(_Row(len(self._flow.pieces)))
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].cell = len(self._flow.pieces)

    def _close(self, node: LexborNode, tag: str) -> None:
        if self._nested:
            self._nested -= 1
            self._text += [" "] * (self._holder != "pre")
            return
        self._end_block()
        self._holder = ""
        if tag in _LISTS:
            self._flow.end_list()
        elif tag == "dd":
            self._flow.end_item()
        elif tag == "blockquote":
            self._flow.quotes -= 1
        elif tag == "table":
            for number, piece in self._tables.pop().found_headers():
                self._flow.pieces[number] = piece
        elif tag == "tr":
            self._end_row(self._rows.pop(), node.parent)
        elif tag in ("td", "th") and self._rows:
            text = " ".join(piece.text for piece in self._flow.pieces[self._rows[-1].cell :])
            spans = (_span(node.attributes.get(name)) for name in ("colspan", "rowspan"))
            self._rows[-1].cells.append(TableCell(text, tag == "th", *spans))

    def _end_row(self, row: _Row, around: LexborNode | None) -> None:
        """Make one row of the pieces of its cells, unless it is one cell, or the table lays out the page: cells with headings."""
        if self._rows:
            self._rows[-1].layout = True
        inside = self._flow.pieces[row.start :]
        layout = row.layout or any(piece.kind in (BlockKind.HEADING, BlockKind.CODE) for piece in inside)
        if not layout and self._tables:
            table = self._tables[-1]
            table.in_head = around is not None and around.tag == "thead"
            piece = table.row(row.cells, inside[0].place if inside else "")
            if piece.kind is BlockKind.ROW:
                self._flow.pieces[row.start :] = [piece]
                table.places.append((row.start, all(one.bold for one in inside)))

    def _end_block(self) -> None:
        text, self._text = "".join(self._text), []
        place, self._place = self._place or self._line, ""
        bold, self._is_plain = not self._is_plain, False
        if self._holder != "pre":
            text = _AROUND_BREAKS.sub("\n", re.sub(" {2,}", " ", text)).strip()
        if not text.strip():
            return
        if self._holder == "dt":
            self._flow.term(text, place)
        elif self._holder == "pre":
            self._flow.code(text, place)
        elif self._holder:
            self._flow.add(Piece(BlockKind.HEADING, text, int(self._holder[1]), place=place))
        else:
            self._flow.text(text, place, bold=bold)


def _shown(node: LexborNode, tag: str) -> str:
    attributes = node.attributes
    if tag == "img":
        words = squeeze(attributes.get("alt") or "")
        return words if " " in words else ""
    if attributes.get("type") not in ("checkbox", "radio") or "role" in attributes:  # a role: it unfolds something
        return ""
    return "☑ " if "checked" in attributes else "☐ "


def _span(attribute: str | None) -> int:
    digits = (attribute or "").strip()[:9]
    return max(1, min(int(digits), _LARGEST_SPAN)) if digits.isascii() and digits.isdecimal() else 1


_DROPPED = word_set("script style nav noscript template iframe object svg head button select textarea")
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
_HEADINGS = word_set("h1 h2 h3 h4 h5 h6 summary")
_BLOCKS = _HEADINGS | word_set(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form "
    "header hr legend li main menu ol p pre section table tbody td tfoot th thead tr ul"
)
"""Elements that begin and end a block."""


def _text_of(node: LexborNode) -> str:
    """The text of a node without the marks of its lines."""
    return parted(node.text())[0]


def _is_dropped(node: LexborNode) -> bool:
    """Whether an element holds no text of the page: a script, navigation, a banner, or a mark that links to its own place."""
    tag, attributes = node.tag or "", node.attributes
    dropped = tag in _DROPPED and not (tag == "button" and _in_heading(node))
    if dropped or (tag != "body" and _is_navigation(node, attributes)):
        return True
    # A permalink sign beside a heading, or a link back from a note.
    is_link = tag == "a" and "#" in (attributes.get("href") or "")
    return is_link and _text_of(node).strip(" \ufe0e\ufe0f") in ("¶", "#", "§", "🔗", "↩", "↑", "⤴", "⏎")


def _unseen(node: LexborNode, hidden: frozenset[str]) -> str:
    """The note on why the text of an element is not read, because it is struck out or not shown; empty if it is read."""
    attributes = node.attributes
    names = {f".{name}" for name in (attributes.get("class") or "").split()} | {f"#{attributes.get('id')}"}
    if "hidden" in attributes or _NOT_SHOWN.search(attributes.get("style") or "") or names & hidden:
        return HIDDEN
    return STRUCK if node.tag in _STRUCK else ""


def _hidden_names(style: str) -> frozenset[str]:
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
        return _text_of(link).strip() == _text_of(node).strip()
    if not _MAY_NAVIGATE.search(classes):
        return False
    linked = sum(len(_text_of(link).strip()) for link in node.css("a"))
    return linked > 0 and linked >= _LINKED * len("".join(_text_of(node).split()))


def _note_number(node: LexborNode) -> str:
    """The number of the note that a raised or marked link leads to, which must not run into the word before it; else empty."""
    attributes = node.attributes
    kinds = " ".join(attributes.get(name) or "" for name in ("epub:type", "role", "class"))
    is_marked = "noteref" in kinds or "footnote-ref" in kinds
    is_raised = any(near is not None and near.tag == "sup" for near in (node.parent, node.child))
    if not (is_marked or is_raised) or "#" not in (attributes.get("href") or ""):
        return ""
    number = _text_of(node).strip()
    return number if number.isdecimal() else ""


def _in_heading(node: LexborNode | None) -> bool:
    """Whether the nearest block element around it is a heading: the text of a folding heading is often in a button."""
    while node is not None and node.tag not in _BLOCKS:
        node = node.parent
    return node is not None and node.tag in _HEADINGS
