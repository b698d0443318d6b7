"""The blocks of a Markdown text: CommonMark with tables, footnotes, definition lists, struck text, front matter and wiki links.

What is stored is the text as it reads: links show their text, images the text that stands for them, HTML what it holds.
A line break stays where the line was too short to be wrapped. The boxes of tasks, `[ ]` and `[x]`, say what is done, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.front_matter import front_matter
from hoptrail.documents.html import html_pieces
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.lists import Lists
from hoptrail.documents.wrapping import line_break
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_DEEPEST = 60
"""Lists (which count twice), items and quotes within each other; the parser calls itself for each."""
_WIKI_LINK = re.compile(r"!?\[\[(?!\s)(?=[^\[\]\n|]*[^\W\d_]|\d{4}-)([^\[\]\n|]+)(?:\|([^\[\]\n|]+))?\]\](?!\()")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif)\s*\Z", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{[:#.][^{}\n]*\}[ \t]*$", re.MULTILINE)
_AROUND_BREAKS = re.compile(r"(?<![ \t])[ \t]*\n\s*")
_CALLOUT = re.compile(r"\[!(\w+)\][-+]?\s*")


def parse_markdown(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (that of the front matter, else the first heading), date (of the front matter) and blocks.

    Raises:
        Unreadable: the bytes are not text, or nested too deep.
    """
    decoded = decode(data)
    front = front_matter(decoded.text)
    lines = decoded.text.count("\n", 0, front.end)
    pieces = [*([front.row] if front.row else []), *_Reader(lines).read(_tokens(decoded.text[front.end :]))]
    headings = (" ".join(piece.text.split()) for piece in pieces if piece.kind is BlockKind.HEADING)
    title = front.title or next((heading for heading in headings if heading), "")
    parsed = assemble(title, pieces, (*decoded.notes, *front.notes), limits.text)
    return replace(parsed, date=front.date, date_from="front matter") if front.date else parsed


def markdown_pieces(text: str) -> list[Piece]:
    """The pieces of a Markdown text that is part of something else: no front matter is looked for.

    Raises:
        Unreadable: nested too deep.
    """
    return list(_Reader(0).read(_tokens(text)))


def _tokens(text: str) -> list[Token]:
    """Beyond the deepest nesting the parser would leave out the rest of the text."""
    tokens = _parser().parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        raise Unreadable("has lists or quotes nested too deep")
    return tokens


@cache
def _parser() -> MarkdownIt:
    """Footnotes stay where they are written, also those that nothing refers to."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False, move_to_end=False).use(deflist_plugin)
    parser.inline.ruler.before("link", "wiki_link", _wiki_link)
    parser.inline.ruler.at("newline", _newline)
    return parser


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """`[[Page]]` and `[[Page|as it is called]]` of Obsidian and wikis; of an embedded picture nothing."""
    found = _WIKI_LINK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent and not (found[0].startswith("!") and _PICTURE.search(found[1])):
        state.push("text", "", 0).content = (found[2] or found[1]).strip()
    state.pos = found.end()
    return True


def _newline(state: StateInline, silent: bool) -> bool:
    """As the parser's own rule, but the token says what stands for the line break."""
    from markdown_it.rules_inline.newline import newline

    place = state.pos
    line = state.src[state.src.rfind("\n", 0, place) + 1 : place]
    if not newline(state, silent):
        return False
    if not silent:
        is_soft = state.tokens[-1].type == "softbreak"
        state.tokens[-1].content = line_break(line, _line_after(state.src, place)) if is_soft else "\n"
    return True


def _line_after(text: str, place: int) -> str:
    end = text.find("\n", place + 1)
    return text[place + 1 : end if end >= 0 else len(text)]


class _Reader:
    """Takes pieces from the tokens of a text, `lines` of the file being before it."""

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._place = f"line {lines + 1}"
        self._holder = ""
        self._quotes = 0
        self._lists = Lists()
        self._headers: list[str] = []
        self._cells: list[str] = []
        self._is_head = False
        self._footnote = ""

    def read(self, tokens: Sequence[Token]) -> Iterator[Piece]:
        """The pieces in order; footnotes where they are written."""
        for token in tokens:
            if token.map and token.nesting >= 0:
                self._place = f"line {token.map[0] + self._lines + 1}"
            if token.type == "inline":
                yield from self._inline(_text(token.children or ()))
            elif token.type in ("fence", "code_block"):
                yield from self._lists.waiting()
                yield self._lists.piece(BlockKind.CODE, token.content, self._place)
            elif token.type == "html_block":
                yield from self._html(token.content)
            elif token.type == "tr_close":
                yield self._row()
            else:
                yield from self._lists.waiting() if token.type in _WITHOUT_TEXT else ()
                self._follow(token)

    def _follow(self, token: Token) -> None:
        """Note what begins or ends here."""
        kind, _, side = token.type.rpartition("_")
        if kind in ("bullet_list", "ordered_list", "dl"):
            if side == "open":
                self._lists.begin(ordered=kind == "ordered_list")
            else:
                self._lists.end()
        elif side == "open":
            self._begin(kind, token)
        elif kind == "blockquote":
            self._quotes -= 1

    def _begin(self, kind: str, token: Token) -> None:
        if kind in ("list_item", "dd"):
            self._lists.item()
        elif kind == "blockquote":
            self._quotes += 1
        elif kind in ("thead", "tbody"):
            self._is_head = kind == "thead"
        elif kind == "footnote_reference":
            self._footnote = f"[{token.meta['label']}] "
        else:
            self._holder = token.tag

    def _inline(self, text: str) -> Iterator[Piece]:
        if self._holder in ("th", "td"):
            self._cells.append(text)
            return
        text = _AROUND_BREAKS.sub("\n", _ATTRIBUTES.sub("", text)).strip()
        if not text:
            return
        if self._holder == "dt":
            self._lists.term(text, self._place)
        elif self._quotes:
            said = _CALLOUT.sub(lambda found: f"{found[1].capitalize()}: ", text, count=1)
            yield self._lists.piece(BlockKind.QUOTE, said if _CALLOUT.match(text) else text, self._place)
        elif self._holder.startswith("h"):
            yield from self._lists.waiting()
            yield Piece(BlockKind.HEADING, text, int(self._holder[1]), place=self._place)
        else:
            yield self._lists.piece(BlockKind.PARAGRAPH, f"{self._footnote}{text}", self._place)
            self._footnote = ""

    def _html(self, markup: str) -> Iterator[Piece]:
        for piece in html_pieces(markup):
            if piece.kind is BlockKind.PARAGRAPH:
                yield self._lists.piece(piece.kind, piece.text, self._place)
            else:
                yield replace(piece, place=self._place)

    def _row(self) -> Piece:
        cells, self._cells = self._cells, []
        if self._is_head:
            self._headers = cells
            return Piece(BlockKind.ROW, level=1, cells=tuple(("", cell) for cell in cells), place=self._place)
        return Piece(BlockKind.ROW, cells=tuple(zip(self._headers, cells, strict=True)), place=self._place)


_WITHOUT_TEXT = ("bullet_list_open", "ordered_list_open", "dl_open", "dl_close", "dd_close", "table_open")
"""What a term that waits for its definition must not be joined with."""

_SHOWN: dict[str, Callable[[Token], str]] = {
    "hardbreak": lambda _: "\n",
    "image": lambda token: _text(token.children or ()),
    "html_inline": lambda token: "\n" if re.match(r"<br\b", token.content, re.IGNORECASE) else "",
    "footnote_ref": lambda token: f"[{token.meta['label']}]",
}


def _text(tokens: Sequence[Token]) -> str:
    """What is read of inline tokens; marks of emphasis and links have no content."""
    return "".join(_SHOWN[token.type](token) if token.type in _SHOWN else token.content for token in tokens)
