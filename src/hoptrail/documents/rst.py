"""Parses reStructuredText with docutils, which may open no other file and run nothing.

Directives and roles unknown to docutils, such as those of Sphinx, give the text in them. Text with errors stays, as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, assemble, first_heading
from hoptrail.documents.decoding import decode
from hoptrail.documents.html import html_pieces
from hoptrail.documents.html_markup import mark, unmarked
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import unwrapped
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set

_DIRECTIVE = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w.:+-]+?)[ \t]?::(?:[ \t]|$)", re.MULTILINE)
_ROLE = re.compile(r":([A-Za-z][\w.:+-]{0,60}?):`|`:([A-Za-z][\w.:+-]{0,60}?):")
_NUMBERED = ("pep", "rfc")  # roles whose text docutils restricts to a number, and Sphinx does not
_MOST_NAMES = 1000  # unknown directives, and unknown roles, that a file may have; more are errors

_WITHOUT_TEXT = word_set(
    "toctree index highlight module currentmodule include literalinclude raw contents sectnum tabularcolumns default-domain meta "
    "date graphviz mermaid uml automodule autoclass autofunction autosummary"
)
_LITERAL = word_set(
    "code code-block sourcecode parsed-literal doctest testcode testoutput prompt console productionlist command-output"
)
_OFF = ("file_insertion_enabled", "raw_enabled", "warning_stream", "doctitle_xform", "docinfo_xform")
_SETTINGS: dict[str, Any] = {**dict.fromkeys(_OFF, False), **dict.fromkeys(("halt_level", "report_level"), 5)}
_SETTINGS |= {"_disable_config": True, "input_encoding": "unicode"}
_SINCE = {"versionadded": "Added in", "versionchanged": "Changed in", "deprecated": "Deprecated since"}


def parse_rst(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (the first heading), date (the field `date`) and blocks."""
    decoded = decode(data)
    _register_unknown(decoded.text)
    writer, settings = _Writer(), {**_SETTINGS, "line_length_limit": limits.text}
    try:
        writer.write(publish_doctree(unmarked(decoded.text), settings_overrides=settings))
    except RecursionError as error:
        raise Unreadable("has lists or quotes nested too deep") from error
    pieces = html_pieces("".join(writer.parts))
    return assemble(first_heading(pieces), pieces, decoded.notes, limits.text, (writer.date, "front matter"))


def _register_unknown(text: str) -> None:
    """Register the unknown directives and roles that the file uses with docutils. Names from earlier files do no harm."""
    used = sorted({match[1].lower() for match in _DIRECTIVE.finditer(text)})
    for name in [name for name in used if name not in en.directives or name in _WITHOUT_TEXT | _LITERAL][:_MOST_NAMES]:
        directives.register_directive(name, _Unknown)
    used = sorted({(match[1] or match[2]).lower() for match in _ROLE.finditer(text)})
    for name in (*[name for name in used if name not in en.roles][:_MOST_NAMES], *_NUMBERED):
        roles.register_local_role(name, _role)


def _role(name: str, rawtext: str, text: str, *_rest: Any) -> tuple[list[Any], list[Any]]:
    """Reads `text <target>` as `text` and `~package.name` as `name`, like Sphinx."""
    label, bracket, _ = text.rpartition("<")
    if bracket and label.strip() and text.endswith(">"):
        text = label.strip()
    elif name.lower() in _NUMBERED:
        text = f"{name.upper()} {text}"
    elif text.startswith("~"):
        text = text.rpartition(".")[2].removeprefix("~")
    return [nodes.inline(rawtext, nodes.unescape(text.removeprefix("!")))], []


class _AnyOption(dict[str, Any]):
    def __bool__(self) -> bool:
        return True

    def __getitem__(self, _: str) -> Callable[[str], str]:
        return lambda value: value or ""


class _Unknown(Directive):
    """A directive that docutils does not know or must not execute: only its text is read."""

    optional_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True
    has_content: ClassVar[bool] = True
    option_spec = _AnyOption()

    def run(self) -> Sequence[nodes.Node]:
        if self.name in _WITHOUT_TEXT:
            return []
        source = "\n".join(self.content)
        if self.name in _LITERAL:
            literal = nodes.literal_block(source, source)
            literal.line = self.content_offset + 1
            return [literal]
        argument = " ".join(self.arguments)
        if self.name in _SINCE:
            version, _, change = argument.partition("\n")
            argument = f"{_SINCE[self.name]} version {version}: {change}".rstrip(": ")
        inline, messages = self.state.inline_text(argument, self.lineno)
        paragraph = nodes.paragraph(argument, "", *inline)
        paragraph.line = self.lineno
        content = nodes.container(source)
        self.state.nested_parse(self.content, self.content_offset, content)
        return [*([paragraph] if argument else []), *content.children, *messages]


class _Writer:
    """Writes a tree as HTML with the lines of its texts; of nodes without an element, what is in them. `date` is of a field."""

    _LITERAL = (nodes.literal_block, nodes.doctest_block, nodes.math_block)
    _UNSEEN = (nodes.comment, nodes.target, nodes.substitution_definition, nodes.raw, nodes.pending)
    _NOTES = (nodes.footnote, nodes.citation, nodes.Admonition)
    _LEFT_OUT = (*_UNSEEN, nodes.classifier, nodes.label)
    _ELEMENTS: ClassVar[dict[type, str]] = {
        **dict.fromkeys((nodes.definition_list, nodes.field_list, nodes.option_list), "dl"),
        **dict.fromkeys((nodes.definition, nodes.field_body, nodes.description), "dd"),
        **dict(zip((nodes.bullet_list, nodes.enumerated_list, nodes.list_item), ("ul", "ol", "li"), strict=True)),
        **dict(zip((nodes.block_quote, nodes.table, nodes.thead), ("blockquote", "table", "thead"), strict=True)),
        nodes.row: "tr",
    }

    def __init__(self) -> None:
        self.date = ""
        self.parts: list[str] = []
        self._line = 1
        self._sections = 0
        self._prefix = ""

    def write(self, node: Any) -> None:
        """Write a node and its descendants in order."""
        if line := getattr(node, "line", None):
            self._line = line - (isinstance(node, nodes.title) and not isinstance(node.parent, nodes.table))
        if isinstance(node, nodes.row):  # lines of a CSV table count from its start
            lines = (part.line for part in node.findall() if getattr(part, "line", None))
            self._line = max(self._line, next(lines, None) or 1)
        if isinstance(node, self._LEFT_OUT):
            return
        if (leaf := self._leaf(node)) is not None:
            tag, text = leaf
            if tag == "p":
                text, self._prefix = (self._prefix + text, "") if text.strip() else ("", self._prefix)
            if text.strip() or tag.startswith("td"):
                shown = escape(text) if tag == "pre" else escape(text).replace("\n", "<br>")
                self.parts.append(f"<{tag}>{mark(self._line)}{shown}</{tag.split()[0]}>")
            return
        self._sections += isinstance(node, nodes.section)
        if issubclass(type(node), self._NOTES) and type(node) is not nodes.admonition:
            label = next((child.astext() for child in node.children if isinstance(child, nodes.label)), "")
            self._prefix = f"[{label}] " if label else f"{node.tagname.capitalize()}: "
        tag = self._ELEMENTS.get(type(node), "")
        self.parts += [f"<{tag}>"] if tag else []
        for child in node.children:
            if not isinstance(node, nodes.system_message) or isinstance(child, nodes.literal_block):
                self.write(child)
        self.parts += [f"</{tag}>"] if tag else []
        self._sections -= isinstance(node, nodes.section)
        self._prefix = ""

    def _leaf(self, node: Any) -> tuple[str, str] | None:
        """The element and the text of a node that is written as a text; None for other nodes."""
        if isinstance(node, self._LITERAL):
            return "pre", node.astext()
        if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            return f"h{min(self._sections, DEEPEST_HEADING)}", _visible_text(node)
        if isinstance(node, nodes.entry):
            spans = f"td colspan={1 + node.get('morecols', 0)} rowspan={1 + node.get('morerows', 0)}"
            return spans, " ".join(
                _visible_text(one) if isinstance(one, nodes.TextElement) else one.astext() for one in node.children
            )
        if isinstance(node, nodes.field_name):
            value = node.parent.children[-1].astext()
            self.date = self.date or (find_date(value) if node.astext().lower() == "date" else "")
            return "dt", _visible_text(node) if value else ""
        if isinstance(node, nodes.option_group):
            return "dt", ", ".join(option.astext() for option in node.findall(nodes.option))
        if isinstance(node, nodes.term):
            kinds = (child for child in node.parent.children if isinstance(child, nodes.classifier))
            return "dt", "".join([_visible_text(node), *(f" ({_visible_text(kind)})" for kind in kinds)])
        if isinstance(node, nodes.TextElement | nodes.image | nodes.line_block):
            lines = [_visible_text(line) for line in node.findall(nodes.line)]
            return "p", "\n".join(lines) or unwrapped(_visible_text(node), getattr(node, "rawsource", ""))
        return None


def _visible_text(node: nodes.Node) -> str:
    """The text of inline nodes: the alternative text of an image, the number of a note reference."""
    if isinstance(node, nodes.system_message | nodes.raw):
        return ""
    if isinstance(node, nodes.footnote_reference | nodes.citation_reference):
        return f"[{node.astext()}]"
    if isinstance(node, nodes.Text | nodes.image):
        return node.astext()
    return "".join(_visible_text(child) for child in node.children)
