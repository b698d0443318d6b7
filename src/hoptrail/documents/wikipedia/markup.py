"""Converts wikitext to the text that a reader sees in paragraphs, headings and lists.

mwparserfromhell parses it. Comments, references and tables are removed before parsing: they are more than half of a long page,
and missing end tags would make the parser's time quadratic. Links that contain only words become these words, which saves half of
the parser's time. `templates.py` has the text of templates. Formulas, and anything that the wiki computes, are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hoptrail.documents.decoding import cleaned
from hoptrail.documents.wikipedia.page import CATEGORY, FILE, Site
from hoptrail.documents.wikipedia.templates import ITEM, filled, is_known, says_nothing, shown, template_name
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze

HEADING = "\x1e"
"""Starts the line of a heading, before the digit of its level."""
LONGEST_NAME = 80
"""Characters of a template's name under which it is counted."""

_REFERENCE = re.compile(r"<ref\b[^<>]*+>|</ref\s*+>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--|-->")
_TAG = re.compile(
    r"</?(?:ref|references|div|span|p|br|small|big|center|font|b|i|u|s|sup|sub|blockquote|gallery|table|tr|td|th|ul|ol|li|nowiki"
    r"|noinclude|includeonly|onlyinclude|poem|code|pre|math|cite|section|abbr|em|strong|tt|var|del|ins|hr|dl|dd|dt)\b[^<>]*+/?>",
    re.IGNORECASE,
)
# Not after a letter or bracket, nor where its words could become part of an address or begin one. The look-behind comes after the
# brackets, so that the search can skip to them.
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
_HIDDEN_TAGS = word_set(
    "ref references gallery math chem timeline score style script imagemap templatestyles table syntaxhighlight source graph "
    "maplink mapframe hiero indicator categorytree"
)
_BREAKING = word_set("br li dt dd p div blockquote center hr ul ol dl poem")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or heading, on one line. `level` is that of a heading (1 to 6), 0 for other text."""

    text: str
    level: int = 0


def without_unseen(text: str) -> str:
    """`text` without comments, references and tables, even if end tags are missing. Takes linear time."""
    return _without_tables(_without(_REFERENCE, _without(_COMMENT, text, "-->"), "</"))


def with_plain_links(text: str) -> str:
    """`text` with every link that contains only words replaced by these words. Takes linear time.

    The parser handles links with a colon (files, categories, languages, addresses) or other markup, and all links of a text with
    verbatim parts or template arguments.
    """
    return text if _VERBATIM.search(text) else _PLAIN_LINK.sub(r"\1", text)


def _without(marks: re.Pattern[str], text: str, closing: str) -> str:
    """`text` without the parts between an opening mark and the next closing one, and without unpaired marks."""
    parts: list[str] = []
    place, opened = 0, -1
    for mark in marks.finditer(text):
        if mark[0].startswith(closing):
            if opened < 0:
                parts.append(text[place : mark.start()])
            place, opened = mark.end(), -1
        elif opened < 0 or closing == "</":
            parts.append(text[place : mark.start()])
            place = mark.end()
            opened = -1 if mark[0].endswith("/>") else mark.start()
    if opened >= 0 and closing == "-->":
        return "".join(parts)  # as in the wiki, an unclosed comment hides the rest
    parts.append(text[place:])
    return "".join(parts)


def _without_tables(text: str) -> str:
    """`text` without its tables; an unclosed table ends before the next heading."""
    if "{|" not in text:
        return text
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        stripped = line.lstrip(" :*#\t")
        if stripped.startswith("{|"):
            depth += 1
        elif stripped.startswith("|}") and not stripped.startswith("|}}"):
            if not depth or not (depth := depth - 1):
                lines.append(stripped[2:])
        elif depth and not line.startswith("=="):
            continue
        else:
            depth = 0
            lines.append(line)
    return "\n".join(lines)


@dataclass(frozen=True)
class Renderer:
    """Renders parsed wikitext as text.

    `site` has the namespaces of files and categories; `templates` has patterns for further templates (`templates.Pattern`);
    `dropped` counts templates that showed nothing although they may have text.
    """

    site: Site
    templates: Mapping[str, str] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def blocks(self, code: Any) -> Iterator[Block]:
        """Yield the blocks of a parsed text (Wikicode); none is empty."""
        yield from _blocks(self.text(code.nodes))

    def line(self, code: Any) -> str:
        """The text on one line, for an infobox; list items are separated by commas."""
        return ", ".join(block.text.rstrip(",") for block in self.blocks(code))

    def text(self, nodes: Iterable[Any]) -> str:
        """The text of nodes with the marks ITEM and HEADING, and line breaks as in the source."""
        return "".join(map(self._shown, nodes))

    def _shown(self, node: Any) -> str:
        match type(node).__name__:
            case "Text":
                return _shown_text(node.value)
            case "Wikilink":
                return self._link(node)
            case "Template":
                return self._template(node)
            case "Tag":
                return self._tag(node)
            case "HTMLEntity":
                return _character(node)
            case "Heading":
                return f"\n{HEADING}{node.level}{self.text(node.title.nodes)}\n"
            case "ExternalLink":
                address = "" if node.brackets else str(node.url)
                return self.text(node.title.nodes) if node.title else address
            case "Argument" if node.default:
                return self.text(node.default.nodes)
        return ""

    def _link(self, node: Any) -> str:
        title = str(node.title).strip()
        if self.site.namespace_of(title) in {FILE, CATEGORY} or (not node.text and _OTHER_LANGUAGE.match(title)):
            return ""
        return self.text((node.title if node.text is None else node.text).nodes).removeprefix(":")

    def _template(self, node: Any) -> str:
        name = template_name(str(node.name))
        own = self.templates.get(name)
        if own == "" or (own is None and says_nothing(name)):
            return ""
        text = ""
        if own or is_known(name):
            arguments = {str(item.name).strip(): self.text(item.value.nodes).strip(" \n") for item in node.params}
            text = filled(own, arguments) if own else _template_text(name, arguments)
        if not text:
            self.dropped[name[:LONGEST_NAME]] += 1
        return text

    def _tag(self, node: Any) -> str:
        name = str(node.tag).strip().lower()
        if name in _HIDDEN_TAGS:
            return ""
        if node.contents is None:
            content = ""
        else:
            content = _CONTROL.sub("", str(node.contents)) if name == "nowiki" else self.text(node.contents.nodes)
        if name not in _BREAKING:
            return content
        return f"\n{ITEM}{content}" + ("" if node.self_closing or node.wiki_markup else f"\n{ITEM}")


def _shown_text(text: str) -> str:
    if not _ODD.search(text):
        return text
    return _QUOTES.sub(_quotes, _LEFTOVER.sub("", _TAG.sub("", _CONTROL.sub("", text))))


def _character(entity: Any) -> str:
    try:
        return _CONTROL.sub("", cleaned(entity.normalize()).text)
    except (ValueError, OverflowError):
        return ""  # a number without a character


def _template_text(name: str, arguments: Mapping[str, str]) -> str:
    unnamed = [key for key in map(str, range(1, len(arguments) + 1)) if key in arguments]
    named = {key: value for key, value in arguments.items() if key not in unnamed}
    return shown(name, [arguments[key] for key in unnamed or ["text"] if key in arguments], named)


def _quotes(match: re.Match[str]) -> str:
    """Two, three and five quotes are italics and bold; further ones are literal."""
    return "'" * {2: 0, 3: 0, 4: 1, 5: 0}.get(len(match[0]), max(0, len(match[0]) - 5))


def _blocks(text: str) -> Iterator[Block]:
    """Yield the blocks; adjacent lines are one paragraph unless a mark or empty line separates them."""
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


def without_sections(blocks: Iterable[Block], left_out: Callable[[str], bool]) -> Iterator[Block]:
    """Drop the sections whose heading is `left_out`, and headings without text below them."""
    waiting: list[Block] = []
    hidden = 0
    for block in blocks:
        if block.level:
            if not hidden or block.level <= hidden:
                hidden = block.level if left_out(block.text) else 0
            waiting = [heading for heading in waiting if heading.level < block.level]
            waiting += [] if hidden else [block]
        elif not hidden:
            yield from waiting
            yield block
            waiting = []
