"""Parses Markdown (CommonMark with tables, footnotes, definition lists, strikethrough, front matter and wiki links) and Jupyter
notebooks, whose cells are Markdown and code.

The stored text is what a reader sees: the text of links, the alternative text of images, the content of HTML. A line break stays
if the line was too short to be wrapped. Task boxes, `[ ]` and `[x]`, stay. Struck-out text, comments (also those of Obsidian,
`%% ... %%`) and tags of templates (`{% ... %}`, `{{ ... }}`) are left out. Of notebooks, the output of code is left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape, unescape
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.newline import newline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode, parse_json_text
from hoptrail.documents.html import html_pieces, html_tree
from hoptrail.documents.html_markup import mark, unmarked
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import line_break
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DEEPEST = 60  # nested lists (which count twice), items and quotes; the parser is recursive
_WIKI_LINK = re.compile(
    r"(?P<shows>!?)\[\[(?!\s)(?=[^\[\]\n|]*[^\W\d_]|\d{4}-)(?P<page>[^\[\]\n|]+)(?:\|(?P<label>[^\[\]\n|]+))?\]\](?!\()"
)
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif)\s*\Z", re.IGNORECASE)
_MARK = re.compile(r"<(?P<end>/?)(?P<tag>b|strong|sup|sub|s|del|strike)\b[^>]*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_CODE = r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?P<ticks>`+)(?!`)[^\n]{0,999}?(?<!`)(?P=ticks)(?!`)"
_UNSEEN = re.compile(
    rf"(?P<code>{_CODE})"
    r"|^[ \t]*:::+[ \t]*(?:(?P<kind>[\w-]++)(?!\.)(?:\[\])?)?[ \t]*(?:\{[^{}\n]*\})?"
    r"|(?<![\w%])%%(?!%).*?%%|\{%-?\s*comment\b.{0,9999}?endcomment\s*-?%\}"
    r"|\{%(?P<tag>[^{}\n]*)%\}|\{#[^{}\n]*#\}|(?<![\w\\^_}$])\{\{[^{}\n]*\}\}"
    rf"|(?<![ \t])[ \t]*\{{[:#.][^{{}}\n]*\}}[ \t]*$|[ \t]\^[\w-]+$|{_WIKI_LINK.pattern}",
    re.MULTILINE | re.DOTALL,
)
"""Code, which stays, and comments, fences of boxes, tags of templates, attributes and names of blocks, which nobody sees."""
_BOX = re.compile(
    rf"(?P<code>{_CODE}"
    r"|^(?![ \t]|[-*+:[]|\d|!!!|\?\?\?|===)[^\n]+\n(?:[ \t]*\n)++(?:(?:[ ]{4}|\t)[^\n]*(?:\n|\Z)(?:[ \t]*\n)*+)+)"
    r"""|^(?P<indent>[ ]*)(?:(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w-]+)|===(?=[ ]"))[^"\n]*(?:"(?P<title>[^"\n]*)"[^"\n]*)?\n"""
    r"(?P<body>(?:[ \t]*\n|(?P=indent)(?:[ ]{4}|\t)[^\n]*(?:\n|\Z))+)",
    re.MULTILINE | re.DOTALL,
)
"""Code, also what is indented below a paragraph, and a box or tab of MkDocs, whose content is indented like code."""
_BOXES = word_set("attention caution danger error hint important info note question success tip warning")
"""Kinds of boxes between `:::` that a page names; others only lay it out: `::: columns`."""
_DIRECTIVE = re.compile(
    rf"^(?P<indent>[ ]*)(?P<edge>```+|:::+)\{{(?P<kind>{'|'.join(sorted(_BOXES))})\}}[ \t]*(?P<title>[^\n]*)\n"
    r"(?P<body>(?:(?!(?P=indent)(?P=edge))[^\n]*\n)*+)(?P=indent)(?P=edge)[ \t]*$"
    rf"|(?P<code>{_CODE})",
    re.MULTILINE | re.DOTALL,
)
"""A box of MyST, whose content is not indented, and other code, which may show one."""
_NAMED = re.compile(r"""["']([\w #@&+-]+)["']""")  # what a tag of a template is about: `{% channel "tock" %}`
_UNRESOLVED = re.compile(
    r"\[([^\[\]\n]+)\](?:\[[^\[\]\n]*\]|\([^()\n]*\))|(?<![=\w])==(?=[^\s=])([^=\n]+)(?<=\S)==(?!=)"
)
"""Links that lead nowhere, and marked text of Obsidian."""
_CALLOUT = re.compile(r"\[!(\w+)\][-+]?\s*")


def parse_markdown(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of the front matter, else the first heading), date (of the front matter) and blocks."""
    decoded = decode(data)
    notes: dict[str, None] = dict.fromkeys(decoded.notes)
    front, fields, end = _front_matter(decoded.text, notes)
    pieces = [front, *markdown_pieces(decoded.text[end:], decoded.text.count("\n", 0, end), notes)]
    title = fields.get("title") or squeeze(first_heading(pieces))
    values = (fields.get(key, "") for key in _DATES)
    date = next(filter(None, (value if _YEAR.fullmatch(value) else find_date(value) for value in values)), "")
    return assemble(title, pieces, tuple(notes), limits.text, (date, "front matter"))


def markdown_pieces(text: str, lines_before: int = 0, notes: dict[str, None] | None = None) -> list[Piece]:
    """The pieces of a Markdown text without front matter, `lines_before` lines into its file. `notes` gets what was left out.
    Raises: Unreadable: it is nested beyond `_DEEPEST`, where the parser would drop the rest of the text.
    """
    parser, env = _parser(), dict[str, Any]()
    text, before = _DIRECTIVE.sub(_opened, unmarked(text)), ""
    while text != before:  # boxes in boxes
        before, text = text, _BOX.sub(_opened, text)
    tokens = parser.parse(_UNSEEN.sub(_seen, text), env)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        raise Unreadable("has lists or quotes nested too deep")
    _prepare(tokens, lines_before)
    return html_pieces(parser.renderer.render(tokens, parser.options, env), notes=notes)


def _prepare(tokens: Sequence[Token], lines_before: int) -> None:
    """Mark the lines of texts, write what stands before some of them, and make headings in quotes plain."""
    line, quotes, before = lines_before + 1, 0, ""
    for token in tokens:
        if token.map and token.nesting >= 0:
            line = token.map[0] + lines_before + 1
        quotes += token.nesting * (token.tag == "blockquote")
        if token.type in ("fence", "code_block"):
            token.content = mark(line) + token.content
        elif token.type == "html_block":
            page = html_tree(token.content, lines=True, first_line=line)  # what it leaves open ends with it
            parts = [*(style.html for style in page.css("head style")), page.body.inner_html if page.body else ""]
            token.content = "".join(filter(None, parts))
        elif token.type.startswith("heading") and quotes:
            token.tag = "p"
        elif token.type == "footnote_reference_open":
            before = f"[{token.meta['label']}] "
        elif token.type == "inline" and token.children:
            _keep_whole_marks(token.children)
            first = token.children[0]
            if quotes and (callout := _CALLOUT.match(first.content)):
                before, first.content = f"{callout[1].capitalize()}: ", first.content[callout.end() :]
                if not first.content and token.children[1:]:
                    token.children[1].content = ""
            token.children.insert(0, type(token)("text", "", 0, content=mark(line) + before))
            before = ""


def _keep_whole_marks(tokens: Sequence[Token]) -> None:
    """Of the HTML within a text, keep line breaks and pairs of the tags that change what is read."""
    begun: list[Token] = []
    for token in tokens:
        if token.type != "html_inline":
            continue
        tag = _MARK.fullmatch(token.content)
        kept, token.content = token.content, "<br>" if _BREAK.match(token.content) else ""
        if tag and not tag["end"]:
            token.meta["tag"] = tag["tag"].lower()
            begun.append(token)
        elif tag and begun and begun[-1].meta["tag"] == tag["tag"].lower():
            begun.pop().content, token.content = f"<{tag['tag']}>", kept


def _shown_link(link: re.Match[str]) -> str:
    return "" if link["shows"] and _PICTURE.search(link["page"]) else (link["label"] or link["page"]).strip()


def _opened(box: re.Match[str]) -> str:
    """A box as other text, on as many lines."""
    if box["code"]:
        return box[0]
    more = "" if box.re is _DIRECTIVE else r"(?: {4}|\t)"
    body = re.sub(rf"^{box['indent']}{more}", box["indent"], box["body"], flags=re.MULTILINE)
    name = ": ".join(filter(None, ((box["kind"] or "").capitalize(), box["title"])))
    return f"{box['indent']}{name}\n{body}"


def _seen(unseen: re.Match[str]) -> str:
    """What stays: of a comment or tag its line breaks, and the words that a tag within a line is about; the kind of a box."""
    if unseen["code"]:
        return unseen[0]
    if unseen["page"]:
        return "\u2060" + _shown_link(unseen)  # nobody sees this mark, behind which a number begins no list
    text = unseen.string
    if (unseen["kind"] or "").lower() in _BOXES:
        return unseen["kind"].capitalize() + ": " * (text[unseen.end() : unseen.end() + 1] not in ("", "\n"))
    line = text[text.rfind("\n", 0, unseen.start()) + 1 : unseen.start()]
    named = "" if unseen["tag"] is None or not line.strip() else " ".join(_NAMED.findall(unseen["tag"]))
    return named + "\n" * unseen[0].count("\n")


@cache
def _parser() -> MarkdownIt:
    """Footnotes stay where they are written, even without a reference."""
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin, inline=False, move_to_end=False).use(deflist_plugin)
    parser.inline.ruler.at("newline", _newline)
    for name, text in _RULES.items():
        parser.add_render_rule(name, lambda _self, tokens, place, *_, text=text: text(tokens[place]))
    return parser


_RULES: dict[str, Callable[[Token], str]] = {
    **dict.fromkeys(("link_open", "link_close", "footnote_reference_open", "footnote_reference_close"), lambda _: ""),
    "softbreak": lambda token: token.content.replace("\n", "<br>"),
    "image": lambda token: escape(_text(token.children or ())),
    "footnote_ref": lambda token: escape(f"[{token.meta['label']}]"),
    "text": lambda token: escape(_UNRESOLVED.sub(lambda found: found[1] or found[2], token.content)),
}
"""What is written of tokens, where it is not what a browser gets."""


def _text(tokens: Iterable[Token]) -> str:
    return "".join(_text(token.children) if token.children else token.content for token in tokens)


def _newline(state: StateInline, silent: bool) -> bool:
    """The parser's rule for line breaks, but the content of the token is the text of the break."""
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


# Dashes before a blank line are a horizontal rule, as in Pandoc (https://pandoc.org/MANUAL.html#extension-yaml_metadata_block).
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?![ \t]*\n)(?P<yaml>(?:#[^\n]*\n|[ \t]*\n)*+[\w-]+:(?=\s).*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_TOML = re.compile(r"\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATES = ("date", "updated", "lastmod", "last_modified", "modified", "created")  # the best key for a date first


def _front_matter(text: str, notes: dict[str, None]) -> tuple[Piece, dict[str, str], int]:
    """The front matter as a row (a paragraph, with a note, if it is not valid), its fields, and its end (0: there is none)."""
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
    """A value of front matter, or those of a list, without links and entities; deeper nesting is ignored."""
    parts = value if isinstance(value, list) else [value]
    text = ", ".join(str(part) for part in parts if not isinstance(part, list | dict))
    return unescape(_WIKI_LINK.sub(_shown_link, text))


def parse_ipynb(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a notebook: title (of its metadata, else the first heading) and blocks, each with the number of its cell."""
    decoded = decode(data)
    notebook = parse_json_text(decoded.text, "a notebook")
    if not isinstance(notebook, dict) or not isinstance(cells := _cells_of(notebook), list):
        raise Unreadable("is not a notebook: it has no list of cells")
    pieces = [piece for number, cell in enumerate(cells, 1) for piece in _cell_pieces(number, cell)]
    metadata = notebook.get("metadata")
    declared = metadata.get("title") if isinstance(metadata, dict) else None
    title = declared if declared and isinstance(declared, str) else first_heading(pieces)
    return assemble(title, pieces, decoded.notes, limits.text)


def _cells_of(notebook: dict[str, Any]) -> object:
    """The cells of format 4, or of the worksheets of earlier formats."""
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return notebook.get("cells")
    parts = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    return [cell for part in parts if isinstance(part, list) for cell in part]


def _cell_pieces(number: int, cell: object) -> Iterator[Piece]:
    if not isinstance(cell, dict):
        return
    place, kind = f"cell {number}", cell.get("cell_type")
    source = cell.get("source", cell.get("input", ""))  # a string or a list of them; `input` is of code in format 3
    text = "".join(part for part in (source if isinstance(source, list) else [source]) if isinstance(part, str))
    if kind == "heading":  # of format 3
        level = cell.get("level")
        yield Piece(BlockKind.HEADING, text, level if isinstance(level, int) and 1 <= level <= 6 else 1, place=place)
    elif kind == "markdown":
        yield from (replace(piece, place=place) for piece in markdown_pieces(text))
    else:
        yield Piece(BlockKind.CODE if kind == "code" else BlockKind.PARAGRAPH, text, place=place)
