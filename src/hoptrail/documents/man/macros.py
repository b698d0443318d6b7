"""Parses manual pages: those of man(7), of mdoc(7), and those that pod2man, DocBook and AsciiDoc write.

An option and its description become one list item (`-v, --verbose: Say more.`), examples become code, and tables rows.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, dropwhile, pairwise

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.man.mdoc import GLUE, MACROS, Mdoc, joined, lines_of
from hoptrail.documents.man.roff import Roff, RoffLine
from hoptrail.documents.markup import Flow, OpenTable, TableCell, table_rows
from hoptrail.text.dates import find_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CODING = re.compile(rb"[^\n]{0,200}coding:[ \t]*([\w-]{1,40})")
_NAMES_END = re.compile(r" +(?:-{1,2}|—|–|−) +")
_LONGEST_TAG = 200  # characters; a longer line is a paragraph
_LAYOUT = word_set("AT DA DT IX LINKSTYLE PD UC EQ EN PE PU TE")
"""Macros without text, for the index and the layout, as are requests, whose names are in small letters."""
_UNTAGGED = frozenset(("-bullet", "-dash", "-hyphen", "-item", "-enum"))
_EMPHASIS = frozenset(("Sy", "Em", "Li", "Cm", "Ic"))
TEXT, SECTION, SUBSECTION, TAG, LONG_TAG, CELLS = range(6)
"""What the words are, as `Page.expected`: a paragraph, headings, the tag of an item in one line or in several, cells of a row."""
_ENDS = word_set("TE PE TS PS SH SS Sh Ss")  # of a table or picture: at the latest the next one, or the next section
_ALTERNATING = frozenset(("BR", "RB", "IR", "RI", "BI", "IB"))
_BULLET = re.compile(r"[-–—•·○□▪∗*o+⋅]")
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\)?")
_DEEPEST = 100  # lists within lists


def parse_man(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a page: title (name and section, the name in the case in which its first paragraph has it), date and blocks. A page
    that only refers to another has no text.
    """
    coding = _CODING.match(data)
    decoded = decode(data, coding[1].decode() if coding is not None else None)
    roff = Roff()
    page = Page(roff, Mdoc(roff.visible), roff.lines(decoded.text))
    page.read()
    pieces, reference = page.flow.pieces, f"only refers to another page ({page.refers_to})"
    notes = (*decoded.notes, *[reference] * bool(page.refers_to and not pieces))
    names = _NAMES_END.split(page.summary, maxsplit=1)[0].replace(",", " ").split()
    name = next((one for one in names if one.lower() == page.name.lower()), page.name)
    title = f"{name}({page.section})" if name and page.section else name
    return assemble(title, pieces, notes, limits.text, (page.date, "man page date"))


@dataclass(slots=True)
class Page:
    """A page that is being read: its open paragraph, example, items and indentation, which become pieces.

    `bases`: the number of open lists outside each open indentation. What is indented belongs to the open item, if there is one.
    `tables`: the open lists of mdoc(7) with their kinds, some of which are tables.
    """

    roff: Roff
    mdoc: Mdoc
    source: Iterator[RoffLine]
    flow: Flow = field(default_factory=Flow)
    words: list[str] = field(default_factory=list)
    bases: list[int] = field(default_factory=lambda: [0])
    tables: list[tuple[str, OpenTable]] = field(default_factory=list)
    code: list[str] | None = None
    expected: int = TEXT
    lines: int | None = None  # lines of a paragraph that may be the tag of an indented one; None for other paragraphs
    place: str = ""
    summary: str = ""  # the first paragraph: names of the page and what it is about
    name: str = ""
    section: str = ""
    date: str = ""
    refers_to: str = ""
    link: str = ""
    _goes_on: bool = False

    def read(self) -> None:
        """Read the lines; a macro without a handler stands within the text, and other requests have none."""
        line = next(self.source, None)
        while line is not None:
            handle = _HANDLERS.get(line.macro if line.macro or line.rest.strip() else "sp")
            is_read = handle or not line.macro.islower() or line.macro in self.roff.defined
            line = ((handle or Page.write)(self, line) if is_read else None) or next(self.source, None)
        self.close(0)

    def shown(self, line: RoffLine) -> list[str]:
        return [self.roff.visible(one) for one in line.given]

    def words_of(self, line: RoffLine) -> list[str]:
        """The words of a line, or of a macro within the text; of an unknown macro, the arguments."""
        if line.macro in MACROS:
            return self.mdoc.words([line.macro, *line.given])
        if line.macro:
            return [("" if line.macro in _ALTERNATING else " ").join(self.shown(line))]
        return [self.roff.visible(line.rest)]

    def inline(self, line: RoffLine) -> str:
        return lines_of(self.words_of(line))

    def add(self, *words: str) -> None:
        """Add words to the paragraph, which begins with one that is more than a line break."""
        begun = words if self.words else dropwhile(lambda word: not word.strip(f"{GLUE}\n"), words)
        self.words += filter(None, begun)

    def write(self, line: RoffLine, words: list[str] | None = None) -> None:
        """Add a line, or the words that stand for it, to the paragraph, example or tag."""
        if not (self.words or self.code):
            self.place = line.place
        words = self.words_of(line) if words is None else words
        goes_on = line.rest.endswith("\\c")
        if self.code is not None and not self.expected:
            before = self.code.pop() if self._goes_on and self.code else ""
            self.code.append(before + joined(words).rstrip())
        else:
            self.add("\n" * (not line.macro and line.rest[0] in " \t" and not self.expected), *words, GLUE * goes_on)
        self._goes_on = goes_on
        self.lines = None if self.lines is None else self.lines + 1
        if self.expected in {SECTION, SUBSECTION, TAG} and self.words and not goes_on:
            self.flush()

    def flush(self) -> None:
        """End the paragraph, and the example so far."""
        words, expected = self.words, self.expected
        self.words, self.expected, self.lines = [], TEXT, None
        if expected == CELLS:
            cells = [TableCell(squeeze(cell)) for cell in joined(words).split("\t")]
            self.flow.pieces.append(self.tables[-1][1].row(cells, self.place))
        elif text := lines_of(words):
            if expected >= TAG:
                self.flow.term(text, self.place)
            elif expected:
                self.heading(text, expected, self.place)
            else:
                self.summary = self.summary or text
                self.flow.text(text, self.place)
        if self.code:
            if code := textwrap.dedent("\n".join(self.code).expandtabs()).strip("\n"):
                self.flow.code(code, self.place)
            self.code.clear()

    def close(self, depth: int) -> None:
        """End the paragraph and the lists but for the outer `depth` ones."""
        self.flush()
        while self.flow.depth > depth:
            self.flow.end_list()

    def heading(self, text: str, level: int, place: str) -> None:
        """End everything that is open, and begin a section; without a text, the next line is its heading."""
        self.close(0)
        self.bases, self.tables, self.code, self.expected = [0], [], None, TEXT if text else level
        if text:
            self.mdoc.in_synopsis = text.upper() == "SYNOPSIS"
            self.flow.add(Piece(BlockKind.HEADING, text, level, place=place))

    def item(self, tag: str = "", place: str = "") -> None:
        """Begin an item, in a new list if none is open at this indentation. A bullet is left out; a number stays in the text."""
        self.close(self.bases[-1] + 1)
        is_numbered = _NUMBER.fullmatch(tag) is not None and not _BULLET.fullmatch(tag)
        if self.flow.depth == self.bases[-1]:
            self.begin_list(ordered=is_numbered)
        self.flow.item()
        if is_numbered:
            self.place = place
            self.add(tag)
        elif tag and not _BULLET.fullmatch(tag):
            self.flow.term(tag, place)

    def begin_list(self, *, ordered: bool = False) -> None:
        if self.flow.depth == _DEEPEST:
            raise Unreadable("has lists nested too deep")
        self.flow.begin_list(ordered=ordered)

    def outdent(self) -> int:
        """End the innermost indentation. Returns the number of lists outside it."""
        return self.bases.pop() if len(self.bases) > 1 else 0


def _head(page: Page, line: RoffLine) -> None:
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
    page.heading(page.inline(replace(line, macro="B")), 1 if line.macro in {"SH", "Sh"} else 2, line.place)


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
    is_literal = line.macro == "Bd" and not {"-literal", "-unfilled"}.isdisjoint(line.given)
    page.code = [] if is_literal or line.macro in {"nf", "EX", "Vb", "CS"} else None


def _new_line(page: Page, line: RoffLine) -> None:
    if page.code is None and not page.expected and line.macro != "OP":
        page.add("\n")
    if line.macro in {"SY", "OP"}:
        shown = " ".join(page.shown(line))
        page.write(line, [f"[{shown}]" if line.macro == "OP" else shown])


def _reference(page: Page, line: RoffLine) -> None:
    given = [*page.shown(line), "", "", ""]
    if line.macro in {"UR", "MT"}:
        page.link = given[0]
    elif line.macro == "MR":
        page.write(line, [f"{given[0]}({given[1]}){given[2]}"])
    elif line.macro in {"URL", "MTO"}:
        page.write(line, [f"{given[1]} <{given[0]}>{given[2]}"])
    else:
        page.write(line, [f"<{page.link}>{given[0]}" if page.link else given[0]])
        page.link = ""


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
    place: str
    cells: list[str] = field(default_factory=list)
    ruled: bool = False


def _table(page: Page, _line: RoffLine) -> RoffLine:
    """Add the rows. The first is a header if the format sets it off from the others, or if only it has a rule below."""
    page.flush()
    formats, rows, end = _parts(page)
    is_ruled = bool(rows) and rows[0].ruled and not any(row.ruled for row in rows[1:-1])
    keys = [_KEY.findall(one) for one in formats[:2]]
    is_set_off = len(keys) == 2 and keys[0] != keys[1] and bool(keys[0]) and all(map(_EMPHASISED.search, keys[0]))
    for above, row in pairwise(rows):
        known = dict(enumerate(above.cells))
        row.cells = [known.get(at, cell) if cell == "\\^" else cell for at, cell in enumerate(row.cells)]
    heads = len(rows) > 1 and (is_ruled or is_set_off)
    page.flow.pieces += table_rows([(row.place, list(map(TableCell, row.cells))) for row in rows], int(heads))
    return end


def _parts(page: Page) -> tuple[list[str], list[_TableRow], RoffLine]:
    tab, formats, rows = "\t", list[str](), list[_TableRow]()
    in_format, block, is_first = True, False, True
    for line in chain(page.source, [RoffLine(0, "TE", "")]):
        text = line.rest
        if line.macro in _ENDS:
            break
        if not block and (line.macro in _HANDLERS or line.macro == "T&" or line.macro.islower()):
            in_format = in_format or line.macro == "T&"
        elif is_first and text.rstrip().endswith(";"):
            tab = "".join(_TAB.findall(text)[-1:]) or tab
        elif in_format:
            formats += [one.strip() for one in text.split(",")]
            in_format = not text.rstrip().endswith(".")
        elif block and not (line.macro == "" and text.startswith("T}")):
            rows[-1].cells[-1] = f"{rows[-1].cells[-1]} {page.inline(line)}".strip()
        elif not block and text.strip() in _EMPTY:
            if rows:
                rows[-1].ruled = rows[-1].ruled or bool(text.strip())
        else:
            rows += [] if block else [_TableRow(line.place)]
            for part in text.split(tab)[block:]:
                cell = part.strip()
                shown = cell if cell == "\\^" else page.inline(replace(line, rest=part)).strip()
                rows[-1].cells.append("" if cell == "T{" or cell in _EMPTY else shown)
            block = text.split(tab)[-1].strip() == "T{"
        is_first = is_first and line.macro != ""
    return formats, [row for row in rows if any(row.cells)], line


def _picture(page: Page, _line: RoffLine) -> RoffLine | None:
    is_own = "PS" in page.roff.defined  # by the page, and then for something else
    return next((line for line in page.source if is_own or line.macro in _ENDS), None)


_HANDLERS: dict[str, Callable[[Page, RoffLine], RoffLine | None]] = {
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
        ("PS", _picture),
        ("so", _referral),
        ("Bl", _begin_list),
        ("It", _item),
        ("El", _end_list),
        ("Xc", _end_tag),
        (" ".join(_LAYOUT), lambda *_: None),
    )
    for macro in macros.split()
}
"""What is done for each macro; the others stand within the text. A line that is returned is the next to be read."""
