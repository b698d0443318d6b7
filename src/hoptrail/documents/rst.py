"""Parses reStructuredText with docutils, which may open no other file and run nothing.

Directives and roles unknown to docutils, such as those of Sphinx, give the text in them. Text with errors stays, as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import Flow, OpenTable, TableCell, unwrapped
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.types import BlockKind

_DIRECTIVE = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w.:+-]+?)[ \t]?::(?:[ \t]|$)", re.MULTILINE)
_ROLE = re.compile(r":([A-Za-z][\w.:+-]{0,60}?):`|`:([A-Za-z][\w.:+-]{0,60}?):")
_NUMBERED = ("pep", "rfc")
"""Roles whose text docutils restricts to a number, and Sphinx does not."""
_MOST_NAMES = 1000
"""Unknown directives, and unknown roles, that a file may have; more are errors."""

_WITHOUT_TEXT = word_set(
    "toctree index highlight module currentmodule include literalinclude raw contents sectnum tabularcolumns default-domain meta "
    "date graphviz mermaid uml automodule autoclass autofunction autosummary"
)
_LITERAL = word_set(
    "code code-block sourcecode parsed-literal doctest testcode testoutput prompt console productionlist command-output"
)
_SETTINGS = {
    **dict.fromkeys(("file_insertion_enabled", "raw_enabled", "warning_stream"), False),
    **dict.fromkeys(("doctitle_xform", "docinfo_xform"), False),
    **dict.fromkeys(("halt_level", "report_level"), 5),
    "_disable_config": True,
    "input_encoding": "unicode",
}
_SINCE = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}


def parse_rst(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (the first heading), date (the field `date`) and blocks."""
    decoded = decode(data)
    _register_unknown(decoded.text)
    try:
        tree = publish_doctree(decoded.text, settings_overrides={**_SETTINGS, "line_length_limit": limits.text})
        reader = _Reader()
        reader.read(tree)
    except RecursionError as error:
        raise Unreadable("has lists or quotes nested too deep") from error
    pieces = reader.flow.pieces
    return assemble(first_heading(pieces), pieces, decoded.notes, limits.text, (reader.date, "front matter"))


def _register_unknown(text: str) -> None:
    """Register the unknown directives and roles that the file uses with docutils. Names from earlier files do no harm."""
    used = sorted({match[1].lower() for match in _DIRECTIVE.finditer(text)})
    ours = _WITHOUT_TEXT | _LITERAL
    for name in [name for name in used if name not in en.directives or name in ours][:_MOST_NAMES]:
        directives.register_directive(name, _Unknown)
    used = sorted({(match[1] or match[2]).lower() for match in _ROLE.finditer(text)})
    for name in [name for name in used if name not in en.roles][:_MOST_NAMES]:
        roles.register_local_role(name, _role)
    for name in _NUMBERED:
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
            argument = f"{_SINCE[self.name]} {version}: {change}".rstrip(": ")
        inline, messages = self.state.inline_text(argument, self.lineno)
        paragraph = nodes.paragraph(argument, "", *inline)
        paragraph.line = self.lineno
        content = nodes.container(source)
        self.state.nested_parse(self.content, self.content_offset, content)
        return [*([paragraph] if argument else []), *content.children, *messages]


class _Reader:
    def __init__(self) -> None:
        self.date = ""
        self.flow = Flow()
        self._line = 1
        self._sections = 0
        self._prefix = ""

    @property
    def _place(self) -> str:
        return f"line {self._line}"

    def read(self, node: nodes.Node) -> None:
        """Write the pieces of a node and its descendants in order."""
        line = getattr(node, "line", None)
        if line:
            self._line = line - isinstance(node, nodes.title)
        reader = next((read for kinds, read in self._READERS if isinstance(node, kinds)), _Reader._all)
        reader(self, node)

    def _all(self, node: nodes.Node) -> None:
        for child in node.children:
            self.read(child)

    def _section(self, node: nodes.Node) -> None:
        self._sections += 1
        self._all(node)
        self._sections -= 1

    def _title(self, node: nodes.Node) -> None:
        if isinstance(node.parent, nodes.section):
            self.flow.add(Piece(BlockKind.HEADING, _visible_text(node), self._sections, place=self._place))
        else:
            self._text(node)

    def _text(self, node: nodes.Node) -> None:
        lines = [_visible_text(line) for line in node.findall(nodes.line)]  # of a line block
        text = "\n".join(lines) if lines else unwrapped(_visible_text(node), getattr(node, "rawsource", ""))
        if text.strip():
            self.flow.text(self._prefix + text, self._place)
            self._prefix = ""

    def _literal(self, node: nodes.Node) -> None:
        self.flow.code(node.astext(), self._place)

    def _error(self, node: nodes.Node) -> None:
        for child in node.children:
            if isinstance(child, nodes.literal_block):
                self._literal(child)

    def _list(self, node: nodes.Node) -> None:
        self.flow.begin_list(ordered=isinstance(node, nodes.enumerated_list))
        self._all(node)
        self.flow.end_list()

    def _item(self, node: nodes.Node) -> None:
        self.flow.item()
        self._all(node)
        self.flow.end_item()

    def _term(self, node: nodes.Node) -> None:
        """Note the term of the next item: a term with its classifiers, a field name, or options."""
        if isinstance(node, nodes.field_name):
            if value := node.parent.children[-1].astext():
                self.flow.term(_visible_text(node), self._place)
                self.date = self.date or (find_date(value) if node.astext().lower() == "date" else "")
            return
        found = (child for child in node.parent.children if isinstance(child, nodes.classifier))
        classifiers = [f" ({_visible_text(child)})" for child in found]
        options = [option.astext() for option in node.findall(nodes.option)]
        self.flow.term(", ".join(options) or "".join([_visible_text(node), *classifiers]), self._place)

    def _quote(self, node: nodes.Node) -> None:
        self.flow.quotes += 1
        self._all(node)
        self.flow.quotes -= 1

    def _note(self, node: nodes.Element) -> None:
        """An admonition or footnote, with its kind or number before its first words."""
        label = next((child.astext() for child in node.children if isinstance(child, nodes.label)), "")
        self._prefix = f"[{label}] " if label else f"{node.tagname.capitalize()}: "
        self._all(node)
        self._prefix = ""

    def _table(self, node: nodes.Node) -> None:
        table = OpenTable()
        for child in node.children:
            if isinstance(child, nodes.title):
                self._text(child)
        for row in node.findall(nodes.row):
            table.in_head = isinstance(row.parent, nodes.thead)
            cells = [_cell(entry) for entry in row.children if isinstance(entry, nodes.entry)]
            lines = (part.line for part in row.findall() if getattr(part, "line", None))
            self._line = max(self._line, next(lines, None) or 1)  # lines of a CSV table count from its start
            self.flow.add(table.row(cells, self._place))

    # For other kinds of nodes, the children are read.
    _READERS: ClassVar[tuple[tuple[tuple[type, ...], Callable[[_Reader, Any], None]], ...]] = (
        ((nodes.section,), _section),
        ((nodes.title,), _title),
        ((nodes.literal_block, nodes.doctest_block, nodes.math_block), _literal),
        ((nodes.system_message,), _error),
        ((nodes.bullet_list, nodes.enumerated_list, nodes.definition_list, nodes.field_list, nodes.option_list), _list),
        ((nodes.list_item, nodes.definition, nodes.field_body, nodes.description), _item),
        ((nodes.term, nodes.field_name, nodes.option_group), _term),
        ((nodes.block_quote,), _quote),
        ((nodes.footnote, nodes.citation), _note),
        ((nodes.admonition, nodes.sidebar), _all),
        ((nodes.Admonition,), _note),
        ((nodes.table,), _table),
        ((nodes.comment, nodes.target, nodes.substitution_definition, nodes.raw, nodes.pending), lambda *_: None),
        ((nodes.classifier, nodes.label), lambda *_: None),
        ((nodes.TextElement, nodes.image, nodes.line_block), _text),
    )


def _visible_text(node: nodes.Node) -> str:
    """The text of inline nodes: the alternative text of an image, the number of a note reference."""
    if isinstance(node, nodes.system_message | nodes.raw):
        return ""
    if isinstance(node, nodes.footnote_reference | nodes.citation_reference):
        return f"[{node.astext()}]"
    if isinstance(node, nodes.Text | nodes.image):
        return node.astext()
    return "".join(_visible_text(child) for child in node.children)


def _cell(entry: nodes.entry) -> TableCell:
    parts = entry.children
    text = " ".join(_visible_text(part) if isinstance(part, nodes.TextElement) else part.astext() for part in parts)
    return TableCell(text, columns=1 + int(entry.get("morecols", 0)), rows=1 + int(entry.get("morerows", 0)))
