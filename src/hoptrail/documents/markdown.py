"""Parses Markdown: CommonMark with tables, footnotes, definition lists, strikethrough, front matter and wiki links.

The stored text is what a reader sees: the text of links, the alternative text of images, the content of HTML. A line break stays
if the line was too short to be wrapped. Task boxes, `[ ]` and `[x]`, stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import yaml

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.html import html_pieces
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import OpenLists, bold_headings, line_break
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_DEEPEST = 60
"""Nested lists (which count twice), items and quotes; the parser is recursive."""
_WIKI_LINK = re.compile(r"!?\[\[(?!\s)(?=[^\[\]\n|]*[^\W\d_]|\d{4}-)([^\[\]\n|]+)(?:\|([^\[\]\n|]+))?\]\](?!\()")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif)\s*\Z", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{[:#.][^{}\n]*\}[ \t]*$", re.MULTILINE)
_AROUND_BREAKS = re.compile(r"(?<![ \t])[ \t]*\n\s*")
_BOLD_MARK = re.compile(r"<(?P<end>/?)(?:b|strong)>", re.IGNORECASE)
_CALLOUT = re.compile(r"\[!(\w+)\][-+]?\s*")


def parse_markdown(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of the front matter, else the first heading), date (of the front matter) and blocks."""
    decoded = decode(data)
    front = front_matter(decoded.text)
    lines = decoded.text.count("\n", 0, front.end)
    pieces = [*([front.row] if front.row else []), *markdown_pieces(decoded.text[front.end :], lines)]
    title = front.title or squeeze(first_heading(pieces))
    return assemble(title, pieces, (*decoded.notes, *front.notes), limits.text, (front.date, "front matter"))


def markdown_pieces(text: str, lines_before: int = 0) -> list[Piece]:
    """The pieces of a Markdown text without front matter.
    Raises: Unreadable: it is nested beyond `_DEEPEST`, where the parser would drop the rest of the text.
    """
    tokens = _parser().parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        raise Unreadable("has lists or quotes nested too deep")
    return bold_headings(_Reader(lines_before).read(tokens))


@cache
def _parser() -> MarkdownIt:
    """Footnotes stay where they are written, even without a reference."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False, move_to_end=False).use(deflist_plugin)
    parser.inline.ruler.before("link", "wiki_link", _wiki_link)
    parser.inline.ruler.at("newline", _newline)
    return parser


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """Inline rule for `[[Page]]` and `[[Page|label]]` of Obsidian and wikis; embedded pictures give no text."""
    match = _WIKI_LINK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent and not (match[0].startswith("!") and _PICTURE.search(match[1])):
        state.push("text", "", 0).content = (match[2] or match[1]).strip()
    state.pos = match.end()
    return True


def _newline(state: StateInline, silent: bool) -> bool:
    """The parser's rule for line breaks, but the content of the token is the text of the break."""
    from markdown_it.rules_inline.newline import newline

    place = state.pos
    text = state.src
    line, end = text[text.rfind("\n", 0, place) + 1 : place], text.find("\n", place + 1)
    if not newline(state, silent):
        return False
    if not silent:
        following = text[place + 1 : end if end >= 0 else len(text)]
        is_soft = state.tokens[-1].type == "softbreak"
        state.tokens[-1].content = line_break(line, following) if is_soft else "\n"
    return True


class _Reader:
    """Turns the tokens of a text into pieces. `lines_before`: lines of the file before the text."""

    def __init__(self, lines_before: int) -> None:
        self._lines_before = lines_before
        self._place = f"line {lines_before + 1}"
        self._holder = ""
        self._quotes = 0
        self._lists = OpenLists()
        self._headers: list[str] = []
        self._cells: list[str] = []
        self._is_head = False
        self._footnote = ""

    def read(self, tokens: Sequence[Token]) -> Iterator[Piece]:
        for token in tokens:
            if token.map and token.nesting >= 0:
                self._place = f"line {token.map[0] + self._lines_before + 1}"
            if token.type == "inline":
                yield from self._inline(_text(token.children or ()), bold=_is_bold(token.children or ()))
            elif token.type in ("fence", "code_block"):
                yield from self._lists.waiting()
                yield self._lists.piece(BlockKind.CODE, token.content, self._place)
            elif token.type == "html_block":
                yield from self._html(token.content)
            elif token.type == "tr_close":
                yield self._row()
            else:
                yield from self._lists.waiting() if token.type in _WITHOUT_TEXT else ()
                self._track(token)

    def _track(self, token: Token) -> None:
        kind, _, side = token.type.rpartition("_")
        if kind == "blockquote":
            self._quotes += token.nesting
        elif side != "open":
            if kind in _LISTS:
                self._lists.end()
        elif kind in _LISTS:
            self._lists.begin(ordered=kind == "ordered_list")
        elif kind in ("list_item", "dd"):
            self._lists.item()
        elif kind in ("thead", "tbody"):
            self._is_head = kind == "thead"
        elif kind == "footnote_reference":
            self._footnote = f"[{token.meta['label']}] "
        else:
            self._holder = token.tag

    def _inline(self, text: str, *, bold: bool) -> Iterator[Piece]:
        if self._holder in ("th", "td"):
            self._cells.append(text)
            return
        text = _AROUND_BREAKS.sub("\n", _ATTRIBUTES.sub("", text)).strip()
        if not text:
            return
        if self._holder == "dt":
            self._lists.term(text, self._place)
        elif self._quotes:
            if callout := _CALLOUT.match(text):
                text = f"{callout[1].capitalize()}: {text[callout.end() :]}"
            yield self._lists.piece(BlockKind.QUOTE, text, self._place)
        elif self._holder.startswith("h"):
            yield from self._lists.waiting()
            yield Piece(BlockKind.HEADING, text, int(self._holder[1]), place=self._place)
        else:
            piece = self._lists.piece(BlockKind.PARAGRAPH, f"{self._footnote}{text}", self._place)
            yield replace(piece, bold=bold and not self._footnote)
            self._footnote = ""

    def _html(self, markup: str) -> Iterator[Piece]:
        for piece in html_pieces(markup):
            if piece.kind is BlockKind.PARAGRAPH:
                yield replace(self._lists.piece(piece.kind, piece.text, self._place), bold=piece.bold)
            else:
                yield replace(piece, place=self._place)

    def _row(self) -> Piece:
        cells, self._cells = self._cells, []
        if self._is_head:
            self._headers = cells
            return Piece(BlockKind.ROW, level=1, cells=tuple(("", cell) for cell in cells), place=self._place)
        return Piece(BlockKind.ROW, cells=tuple(zip(self._headers, cells, strict=True)), place=self._place)


_LISTS = ("bullet_list", "ordered_list", "dl")
_WITHOUT_TEXT = ("bullet_list_open", "ordered_list_open", "dl_open", "dl_close", "dd_close", "table_open")
"""Tokens before which a term without a definition so far must be written."""

_TEXT_OF: dict[str, Callable[[Token], str]] = {
    "hardbreak": lambda _: "\n",
    "image": lambda token: _text(token.children or ()),
    "html_inline": lambda token: "\n" if re.match(r"<br\b", token.content, re.IGNORECASE) else "",
    "footnote_ref": lambda token: f"[{token.meta['label']}]",
}


def _text(tokens: Sequence[Token]) -> str:
    """The text of inline tokens; marks of emphasis and links have no content."""
    return "".join(_TEXT_OF[token.type](token) if token.type in _TEXT_OF else token.content for token in tokens)


def _is_bold(tokens: Sequence[Token]) -> bool:
    """Whether all text of inline tokens is bold."""
    depth = 0
    for token in tokens:
        depth += token.nesting * (token.tag == "strong")
        if token.type == "html_inline" and (mark := _BOLD_MARK.fullmatch(token.content)):
            depth += -1 if mark["end"] else 1
        if not depth and _text([token]).strip():
            return False
    return True


# Dashes before a blank line are a horizontal rule, as in Pandoc (https://pandoc.org/MANUAL.html#extension-yaml_metadata_block).
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?![ \t]*\n)(?P<yaml>(?:#[^\n]*\n|[ \t]*\n)*+[\w-]+:(?=\s).*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATES = ("date", "updated", "lastmod", "last_modified", "modified", "created")
"""Keys for the date of a text, best first."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter: a row with its keys as headers, and its end offset in the text (0: there is none)."""

    title: str = ""
    date: str = ""
    row: Piece | None = None
    end: int = 0
    notes: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    """Read the front matter of a text. Invalid YAML becomes a paragraph, with a note."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter()
    try:
        values = yaml.load(match["yaml"], yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        paragraph = Piece(BlockKind.PARAGRAPH, match["yaml"], place="line 2")
        notes = ("its front matter is not valid YAML: neither title nor date was taken from it",)
        return FrontMatter(row=paragraph, end=match.end(), notes=notes)
    if not isinstance(values, dict):
        return FrontMatter()
    fields = {key: _as_text(value) for key, value in values.items() if isinstance(key, str)}
    cells = tuple((key, value) for key, value in fields.items() if value and key != "title")
    dates = (fields.get(key, "") for key in _DATES)
    date = next((iso for value in dates if (iso := value if _YEAR.fullmatch(value) else find_date(value))), "")
    row = Piece(BlockKind.ROW, cells=cells, place="line 2", labelled=True) if cells else None
    return FrontMatter(fields.get("title", ""), date, row, match.end())


def _as_text(value: object) -> str:
    """A value, or the values of a list joined; deeper nesting is ignored."""
    if isinstance(value, list):
        return ", ".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
