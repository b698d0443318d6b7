"""Wikitext to plain text: the words that a reader of the page sees in its paragraphs, headings and lists.

mwparserfromhell parses; what is never shown as prose (comments, references, tables) is cut away before it, because that is
more than half of a long page and because missing end tags make the parser's time grow with the square of the text. Links that
hold nothing but words become these words before it as well: half of the parser's time goes into them. Templates show what
`templates.py` tells. Nothing is expanded that the wiki would have to compute, and no formula is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hoptrail.documents.decoding import cleaned
from hoptrail.documents.wikipedia.page import CATEGORY, FILE, Site
from hoptrail.documents.wikipedia.templates import ITEM, filled, is_known, says_nothing, shown, template_name
from hoptrail.text.normal_forms import squeeze

HEADING = "\x1e"
"""Begins the line of a heading, before the digit of its level."""
LONGEST_NAME = 80
"""Characters by which a template is counted."""

_REFERENCE = re.compile(r"<ref\b[^<>]*+>|</ref\s*+>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--|-->")
_TAG = re.compile(
    r"</?(?:ref|references|div|span|p|br|small|big|center|font|b|i|u|s|sup|sub|blockquote|gallery|table|tr|td|th|ul|ol|li|nowiki"
    r"|noinclude|includeonly|onlyinclude|poem|code|pre|math|cite|section|abbr|em|strong|tt|var|del|ins|hr|dl|dd|dt)\b[^<>]*+/?>",
    re.IGNORECASE,
)
# Not behind a letter or a bracket, nor where its words could become part of an address, or begin one with what follows. What
# stands before is looked at behind the brackets, so that the search can skip to these.
_PLAIN_LINK = re.compile(
    r"\[\[(?<![\w\[{/.:?&%#-]\[\[)(?:[^\[\]{}<>|\n:&=/]+\|)?+"
    r"([^\[\]{}<>|\n:&=/~*#;'-](?:[^\[\]{}<>|\n:&=/]*[^\[\]{}<>|\n:&=/'])?)\]\](?!\]|\w{1,20}:)"
)
_VERBATIM = re.compile(r"\{\{\{|<(?:nowiki|pre|ce|chem|inputbox|section|templatedata)\b", re.IGNORECASE)
_LEFTOVER = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|__[A-Z]{3,30}__")
_QUOTES = re.compile(r"'{2,}+")
_ODD = re.compile(r"[<{}\[\]|_'\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u00ad\ufeff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u00ad\ufeff]")
_EMPTY_BRACKETS = re.compile(r"[ ]?\((?:\s*[,;:])*\s*\)")
_BRACKET = re.compile(r"\((?:\s*[,;])+\s*|\(\s+")
_BEFORE_STOP = re.compile(r"[ ]+([,.;:)])(?=\s|$)")
_OTHER_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+){0,2}:\S")
_UNSEEN = {
    *(
        "ref",
        "references",
        "gallery",
        "math",
        "chem",
        "timeline",
        "score",
        "style",
        "script",
        "imagemap",
        "templatestyles",
    ),
    *("table", "syntaxhighlight", "source", "graph", "maplink", "mapframe", "hiero", "indicator", "categorytree"),
}
_BREAKING = {"br", "li", "dt", "dd", "p", "div", "blockquote", "center", "hr", "ul", "ol", "dl", "poem"}


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or heading, on one line. `level` is that of a heading (1 to 6), 0 for other text."""

    text: str
    level: int = 0


def without_unseen(text: str) -> str:
    """`text` without comments, references and tables, whose end tags may be missing. Linear in its length."""
    return _without_tables(_without(_REFERENCE, _without(_COMMENT, text, "-->"), "</"))


def with_plain_links(text: str) -> str:
    """`text` with its words in place of every link that holds words alone, which read the same wherever they stand.

    Left to the parser are links with a colon (files, categories, languages, addresses) or any other markup in them, and all
    links of a text with verbatim parts or template arguments. Linear in the length.
    """
    return text if _VERBATIM.search(text) else _PLAIN_LINK.sub(r"\1", text)


def _without(marks: re.Pattern[str], text: str, closing: str) -> str:
    """`text` without what stands between an opening mark and the next closing one, and without marks that have no partner."""
    kept: list[str] = []
    place, opened = 0, -1
    for mark in marks.finditer(text):
        if mark[0].startswith(closing):
            if opened < 0:
                kept.append(text[place : mark.start()])
            place, opened = mark.end(), -1
        elif opened < 0 or closing == "</":
            kept.append(text[place : mark.start()])
            place = mark.end()
            opened = -1 if mark[0].endswith("/>") else mark.start()
    if opened >= 0 and closing == "-->":
        return "".join(kept)  # as the wiki does: a comment that is not closed hides the rest
    kept.append(text[place:])
    return "".join(kept)


def _without_tables(text: str) -> str:
    """`text` without its tables; one that does not end ends before the next heading."""
    if "{|" not in text:
        return text
    kept: list[str] = []
    depth = 0
    for line in text.split("\n"):
        begun = line.lstrip(" :*#\t")
        if begun.startswith("{|"):
            depth += 1
        elif begun.startswith("|}") and not begun.startswith("|}}"):
            if not depth or not (depth := depth - 1):
                kept.append(begun[2:])
        elif depth and not line.startswith("=="):
            continue
        else:
            depth = 0
            kept.append(line)
    return "\n".join(kept)


@dataclass(frozen=True)
class Renderer:
    """Parsed wikitext as text. `site` tells which links show a file or name a category, `templates` what further templates show
    (`templates.filled`). `dropped` counts those that showed nothing, though they may have words.
    """

    site: Site
    templates: Mapping[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def blocks(self, code: Any) -> Iterator[Block]:
        """The blocks of a parsed text (Wikicode), none empty."""
        yield from _blocks(self.text(code.nodes))

    def line(self, code: Any) -> str:
        """The same on one line, as an infobox has it; list items are parted by commas."""
        return ", ".join(block.text.rstrip(",") for block in self.blocks(code))

    def text(self, nodes: Iterable[Any]) -> str:
        """With the marks ITEM and HEADING; line breaks as in the source."""
        return "".join(self._NODES[type(node).__name__](self, node) for node in nodes)

    def _text(self, node: Any) -> str:
        text: str = node.value
        if not _ODD.search(text):
            return text
        return _QUOTES.sub(_quotes, _LEFTOVER.sub("", _TAG.sub("", _CONTROL.sub("", text))))

    def _heading(self, node: Any) -> str:
        return f"\n{HEADING}{node.level}{self.text(node.title.nodes)}\n"

    def _link(self, node: Any) -> str:
        title = str(node.title).strip()
        if self.site.namespace_of(title) in {FILE, CATEGORY} or (not node.text and _OTHER_LANGUAGE.match(title)):
            return ""
        return self.text((node.title if node.text is None else node.text).nodes).removeprefix(":")

    def _external(self, node: Any) -> str:
        return self.text(node.title.nodes) if node.title else "" if node.brackets else str(node.url)

    def _template(self, node: Any) -> str:
        name = template_name(str(node.name))
        own = self.templates.get(name)
        if own == "" or (own is None and says_nothing(name)):
            return ""
        text = ""
        if own or is_known(name):
            arguments = {str(one.name).strip(): self.text(one.value.nodes).strip(" \n") for one in node.params}
            text = filled(own, arguments) if own else _shown(name, arguments)
        if not text:
            self.dropped[name[:LONGEST_NAME]] += 1
        return text

    def _tag(self, node: Any) -> str:
        name = str(node.tag).strip().lower()
        if name in _UNSEEN:
            return ""
        content = "" if node.contents is None else self._content(name, node)
        return (
            f"\n{ITEM}{content}" + ("" if node.self_closing or node.wiki_markup else f"\n{ITEM}")
            if name in _BREAKING
            else content
        )

    def _content(self, name: str, node: Any) -> str:
        return _CONTROL.sub("", str(node.contents)) if name == "nowiki" else self.text(node.contents.nodes)

    def _entity(self, node: Any) -> str:
        try:
            return _CONTROL.sub("", cleaned(node.normalize()).text)
        except (ValueError, OverflowError):
            return ""  # a number that is no character

    def _argument(self, node: Any) -> str:
        return self.text(node.default.nodes) if node.default else ""

    def _nothing(self, _: Any) -> str:
        return ""

    _NODES: ClassVar[Mapping[str, Callable[[Renderer, Any], str]]] = {
        "Text": _text,
        "Heading": _heading,
        "Wikilink": _link,
        "ExternalLink": _external,
        "Template": _template,
        "Tag": _tag,
        "HTMLEntity": _entity,
        "Argument": _argument,
        "Comment": _nothing,
    }


def _shown(name: str, arguments: Mapping[str, str]) -> str:
    unnamed = [key for key in map(str, range(1, len(arguments) + 1)) if key in arguments]
    named = {key: value for key, value in arguments.items() if key not in unnamed}
    return shown(name, [arguments[key] for key in unnamed or ["text"] if key in arguments], named)


def _quotes(found: re.Match[str]) -> str:
    """Two, three and five quotes are italics and bold; of others some are meant as quotes."""
    return "'" * {2: 0, 3: 0, 4: 1, 5: 0}.get(len(found[0]), max(0, len(found[0]) - 5))


def _blocks(text: str) -> Iterator[Block]:
    """Lines that follow one another are one paragraph, unless a mark or an empty line stands between."""
    open_lines: list[str] = []
    for line in text.split("\n"):
        marked = line[:1] in {ITEM, HEADING}
        if (marked or not line.strip()) and open_lines:
            yield from _block(" ".join(open_lines))
            open_lines = []
        if line.startswith(HEADING):
            yield from _block(line[2:], int(line[1]))
        elif line.strip():
            open_lines.append(line)
        if line.startswith(ITEM) and open_lines:
            yield from _block(" ".join(open_lines))
            open_lines = []
    yield from _block(" ".join(open_lines))


def _block(text: str, level: int = 0) -> Iterator[Block]:
    line = squeeze(text.replace(ITEM, " ").replace(HEADING, " "))
    if "(" in line:
        line = _BRACKET.sub("(", _EMPTY_BRACKETS.sub("", line))
    line = _BEFORE_STOP.sub(r"\1", line).strip()
    if any(letter.isalnum() for letter in line):
        yield Block(line, level)


Rule = Callable[[str], bool]


def without_sections(blocks: Iterable[Block], left_out: Rule) -> Iterator[Block]:
    """Without the sections that a heading names as left out, and without headings that nothing stands under."""
    waiting: list[Block] = []
    hidden = 0
    for block in blocks:
        if block.level:
            if not hidden or block.level <= hidden:
                hidden = block.level if left_out(block.text) else 0
            waiting = [one for one in waiting if one.level < block.level]
            waiting += [] if hidden else [block]
        elif not hidden:
            yield from waiting
            yield block
            waiting = []
