"""Parses Markdown: CommonMark with tables, footnotes, definition lists, strikethrough, front matter and wiki links.

The stored text is what a reader sees: the text of links, the alternative text of images, the content of HTML. A line break stays
if the line was too short to be wrapped. Task boxes, `[ ]` and `[x]`, stay. Struck-out text, comments (also those of Obsidian,
`%% ... %%`) and tags of templates (`{% ... %}`, `{{ ... }}`) are left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

import yaml

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode
from hoptrail.documents.html import html_pieces
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import STRUCK, Flow, bold_headings, line_break, lowered, raised
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
_UNSEEN = re.compile(
    r"(?P<code>^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?P<ticks>`+)(?!`)[^\n]{0,999}?(?<!`)(?P=ticks)(?!`))"
    r"|(?<![\w%])%%(?!%).*?%%|\{%-?\s*comment\b.{0,9999}?endcomment\s*-?%\}"
    r"|\{%(?P<tag>[^{}\n]*)%\}|\{#[^{}\n]*#\}|(?<![\w\\^_}$])\{\{[^{}\n]*\}\}",
    re.MULTILINE | re.DOTALL,
)
"""Code, which stays, and comments and tags of templates, which nobody sees."""
_NAMED = re.compile(r"""["']([\w #@&+-]+)["']""")
"""What a tag of a template is about: `{% channel "tock" %}`."""
_UNRESOLVED = re.compile(
    r"\[([^\[\]\n]+)\](?:\[[^\[\]\n]*\]|\([^()\n]*\))|(?<![=\w])==(?=[^\s=])([^=\n]+)(?<=\S)==(?!=)"
)
"""Links that lead nowhere, and marked text of Obsidian."""
_BLOCK_NAME = re.compile(r"[ \t]\^[\w-]+$", re.MULTILINE)
_CALLOUT = re.compile(r"\[!(\w+)\][-+]?\s*")


def parse_markdown(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of the front matter, else the first heading), date (of the front matter) and blocks."""
    decoded = decode(data)
    notes: dict[str, None] = dict.fromkeys(decoded.notes)
    front, fields, end = _front_matter(decoded.text, notes)
    pieces = [front, *markdown_pieces(decoded.text[end:], decoded.text.count("\n", 0, end), notes)]
    title = fields.get("title") or squeeze(first_heading(pieces))
    dates = (fields.get(key, "") for key in _DATES)
    date = next((iso for value in dates if (iso := value if _YEAR.fullmatch(value) else find_date(value))), "")
    return assemble(title, pieces, tuple(notes), limits.text, (date, "front matter"))


def markdown_pieces(text: str, lines_before: int = 0, notes: dict[str, None] | None = None) -> list[Piece]:
    """The pieces of a Markdown text without front matter. `notes` gets what was left out.
    Raises: Unreadable: it is nested beyond `_DEEPEST`, where the parser would drop the rest of the text.
    """
    tokens = _parser().parse(_UNSEEN.sub(_seen, text))
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        raise Unreadable("has lists or quotes nested too deep")
    return bold_headings(_Reader(lines_before, {} if notes is None else notes).read(tokens))


def _seen(unseen: re.Match[str]) -> str:
    """What stays of a comment or tag: its line breaks, and the words that a tag within a line is about."""
    if unseen["code"]:
        return unseen[0]
    text = unseen.string
    line = text[text.rfind("\n", 0, unseen.start()) + 1 : unseen.start()]
    named = "" if unseen["tag"] is None or not line.strip() else " ".join(_NAMED.findall(unseen["tag"]))
    return named + "\n" * unseen[0].count("\n")


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
    """Turns the tokens of a text into pieces. `lines_before`: lines of the file before the text. `notes` gets what is left
    out.
    """

    def __init__(self, lines_before: int, notes: dict[str, None]) -> None:
        self._lines_before = lines_before
        self._notes = notes
        self._place = f"line {lines_before + 1}"
        self._holder = ""
        self._flow = Flow()
        self._headers: list[str] = []
        self._cells: list[str] = []
        self._is_head = False
        self._footnote = ""

    def read(self, tokens: Sequence[Token]) -> list[Piece]:
        for token in tokens:
            if token.map and token.nesting >= 0:
                self._place = f"line {token.map[0] + self._lines_before + 1}"
            if token.type == "inline":
                self._inline(_text(token.children or (), self._notes), bold=_is_bold(token.children or ()))
            elif token.type in ("fence", "code_block"):
                self._flow.code(token.content, self._place)
            elif token.type == "html_block":
                self._html(token.content)
            elif token.type == "tr_close":
                self._end_row()
            else:
                self._track(token)
        return self._flow.pieces

    def _track(self, token: Token) -> None:
        kind, _, side = token.type.rpartition("_")
        if kind == "blockquote":
            self._flow.quotes += token.nesting
        elif side != "open":
            if kind in _LISTS:
                self._flow.end_list()
            elif kind == "dd":
                self._flow.end_item()
        elif kind in _LISTS:
            self._flow.begin_list(ordered=kind == "ordered_list")
        elif kind in ("list_item", "dd"):
            self._flow.item()
        elif kind in ("thead", "tbody"):
            self._is_head = kind == "thead"
        elif kind == "footnote_reference":
            self._footnote = f"[{token.meta['label']}] "
        else:
            self._holder = token.tag

    def _inline(self, text: str, *, bold: bool) -> None:
        if self._holder in ("th", "td"):
            self._cells.append(text)
            return
        text = _AROUND_BREAKS.sub("\n", _BLOCK_NAME.sub("", _ATTRIBUTES.sub("", text))).strip()
        if not text:
            return
        if self._holder == "dt":
            self._flow.term(text, self._place)
        elif self._flow.quotes:
            if callout := _CALLOUT.match(text):
                text = f"{callout[1].capitalize()}: {text[callout.end() :]}"
            self._flow.text(text, self._place)
        elif self._holder.startswith("h"):
            self._flow.add(Piece(BlockKind.HEADING, text, int(self._holder[1]), place=self._place))
        else:
            self._flow.text(f"{self._footnote}{text}", self._place, bold=bold and not self._footnote)
            self._footnote = ""

    def _html(self, markup: str) -> None:
        for piece in html_pieces(markup, notes=self._notes):
            if piece.kind is BlockKind.PARAGRAPH:
                self._flow.text(piece.text, self._place, bold=piece.bold)
            else:
                self._flow.pieces.append(replace(piece, place=self._place))

    def _end_row(self) -> None:
        cells, self._cells = self._cells, []
        if self._is_head:
            self._headers = cells
        headers = [""] * len(cells) if self._is_head else self._headers
        row = tuple(zip(headers, cells, strict=True))
        self._flow.add(Piece(BlockKind.ROW, level=int(self._is_head), cells=row, place=self._place))


_LISTS = ("bullet_list", "ordered_list", "dl")

_TEXT_OF: dict[str, Callable[[Token], str]] = {
    "hardbreak": lambda _: "\n",
    "image": lambda token: _text(token.children or (), {}),
    "html_inline": lambda token: "\n" if re.match(r"<br\b", token.content, re.IGNORECASE) else "",
    "footnote_ref": lambda token: f"[{token.meta['label']}]",
    "text": lambda token: _UNRESOLVED.sub(lambda found: found[1] or found[2], token.content),
}
_STRUCK = ("s", "del", "strike")
_GONE = "\0"
_AROUND_GONE = re.compile(f"(?: (?={_GONE} ))?{_GONE}")
_MOVED = re.compile(r"<(?P<end>/?)(?P<tag>sup|sub|s|del|strike)\b[^>]*>", re.IGNORECASE)


def _text(tokens: Sequence[Token], notes: dict[str, None]) -> str:
    """The text of inline tokens; marks of emphasis and links have no content. Struck-out text is left out and noted."""
    parts: list[str] = []
    begun: list[tuple[str, int]] = []
    for token in tokens:
        mark = _MOVED.fullmatch(token.content) if token.type == "html_inline" else None
        tag = mark["tag"].lower() if mark else token.tag if token.type in ("s_open", "s_close") else ""
        if not tag:
            parts.append(_TEXT_OF[token.type](token) if token.type in _TEXT_OF else token.content)
        elif token.type == "s_open" or (mark and not mark["end"]):
            begun.append((tag, len(parts)))
        elif begun and begun[-1][0] == tag:
            start = begun.pop()[1]
            text, parts[start:] = "".join(parts[start:]), []
            if tag not in _STRUCK:
                parts.append(raised("".join(parts[-2:]), text) if tag == "sup" else lowered(text))
            else:
                parts.append(_GONE)
                notes |= {STRUCK: None}
    return _AROUND_GONE.sub("", "".join(parts))


def _is_bold(tokens: Sequence[Token]) -> bool:
    """Whether all text of inline tokens is bold."""
    depth = 0
    for token in tokens:
        depth += token.nesting * (token.tag == "strong")
        if token.type == "html_inline" and (mark := _BOLD_MARK.fullmatch(token.content)):
            depth += -1 if mark["end"] else 1
        if not depth and _text([token], {}).strip():
            return False
    return True


# Dashes before a blank line are a horizontal rule, as in Pandoc (https://pandoc.org/MANUAL.html#extension-yaml_metadata_block).
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?![ \t]*\n)(?P<yaml>(?:#[^\n]*\n|[ \t]*\n)*+[\w-]+:(?=\s).*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_TOML = re.compile(r"\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATES = ("date", "updated", "lastmod", "last_modified", "modified", "created")
"""Keys for the date of a text, best first."""


def _front_matter(text: str, notes: dict[str, None]) -> tuple[Piece, dict[str, str], int]:
    """The front matter of a text as a row with its keys as headers, its fields, and its end offset (0: there is none). What is
    not valid becomes a paragraph, with a note.
    """
    match = _FRONT_MATTER.match(text) or _TOML.match(text)
    if match is None:
        return Piece(BlockKind.ROW), {}, 0
    language = "YAML" if match.re is _FRONT_MATTER else "TOML"
    try:
        values = yaml.load(match[1], yaml.BaseLoader) if language == "YAML" else tomllib.loads(match[1])
    except (yaml.YAMLError, RecursionError, ValueError):
        notes |= {f"its front matter is not valid {language}: neither title nor date was taken from it": None}
        return Piece(BlockKind.PARAGRAPH, match[1], place="line 2"), {}, match.end()
    if not isinstance(values, dict):
        return Piece(BlockKind.ROW), {}, 0
    fields = {key: _shown(value) for key, value in values.items() if isinstance(key, str)}
    cells = tuple((key, value) for key, value in fields.items() if value and key != "title")
    return Piece(BlockKind.ROW, cells=cells, place="line 2", labelled=True), fields, match.end()


def _shown(value: object) -> str:
    """A value of front matter, or those of a list joined, without the markup of links and with characters in place of entities;
    deeper nesting is ignored.
    """
    parts = value if isinstance(value, list) else [value]
    text = ", ".join(str(part) for part in parts if not isinstance(part, list | dict))
    return unescape(_WIKI_LINK.sub(lambda link: (link[2] or link[1]).strip(), text))
