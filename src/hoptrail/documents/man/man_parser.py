"""Parses manual pages: those of man(7), of mdoc(7), and those that pod2man, DocBook and AsciiDoc write.

An option and its description become one list item (`-v, --verbose: Say more.`), examples become code, and tables rows. The title
is the name with the section, as in `crontab(5)`. Comments, fonts, index entries and drawings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.man.page import LONG_TAG, TAG, Page
from hoptrail.documents.man.roff import RoffLine, arguments
from hoptrail.documents.markup import OpenTable, TableCell, table_rows
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CODING = re.compile(rb"[^\n]{0,200}coding:[ \t]*([\w-]{1,40})")
_NAMES_END = re.compile(r" +(?:-{1,2}|—|–|−) +")
_LONGEST_TAG = 200
_SKIPPED = word_set(
    "ad AT aln als am as bd bp box brp cc c2 cf ch chop color cp cs cu da DA DT defcolor di dt ec el em eo ev evc ex fam fc "
    "fcolor fl fp ft fchar char gcolor hc hcode hla hlm hpf hpfa hw hy hym hys IX it itc kern lc lf lg linetabs LINKSTYLE "
    "ll ls lt mc mk mso na ne nh nm nn nop nr ns nroff nx os output pc PD pl pm pn po ps pso psbb ptr rchar rd rfschar rj "
    "rm rn rnn rr rs rt schar shc shift sizes ss special stringdown stringup sty sv sy ta tc tkf tl tm tm1 tmc tr trf trin "
    "trnt troff UC uf ul unformat vpt vs warn warnscale wh while writec writem EQ EN PU"
)
"""Requests without text, and macros for the index and the layout."""


_UNTAGGED = frozenset(("-bullet", "-dash", "-hyphen", "-item", "-enum"))
_EMPHASIS = frozenset(("Sy", "Em", "Li", "Cm", "Ic"))
_Handler = Callable[[RoffLine], None]


class _MdocLists:
    """The open lists, tables and examples of a page of mdoc(7). `handlers`: the method for each macro."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open: list[tuple[str, OpenTable]] = []  # with their kinds
        self._displays: list[list[str] | None] = []
        self._is_row = False
        self.handlers: dict[str, _Handler] = {
            "Bl": self._begin,
            "It": self._item,
            "El": self._end,
            "Bd": self._display,
            "Ed": self._end_display,
            **dict.fromkeys(("Pp", "Lp"), self._gap),
            **dict.fromkeys(("Dl", "D1"), self._line),
            "Xc": self._end_tag,
        }

    def reset(self) -> None:
        """Forget what is open, at a new section."""
        self._open, self._displays, self._is_row = [], [], False

    def _gap(self, _line: RoffLine) -> None:
        self._flush()
        if not self._open:
            self._page.close(self._page.bases[-1])

    def _flush(self) -> None:
        """End the paragraph, or the row."""
        page = self._page
        if page.code and self._displays:
            page.code.append("")
        elif not self._is_row:
            page.flush()
        else:
            self._is_row, cells = False, map(TableCell, page.words.take_cells())
            page.flow.pieces.append(self._open[-1][1].row(list(cells), page.place))

    def _begin(self, line: RoffLine) -> None:
        self._flush()
        given = arguments(line.rest)
        self._open.append((given[0] if given else "", OpenTable()))
        self._page.begin_list(ordered="-enum" in given)
        self._page.bases.append(self._page.flow.depth)

    def _end(self, _line: RoffLine) -> None:
        if self._open:
            self._flush()
            self._open.pop()
            self._page.close(max(0, self._page.outdent() - 1))

    def _item(self, line: RoffLine) -> None:
        """Begin an item with its tag, or a row of a table with its cells."""
        self._flush()
        parts, page = arguments(line.rest), self._page
        if self._open and self._open[-1][0] == "-column":
            parts = arguments(line.rest.replace("\t", " Ta "))
            starts = [parts[0], *(after for part, after in pairwise(parts) if part == "Ta")] if parts else []
            self._is_row, page.place = True, f"line {line.number}"
            self._open[-1][1].in_head = len(starts) > 1 and all(one in _EMPHASIS for one in starts)
            page.mdoc.write(["No", *parts], page.words)
            return
        page.close(page.bases[-1])
        if not page.flow.depth:
            page.begin_list()
        page.flow.item()
        if parts and not (self._open and self._open[-1][0] in _UNTAGGED):
            page.place = f"line {line.number}"
            page.mdoc.write(["No", *parts], page.words)
            page.expected = LONG_TAG
            if "Xo" not in parts or "Xc" in parts:
                page.flush()
        elif parts:
            page.write(replace(line, macro="No"))

    def _end_tag(self, line: RoffLine) -> None:
        self._page.mdoc.write(["Xc", *arguments(line.rest)], self._page.words)
        if self._page.expected == LONG_TAG:
            self._page.flush()

    def _display(self, line: RoffLine) -> None:
        self._page.flush()
        self._displays.append(self._page.code)
        self._page.code = [] if {"-literal", "-unfilled"} & set(arguments(line.rest)) else None

    def _end_display(self, _line: RoffLine) -> None:
        self._page.flush()
        if self._displays:
            self._page.code = self._displays.pop()

    def _line(self, line: RoffLine) -> None:
        """An example of one line."""
        self._page.flush()
        self._page.flow.code(self._page.inline(replace(line, macro="No")), f"line {line.number}")


class _Reader:
    def __init__(self) -> None:
        self.page = Page()
        self.date = ""
        self.refers_to = ""
        self._name, self._section = "", ""
        self._lists = _MdocLists(self.page)
        self._link = ""
        handlers: tuple[tuple[str, _Handler], ...] = (
            ("TH Dt Dd", self._head),
            ("SH SS Sh Ss", self._heading),
            ("PP P LP HP", self._paragraph),
            ("sp Sp YS", self._gap),
            ("TP TQ", self._tagged),
            ("IP", self._indented),
            ("RS RE", self._indent),
            ("nf fi EX EE Vb Ve CS CE", self._example),
            ("br ti in ce SY OP", self._new_line),
            ("UR MT UE ME MR URL MTO", self._reference),
        )
        self._handlers = {
            macro: handle for macros, handle in handlers for macro in macros.split()
        } | self._lists.handlers

    def read(self, text: str) -> list[Piece]:
        lines = self.page.roff.lines(text)
        for line in lines:
            if line.macro == "TS":
                self.page.flush()
                self.page.flow.pieces += read_table(_until("TE", lines), self.page.inline)
            elif line.macro == "PS":
                _until("PE", lines)
            elif line.macro == "so":
                self.refers_to = self.refers_to or line.rest.strip()
            elif line.macro in self._handlers:
                self._handlers[line.macro](line)
            elif not line.macro and not line.rest.strip():
                self._gap(line)
            elif line.macro not in _SKIPPED:
                self.page.write(line)
        self.page.close(0)
        return self.page.flow.pieces

    def title(self) -> str:
        """The name with the section, in the case in which the page's first section has it."""
        names = _NAMES_END.split(self.page.summary, maxsplit=1)[0].replace(",", " ").split()
        name = next((one for one in names if one.lower() == self._name.lower()), self._name)
        return f"{name}({self._section})" if name and self._section else name

    def _head(self, line: RoffLine) -> None:
        """Note name, section and date; the rest becomes a row."""
        given = list(map(squeeze, self.page.shown(line)))
        if line.macro == "Dd":
            self.date = find_date(" ".join(given))
            return
        self._name, self._section, date, *others = [*given, "", "", ""][: max(3, len(given))]
        if line.macro == "TH":
            self.date = find_date(date)
            cells = tuple((label, one) for label, one in zip(("Source", "Manual"), others, strict=False) if one)
            self.page.flow.pieces.append(Piece(BlockKind.ROW, cells=cells, place=f"line {line.number}", labelled=True))

    def _heading(self, line: RoffLine) -> None:
        self._lists.reset()
        text = self.page.inline(RoffLine(0, "B", line.rest))
        self.page.heading(text, 1 if line.macro in {"SH", "Sh"} else 2, f"line {line.number}")

    def _paragraph(self, line: RoffLine) -> None:
        if self.page.code is not None:
            self._gap(line)
        else:
            self.page.close(self.page.bases[-1])
            self.page.lines = 0
        self.page.is_hanging = line.macro == "HP"

    def _gap(self, _line: RoffLine) -> None:
        """End the paragraph, but not its item; within an example, leave a line blank."""
        if self.page.code is None:
            self.page.flush()
        elif self.page.code:
            self.page.code.append("")

    def _tagged(self, line: RoffLine) -> None:
        """Begin an item whose tag is the next line, or add a tag."""
        if line.macro == "TP" or not self.page.flow.depth:
            self.page.item()
        self.page.expected = TAG

    def _indented(self, line: RoffLine) -> None:
        """Begin an item whose tag is an argument, or a hanging paragraph before it; without a tag, continue the item."""
        page = self.page
        if tag := squeeze((page.shown(line) or [""])[0]):
            page.item(tag, f"line {line.number}")
            return
        if page.is_hanging and page.words:
            page.item(page.words.take(), page.place)
        page.flush()

    def _indent(self, line: RoffLine) -> None:
        """Begin or end an indentation. A paragraph of one line before it is the tag of an item, as DocBook and AsciiDoc write."""
        page = self.page
        if line.macro == "RE":
            page.close(page.outdent())
            return
        if page.lines == 1 and page.words and page.code is None:
            text, place = page.words.take(), page.place
            if len(text) <= _LONGEST_TAG and not text.endswith(":"):
                page.item(text, place)
            else:
                page.words.add(text)
        page.flush()
        page.bases.append(page.flow.depth)

    def _example(self, line: RoffLine) -> None:
        """Begin or end an example, in which lines are kept."""
        self.page.flush()
        self.page.code = [] if line.macro in {"nf", "EX", "Vb", "CS"} else None

    def _new_line(self, line: RoffLine) -> None:
        if self.page.code is None and not self.page.expected and line.macro != "OP":
            self.page.words.break_line()
        if line.macro in {"SY", "OP"}:
            shown = " ".join(self.page.shown(line))
            self.page.words.add(f"[{shown}]" if line.macro == "OP" else shown)

    def _reference(self, line: RoffLine) -> None:
        """A link, whose address is written after its text, and a reference to another page."""
        given = [*self.page.shown(line), "", "", ""]
        if line.macro in {"UR", "MT"}:
            self._link = given[0]
            return
        text = f"<{self._link}>{given[0]}" if self._link else given[0]
        if line.macro == "MR":
            text = f"{given[0]}({given[1]}){given[2]}"
        elif line.macro in {"URL", "MTO"}:
            text = f"{given[1]} <{given[0]}>{given[2]}"
        quoted = text.replace("\\", "\\\\").replace('"', '""')
        self.page.write(RoffLine(line.number, "B", f'"{quoted}"'))


def _until(macro: str, lines: Iterator[RoffLine]) -> list[RoffLine]:
    """The lines before one with `macro`, which is taken as well."""
    return list(takewhile(lambda line: line.macro != macro, lines))


def parse_man(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a page: title (name and section), date and blocks. A page that only refers to another has no text."""
    coding = _CODING.match(data)
    decoded = decode(data, coding[1].decode() if coding is not None else None)
    reader = _Reader()
    pieces = reader.read(decoded.text)
    notes = decoded.notes
    if reader.refers_to and not pieces:
        notes = (*notes, f"only refers to another page ({reader.refers_to})")
    return assemble(reader.title(), pieces, notes, limits.text, (reader.date, "man page date"))


_TAB = re.compile(r"tab[ \t]*\((?P<tab>.)\)", re.IGNORECASE)
_RULES = frozenset(("", "_", "=", "\\_"))
_EMPHASISED = re.compile(r"[cC]|[bB]|[fF]\(?B")
_KEY = re.compile(r"[lrcnaLRCNA][^lrcnasLRCNAS]*")
_BOLD = ("\\fB", "\\f(", "\\fI", "\\f[")


@dataclass(slots=True)
class _Row:
    number: int
    cells: list[str] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)
    ruled: bool = False
    """A rule follows."""

    @property
    def is_bold(self) -> bool:
        """Whether all cells with text are in bold or italics."""
        return any(self.cells) and all(bold for cell, bold in zip(self.cells, self.bold, strict=True) if cell)


def read_table(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> Iterator[Piece]:
    """Yield the rows. `inline` writes a line without macros and escapes. The first row is a header if the format centres it or
    sets it in bold unlike the others, if all its cells are in bold, or if only it has a rule below.
    """
    formats, rows = _parts(lines, inline)
    heads = len(rows) > 1 and (
        _heads_by_format(formats)
        or (rows[0].is_bold and not rows[1].is_bold)
        or (rows[0].ruled and not any(row.ruled for row in rows[1:-1]))
    )
    above: list[str] = []
    for row in rows:
        above = [above[at] if cell == "\\^" and at < len(above) else cell for at, cell in enumerate(row.cells)]
        row.cells = above
    placed = [(f"line {row.number}", list(map(TableCell, row.cells))) for row in rows]
    return table_rows(placed, int(heads))


def _heads_by_format(formats: list[str]) -> bool:
    """Whether the first row has a rule below it, or a format of its own that is centred or bold in every column."""
    keys = [_KEY.findall(one) for one in formats[:2]]
    is_ruled = len(formats) > 2 and formats[1] != "" and not formats[1].strip("_= ")
    has_own = len(keys) == 2 and keys[0] != keys[1] and bool(keys[0])
    return is_ruled or (has_own and all(map(_EMPHASISED.search, keys[0])))


def _parts(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> tuple[list[str], list[_Row]]:
    """The formats of rows, and the rows."""
    tab, formats, rows = "\t", list[str](), list[_Row]()
    in_format, block, is_first = True, False, True
    for line in lines:
        text = line.rest
        if line.macro and not block:
            in_format = in_format or line.macro == "T&"
        elif is_first and text.rstrip().endswith(";"):
            given = _TAB.search(text)
            tab = given["tab"] if given is not None else tab
        elif in_format:
            formats += [one.strip() for one in text.split(",")]
            in_format = not text.rstrip().endswith(".")
        elif block and not (line.macro == "" and text.startswith("T}")):
            rows[-1].cells[-1] = f"{rows[-1].cells[-1]} {inline(line)}".strip()
            rows[-1].bold[-1] = rows[-1].bold[-1] or line.macro in {"B", "SB", "I"} or text.startswith(_BOLD)
        elif not block and text.strip() in _RULES:
            if rows:
                rows[-1].ruled = rows[-1].ruled or bool(text.strip())
        else:
            parts = text.split(tab)
            if block:
                parts = parts[1:]
            else:
                rows.append(_Row(line.number))
            block = False
            for part in parts:
                block = part.strip() == "T{"
                shown = part.strip() if part.strip() == "\\^" else inline(replace(line, macro="", rest=part)).strip()
                rows[-1].cells.append("" if block or part.strip() in _RULES else shown)
                rows[-1].bold.append(part.strip().startswith(_BOLD))
        is_first = is_first and line.macro != ""
    return formats, [row for row in rows if any(row.cells)]
