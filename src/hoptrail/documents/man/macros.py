"""Parses manual pages: those of man(7), of mdoc(7), and those that pod2man, DocBook and AsciiDoc write.

An option and its description become one list item (`-v, --verbose: Say more.`), examples become code, and tables rows. The title
is the name with the section, as in `crontab(5)`. Comments, fonts, index entries and drawings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.man.mdoc import lines_of
from hoptrail.documents.man.page import CELLS, LONG_TAG, TAG, Page
from hoptrail.documents.man.roff import RoffLine
from hoptrail.documents.markup import OpenTable, TableCell, table_rows
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CODING = re.compile(rb"[^\n]{0,200}coding:[ \t]*([\w-]{1,40})")
_NAMES_END = re.compile(r" +(?:-{1,2}|—|–|−) +")
_LONGEST_TAG = 200
_LAYOUT = word_set("AT DA DT IX LINKSTYLE PD UC EQ EN PU")
"""Macros without text, for the index and the layout, as are requests, whose names are in small letters."""
_UNTAGGED = frozenset(("-bullet", "-dash", "-hyphen", "-item", "-enum"))
_EMPHASIS = frozenset(("Sy", "Em", "Li", "Cm", "Ic"))


def parse_man(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a page: title (name and section, the name in the case in which its first paragraph has it), date and blocks. A page
    that only refers to another has no text.
    """
    coding = _CODING.match(data)
    decoded = decode(data, coding[1].decode() if coding is not None else None)
    page = Page()
    page.read(decoded.text, _HANDLERS)
    notes, pieces = decoded.notes, page.flow.pieces
    if page.refers_to and not pieces:
        notes = (*notes, f"only refers to another page ({page.refers_to})")
    names = _NAMES_END.split(page.summary, maxsplit=1)[0].replace(",", " ").split()
    name = next((one for one in names if one.lower() == page.name.lower()), page.name)
    title = f"{name}({page.section})" if name and page.section else name
    return assemble(title, pieces, notes, limits.text, (page.date, "man page date"))


def _head(page: Page, line: RoffLine) -> None:
    """Note name, section and date; the rest becomes a row."""
    given = list(map(squeeze, page.shown(line)))
    if line.macro == "Dd":
        page.date = find_date(" ".join(given))
        return
    page.name, page.section, date, *others = [*given, "", "", ""][: max(3, len(given))]
    if line.macro == "TH":
        page.date = find_date(date)
        cells = tuple((label, one) for label, one in zip(("Source", "Manual"), others, strict=False) if one)
        page.flow.pieces.append(Piece(BlockKind.ROW, cells=cells, place=line.place, labelled=True))


def _heading(page: Page, line: RoffLine) -> None:
    page.heading(page.inline(RoffLine(0, "B", line.rest)), 1 if line.macro in {"SH", "Sh"} else 2, line.place)


def _paragraph(page: Page, line: RoffLine) -> None:
    if page.code is not None:
        _gap(page, line)
    else:
        page.close(page.bases[-1])
        page.lines = 0


def _gap(page: Page, _line: RoffLine) -> None:
    """End the paragraph, but not its item; within an example, leave a line blank."""
    if page.code is None:
        page.flush()
    elif page.code:
        page.code.append("")


def _tagged(page: Page, line: RoffLine) -> None:
    """Begin an item whose tag is the next line, or add a tag."""
    if line.macro == "TP" or not page.flow.depth:
        page.item()
    page.expected = TAG


def _indented(page: Page, line: RoffLine) -> None:
    """Begin an item whose tag is an argument; without a tag, continue the item."""
    if tag := squeeze((page.shown(line) or [""])[0]):
        page.item(tag, line.place)
    else:
        page.flush()


def _indent(page: Page, line: RoffLine) -> None:
    """Begin or end an indentation. A paragraph of one line before it is the tag of an item, as DocBook and AsciiDoc write."""
    if line.macro == "RE":
        page.close(page.outdent())
        return
    text = lines_of(page.words) if page.lines == 1 and page.code is None else ""
    if text and len(text) <= _LONGEST_TAG and not text.endswith(":"):
        page.words = []
        page.item(text, page.place)
    page.flush()
    page.bases.append(page.flow.depth)


def _example(page: Page, line: RoffLine) -> None:
    """Begin or end an example, in which lines are kept."""
    page.flush()
    begins = line.macro in {"nf", "EX", "Vb", "CS"} or (
        line.macro == "Bd" and {"-literal", "-unfilled"} & {*line.given}
    )
    page.code = [] if begins else None


def _new_line(page: Page, line: RoffLine) -> None:
    if page.code is None and not page.expected and line.macro != "OP":
        page.add("\n")
    if line.macro in {"SY", "OP"}:
        shown = " ".join(page.shown(line))
        page.add(f"[{shown}]" if line.macro == "OP" else shown)


def _reference(page: Page, line: RoffLine) -> None:
    """A link, whose address is written after its text, and a reference to another page."""
    given = [*page.shown(line), "", "", ""]
    if line.macro in {"UR", "MT"}:
        page.link = given[0]
    elif line.macro == "MR":
        page.write(line, [f"{given[0]}({given[1]}){given[2]}"])
    elif line.macro in {"URL", "MTO"}:
        page.write(line, [f"{given[1]} <{given[0]}>{given[2]}"])
    else:
        page.write(line, [f"<{page.link}>{given[0]}" if page.link else given[0]])


def _table(page: Page, _line: RoffLine) -> None:
    page.flush()
    page.flow.pieces += table_pieces(page.until("TE"), page.inline)


def _referral(page: Page, line: RoffLine) -> None:
    page.refers_to = page.refers_to or line.rest.strip()


def _begin_list(page: Page, line: RoffLine) -> None:
    page.flush()
    page.tables.append(((*line.given, "")[0], OpenTable()))
    page.begin_list(ordered="-enum" in line.given)
    page.bases.append(page.flow.depth)


def _end_list(page: Page, _line: RoffLine) -> None:
    if page.tables:
        page.flush()
        page.tables.pop()
        page.close(max(0, page.outdent() - 1))


def _item(page: Page, line: RoffLine) -> None:
    """Begin an item with its tag, or a row of a table with its cells."""
    page.flush()
    kind, table = page.tables[-1] if page.tables else ("", OpenTable())
    parts = line.given
    if kind == "-column":
        parts = replace(line, rest=line.rest.replace("\t", " Ta ")).given
        starts = [*parts[:1], *(after for part, after in pairwise(parts) if part == "Ta")]
        table.in_head = len(starts) > 1 and all(one in _EMPHASIS for one in starts)
        page.place, page.expected = line.place, CELLS
        page.add(*page.mdoc.words(["No", *parts]))
        return
    page.close(page.bases[-1])
    if not page.flow.depth:
        page.begin_list()
    page.flow.item()
    if parts and kind not in _UNTAGGED:
        page.place, page.expected = line.place, LONG_TAG
        page.add(*page.mdoc.words(["No", *parts]))
        if "Xo" not in parts or "Xc" in parts:
            page.flush()
    elif parts:
        page.write(replace(line, macro="No"))


def _end_tag(page: Page, line: RoffLine) -> None:
    page.add(*page.words_of(line))
    if page.expected == LONG_TAG:
        page.flush()


def _example_of_one_line(page: Page, line: RoffLine) -> None:
    page.flush()
    page.flow.code(page.inline(replace(line, macro="No")), line.place)


_TAB = re.compile(r"tab[ \t]*\((?P<tab>.)\)", re.IGNORECASE)
_EMPTY = frozenset(("", "_", "=", "\\_"))
_EMPHASISED = re.compile(r"[cC]|[bB]|[fF]\(?B")
_KEY = re.compile(r"[lrcnaLRCNA][^lrcnasLRCNAS]*")


@dataclass(slots=True)
class _TableRow:
    """A row of a table (tbl). `ruled`: a rule follows."""

    place: str
    cells: list[str] = field(default_factory=list)
    ruled: bool = False


def table_pieces(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> Iterator[Piece]:
    """Yield the rows. `inline` writes a line without macros and escapes. The first row is a header if the format centres it or
    sets it in bold unlike the others, or if only it has a rule below.
    """
    formats, rows = _parts(lines, inline)
    is_ruled = bool(rows) and rows[0].ruled and not any(row.ruled for row in rows[1:-1])
    above: list[str] = []
    for row in rows:
        above = row.cells = [
            above[at] if cell == "\\^" and at < len(above) else cell for at, cell in enumerate(row.cells)
        ]
    heads = len(rows) > 1 and (is_ruled or _heads_by_format(formats))
    return table_rows([(row.place, list(map(TableCell, row.cells))) for row in rows], int(heads))


def _heads_by_format(formats: list[str]) -> bool:
    """Whether the first row has a format of its own that is centred or bold in every column."""
    keys = [_KEY.findall(one) for one in formats[:2]]
    return len(keys) == 2 and keys[0] != keys[1] and bool(keys[0]) and all(map(_EMPHASISED.search, keys[0]))


def _parts(lines: list[RoffLine], inline: Callable[[RoffLine], str]) -> tuple[list[str], list[_TableRow]]:
    """The formats of rows, and the rows."""
    tab, formats, rows = "\t", list[str](), list[_TableRow]()
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
        elif not block and text.strip() in _EMPTY:
            if rows:
                rows[-1].ruled = rows[-1].ruled or bool(text.strip())
        else:
            parts = text.split(tab)
            if block:
                parts = parts[1:]
            else:
                rows.append(_TableRow(line.place))
            block = False
            for part in parts:
                block = part.strip() == "T{"
                shown = part.strip() if part.strip() == "\\^" else inline(replace(line, macro="", rest=part)).strip()
                rows[-1].cells.append("" if block or part.strip() in _EMPTY else shown)
        is_first = is_first and line.macro != ""
    return formats, [row for row in rows if any(row.cells)]


_HANDLERS: dict[str, Callable[[Page, RoffLine], None]] = {
    macro: handle
    for macros, handle in (
        ("TH Dt Dd", _head),
        ("SH SS Sh Ss", _heading),
        ("PP P LP HP Pp Lp", _paragraph),
        ("sp Sp YS", _gap),
        ("TP TQ", _tagged),
        ("IP", _indented),
        ("RS RE", _indent),
        ("nf fi EX EE Vb Ve CS CE Bd Ed", _example),
        ("Dl D1", _example_of_one_line),
        ("br ti in ce SY OP", _new_line),
        ("UR MT UE ME MR URL MTO", _reference),
        ("TS", _table),
        ("PS", lambda page, _: page.until("PE")),
        ("so", _referral),
        ("Bl", _begin_list),
        ("It", _item),
        ("El", _end_list),
        ("Xc", _end_tag),
        (" ".join(_LAYOUT), lambda *_: None),
    )
    for macro in macros.split()
}
"""What is done for each macro; the others stand within the text."""
