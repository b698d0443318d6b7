"""Finds the blocks of text that is stored unchanged, but for words divided at the end of a line: plain text and source code.

Code is divided by function and class: each stands under the names of what it is in, and comments are prose. Definitions are found
by the words and indents that languages share, without parsing the language. Plain text has paragraphs between blank lines, list
items by their bullets or numbers, and headings. A heading is one of these lines:

- underlined by a line of `=`, `-` or similar of its length;
- stars and words between blank lines, in a text with an outline of stars (`* Changes`, `** Bugs fixed`); with nothing below them
  they are a list item;
- the first line of an entry of a changelog, which is a text that begins with such a line. In Debian changelogs and NEWS files it
  has package, version and distribution, and the entry ends with a line that has its author and date (deb-changelog(5)); in GNU
  ChangeLogs it has the day, the author and an address;
- a line with the number of a section (`1.2 Scope`, `3. Powers` above `3.1. Limits`) or chapter (`Chapter 4. Loans`), or of a
  release (`Changes in 2.4`, `*** Version 3.0 ***`, `News in 251:`), alone between blank lines, or above indented lines or list
  items. To exclude sentences with a number, the numbers of sections must begin with 0 or 1 and rise; of the same number the last
  counts, because the first stands in the contents. There must be at least two chapters, and two releases that differ only in
  their numbers, or after them. An indented line must be alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hoptrail.documents.blocks import DEEPEST_HEADING, Outline, Parsed, Piece, lead_in
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import undivided
from hoptrail.text.dates import find_date
from hoptrail.types import Block, BlockKind

_GAP = re.compile(r"\n[ \t\f\v\r]*(?:\n[ \t\f\v\r]*)+")
_MARK = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+•‣◦▪·]|(?P<number>\(?\d{1,3}[.)]))[ \t]+(?=[^\n]*\w)", re.MULTILINE)
_UNDERLINED = re.compile(
    r"""(?:[ \t]*(?P<above>([-=~^*#+])\2{2,})[ \t]*\n)?[ \t]*(?P<title>\S[^\n]{0,98}?)[ \t]*\n"""
    r"""[ \t]*(?P<below>([-=~^*#+"'`_])\5{2,})[ \t]*(?:\n|\Z)"""
)
_OUTLINED = re.compile(r"(?P<stars>\*{1,6}) (?P<title>\S[^\n]*)\s*")
_OUTLINES_ITSELF = re.compile(r"(?:\A|\n[ \t]*\n)\*\* \S[^\n]*\n[ \t]*\n")
_OFF_BY = 2
"""Characters by which the length of an underline may differ from that of its heading. With a line above as well, half the length
of the heading is enough; a line of `=` may be of any greater length if the heading does not end like a sentence."""
_SENTENCE_ENDS = ".,;:!?"
_STRENGTH = """=*#+-~^"'`_"""
"""Characters of underlines, in order of heading level. Headings with a line above as well rank before all of these."""


_PARAGRAPH = Piece(BlockKind.PARAGRAPH)
_Part = tuple[int, Piece]
"""The start of a block, and its kind, level and date; its text is that of a heading."""
_Headings = dict[int, tuple[Piece, int]]
"""The headings of one line by where that line starts, with its end."""


def plain_blocks(text: str, *, lines: bool = True) -> tuple[Block, ...]:
    """Blocks that tile `text`; none if it is a single paragraph. `lines`: the place of each block is its first line. A paragraph
    that begins with a bullet or number, or has at least two lines that do, consists of list items. Its other lines belong to the
    item before them. Ranks of headings, which are negative, become levels, counted over the ranks that the text uses.
    """
    parts = list(_ranked_parts(text))
    if len(parts) < 2:
        return ()
    ranks = sorted({piece.level for _, piece in parts if piece.level < 0})
    outline, line, counted, lead = Outline(), 1, 0, ""
    for (start, piece), end in zip(parts, [*(start for start, _ in parts[1:]), len(text)], strict=True):
        body = text[start:end]
        first = start + len(body) - len(body.lstrip())
        line, counted = line + text.count("\n", counted, first), first
        if piece.kind is not BlockKind.ITEM:
            lead = lead_in(body) if piece.kind is BlockKind.PARAGRAPH else ""
        level = piece.level if piece.level >= 0 else ranks.index(piece.level) + 1
        changed = lines or level != piece.level
        placed = replace(piece, level=level, place=f"line {line}" if lines else "") if changed else piece
        outline.place(placed, start, lead if piece.kind is BlockKind.ITEM else "")
    return outline.tiled(len(text))


def _ranked_parts(text: str) -> Iterator[_Part]:
    """The blocks in order. Underlined and numbered headings have a rank in place of their level."""
    outlined = _OUTLINES_ITSELF.search(text) is not None
    paragraphs = list(_paragraphs(text))
    headings = _entries(text) or _numbered_headings(text, paragraphs)
    for start, end in paragraphs:
        begin = start
        if (heading := headings.get(_first_line(text, start))) is not None:
            yield start, heading[0]
            begin = min(end, heading[1])
        if outlined and (piece := _outline_piece(text, begin, end)) is not None:
            yield begin, piece
            continue
        while (underlined := _underlined_heading(text, begin, end)) is not None:
            above, below = (_STRENGTH.index((underlined[name] or "_")[0]) for name in ("above", "below"))
            rank = (above if underlined["above"] else below + len(_STRENGTH)) - 2 * len(_STRENGTH) + _UNDERLINED_RANK
            yield begin, Piece(BlockKind.HEADING, underlined["title"], rank)
            begin = underlined.end()
        if text[begin:end].strip():
            yield from _paragraph_parts(text, begin, end)


def _outline_piece(text: str, start: int, end: int) -> Piece | None:
    """The heading or list item of a paragraph that begins with stars; None for other paragraphs, and for lists."""
    stars = _OUTLINED.match(text, start, end)
    if stars is None:
        return None
    depth, is_line = len(stars["stars"]), stars.end() == end
    below = _OUTLINED.match(text, end)
    has_body = end < len(text) and (below is None or len(below["stars"]) > depth)
    if is_line and (has_body or (depth == 1 and _NUMBER.search(stars["title"]))):
        return Piece(BlockKind.HEADING, stars["title"], depth)
    return Piece(BlockKind.ITEM, level=1) if is_line or (depth > 1 and "\n*" not in text[start:end]) else None


def _underlined_heading(text: str, start: int, end: int) -> re.Match[str] | None:
    match = _UNDERLINED.match(text, _first_line(text, start), end)
    if match is None or not any(character.isalpha() for character in match["title"]):
        return None
    length, below, above = len(match["title"]), len(match["below"]), len(match["above"] or "")
    ruled = match["below"][0] == "=" and below > length and match["title"][-1] not in _SENTENCE_ENDS
    return match if ruled or abs(length - below) <= _OFF_BY or 2 * min(above, below) >= length else None


def _first_line(text: str, start: int) -> int:
    """The start of the first line of a paragraph; only the first paragraph may start with empty lines."""
    return start or len(text) - len(text.lstrip("\n"))


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph with the blank lines after it. White space before the first belongs to it."""
    start = 0
    for gap in _GAP.finditer(text, len(text) - len(text.lstrip())):
        if gap.end() < len(text):
            end = text.rfind("\n", 0, gap.end()) + 1
            yield start, end
            start = end
    if text:
        yield start, len(text)


def _paragraph_parts(text: str, start: int, end: int) -> Iterator[_Part]:
    marks = list(_MARK.finditer(text, start, end))
    begins_listed = bool(marks) and not text[start : marks[0].start()].strip()
    if not begins_listed:
        yield start, _PARAGRAPH
        if len(marks) < 2:
            return
    indents: list[int] = []
    for number, mark in enumerate(marks):
        indent = len(mark["indent"].expandtabs(4))
        indents = [known for known in indents if known < indent] + [indent]
        begin = start if begins_listed and not number else mark.start()
        yield begin, Piece(BlockKind.ITEM, level=len(indents), ordered=mark["number"] is not None)


def parse_plain(data: bytes, _limits: ReadingLimits) -> Parsed:
    """Parse plain text, which stays unchanged but for words divided at the end of a line. The title is the first heading if it
    starts the text and is the only one of level 1, else empty. The date of a changelog is that of its first entry, the latest.
    Raises: Unreadable: the bytes are not text.
    """
    decoded = decode(data)
    text = undivided(decoded.text)
    blocks = plain_blocks(text)
    if latest := next((heading for heading, _ in _entries(text).values()), None):
        return Parsed("", text, decoded.notes, blocks, latest.date, "latest entry" if latest.date else "")
    tops = [block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1]
    is_title = len(tops) == 1 and tops[0].start == 0
    title = blocks[1].path[0] if is_title and len(blocks) > 1 and blocks[1].path else ""
    return Parsed(title, text, decoded.notes, blocks)


_ENTRY = (
    r"(?P<title>[A-Za-z0-9][A-Za-z0-9+.-]* \([^()\s]{1,200}\)(?: [A-Za-z0-9][A-Za-z0-9+.-]*)+; ?\w[^\n]*"
    r"|(?P<day>\d{4}-\d\d-\d\d)[ \t]+\S[^\n<>]{0,80}<[^\n<>]+>)[ \t]*(?:\n|\Z)"
)
_BEGINS = re.compile(rf"\s*{_ENTRY}")
_LINE = re.compile(rf"^(?:{_ENTRY}| -- [^\n]*>  ?(?P<signed>[^\n]*))", re.MULTILINE)


def _entries(text: str) -> _Headings:
    """The headings of entries by their start, with the day in heading or signature; empty if the text does not begin with one."""
    entries: _Headings = {}
    last, heading = -1, Piece(BlockKind.HEADING)
    for match in _LINE.finditer(text) if _BEGINS.match(text) else ():
        if match["title"]:
            last = match.start()
            heading = Piece(BlockKind.HEADING, match["title"], 1, date=find_date(match["day"] or ""))
            entries[last] = heading, match.end()
        elif entries and not heading.date:
            heading = replace(heading, date=find_date(match["signed"]))
            entries[last] = heading, entries[last][1]
    return entries


_SECTION = re.compile(r"\s*(?P<number>\d{1,2}(?:\.\d{1,2}){0,5})\.?[ \t]+(?=[A-Z/])")
_TOP = re.compile(r"(\s*)\d{1,2}\.[ \t]")  # the start of a section that is in no other one, or of a list item
_CHAPTER = re.compile(
    r"\s*(?P<kind>Part|Chapter|Appendix|Article|Section) (?:\d{1,3}|[IVXL]{1,7}|[A-Z])(?![\w-])", re.IGNORECASE
)
_CHAPTERS = {"part": 0, "chapter": 1, "appendix": 1, "article": 2, "section": 3}  # by depth
_MOST_SKIPPED = 3  # by which the first part of a section number may rise, because other chapters have no sections
_VERSION = re.compile(r"\W*(?:[\w.-]+ )?(?:version|release) v?\d[\w.~-]*", re.IGNORECASE)
"""What the lines of releases have in common may end with the number: `Version 2.1 - 4 May 2024 (security)`."""
_RELEASE = re.compile(r"(?<=\b[vV]ersion )\d+|(?<=\b[vV]ersions )\d+(?: (?:and|to) \d+)?|(?<=\b[rR]elease )\d+")
_NUMBER = re.compile(rf"\bv?\d+(?:\.\d+)+[\w.+~-]*|\b\d{{4}}-\d\d-\d\d\b|\b[vV]\d+\b|\b\d+\b\W*:$|{_RELEASE.pattern}")
_WORD = re.compile(r"[^\W\d_]{3,}")
_BELOW = re.compile(r"[ \t]+\S|[-*+o][ \t]+\S|\(?\d{1,3}[.)][ \t]")  # a line that may directly follow a heading
_ITEM = re.compile(r"(?P<mark>[-*+•‣])+[ \t]")
_FRAME = " \t*=#-:"
_RELEASE_RANK = -10  # after all underlined headings and chapters, and before sections, which follow by depth
_UNDERLINED_RANK = _RELEASE_RANK - 4  # those of underlined headings are lower; from here on follow those of chapters
_LONGEST = 80
_NO_HEADING = (".", ",", ";", "!")


def _numbered_headings(text: str, paragraphs: Iterable[tuple[int, int]]) -> _Headings:
    """The headings by start offset, in order. `paragraphs`: start and end of each paragraph."""
    lines = list(_first_lines(text, paragraphs))
    sections = _sections(lines)
    kinds = {start: match["kind"].lower() for start, _, line in lines if (match := _CHAPTER.match(line))}
    number = Counter(kinds.values())
    chapters = {start: _UNDERLINED_RANK + _CHAPTERS[kind] for start, kind in kinds.items() if number[kind] > 1}
    shared = (version.group() if (version := _VERSION.match(line)) else line for _, _, line in lines)
    shapes = [_NUMBER.sub("#", line) for line in shared]
    times = Counter(shape for shape, _ in {(shape, line) for shape, (_, _, line) in zip(shapes, lines, strict=True)})
    headings: _Headings = {}
    for shape, (start, end, line) in zip(shapes, lines, strict=True):
        is_shaped = shape != line and times[shape] > 1 and _WORD.search(shape) is not None
        is_said = not line[0].isspace() or _RELEASE.search(line) is not None
        if start in sections:
            rank = _RELEASE_RANK + len(sections[start])
            headings[start] = Piece(BlockKind.HEADING, line.strip().rstrip(":"), rank), end
        elif start in chapters:
            headings[start] = Piece(BlockKind.HEADING, line.strip(_FRAME), chapters[start]), end
        elif is_shaped and is_said and not line.endswith("?") and not (sections and _section(line)):
            headings[start] = Piece(BlockKind.HEADING, line.strip(_FRAME), _RELEASE_RANK), end
    return headings


_Line = tuple[int, int, str]  # the start of a paragraph, the end of its first line, and that line
_Section = tuple[int, ...]  # the parts of a section number


def _first_lines(text: str, paragraphs: Iterable[tuple[int, int]]) -> Iterator[_Line]:
    """The first line of each paragraph that may begin with a heading."""
    for start, stop in paragraphs:
        end = text.find("\n", start, stop) + 1 or stop
        line = text[start:end].rstrip()
        below = text[end:stop]
        is_alone = not below.strip() or (not line[:1].isspace() and _BELOW.match(below) is not None)
        if is_alone and 0 < len(line.strip()) <= _LONGEST and not line.endswith(_NO_HEADING):
            item = _ITEM.match(line)
            if item is None or line.endswith(item["mark"]):
                yield start, end, line


def _section(line: str) -> _Section:
    match = _SECTION.match(line)
    return tuple(map(int, match["number"].split("."))) if match else ()


def _sections(lines: Sequence[_Line]) -> dict[int, _Section]:
    """The section numbers by the starts of their lines, of each number its last line. `3.` is one only with the indentation of
    such a line above `3.1` and so on: others are list items.
    """
    numbered = [(number, start, line) for start, _, line in lines if (number := _section(line))]
    below = {number: start for number, start, _ in numbered if len(number) > 1}
    first_below = {number[0]: start for number, start in reversed(below.items())}
    tops = [(number, start, _TOP.match(line)) for number, start, line in numbered if len(number) == 1]
    heads = {number: (start, top[1]) for number, start, top in tops if top and start < first_below.get(number[0], 0)}
    indents = {len(indent) for _, indent in heads.values()}
    found = below | {number: start for number, start, top in tops if top is None or len(top[1]) in indents}
    found |= {number: start for number, (start, _) in heads.items()}
    return _rising(sorted((start, number) for number, start in found.items()))


def _rising(numbered: Sequence[tuple[int, _Section]]) -> dict[int, _Section]:
    """The section numbers that follow on the one before; none where fewer than two do."""
    found: dict[int, _Section] = {}
    before: _Section = ()
    for start, number in numbered:
        most = _MOST_SKIPPED if len(number) > 1 and before else 1
        if number > before and number[0] - (before or (0,))[0] <= most:
            found[start] = before = number
    return found if len(found) > 1 else {}


_KEYWORDS = "class|struct|interface|enum|trait|impl|module|namespace|protocol|object|record|defmodule|defp?|func?|fn|function|sub"
_SIMPLE = r"(?!(?:return|else|new|throw|if|for|while|switch|catch|case|await|yield)\b)"
_TYPE = r"(?:[\w<>\[\],*&:~]+[ \t]+){1,6}[*&]*"
_WITH_KEYWORD = (
    rf"(?:{_SIMPLE}[\w@]+(?:\([\w, ]*\))?[ \t]+){{0,5}}?(?:{_KEYWORDS})[ \t]+(?:\([^()\n]{{0,80}}\)[ \t]*)?"
    r"(?P<name>[A-Za-z_$][\w.:$]*[?!]?)"
)
_AS_A_VALUE = (
    r"(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<name>[\w$]+)[ \t]*=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\([^()\n]*\)[ \t]*(?::[^=\n]+)?=>)"
)
_AFTER_ITS_TYPE = rf"{_SIMPLE}{_TYPE}(?P<name>[A-Za-z_~][\w:~]*)\([^;{{}}]{{0,300}}\)[^;(){{}}=]{{0,80}}\{{\Z"
_DEFINITIONS = [re.compile(rf"(?P<indent>[ \t]*){shape}") for shape in (_WITH_KEYWORD, _AS_A_VALUE, _AFTER_ITS_TYPE)]
_LONGEST_LINE = 500
_COMMENT = re.compile(r"[ \t]*(?:#(?!include|define|if|else|endif|pragma)|//|/\*|\*(?![\w*=])|\*/|--[ \t]|;;|@)")
_QUOTES = re.compile(r"[ \t]*[rbuRBU]{0,2}(\"\"\"|''')")


def parse_code(data: bytes, _limits: ReadingLimits) -> Parsed:
    """Parse a file. Raises: Unreadable: the bytes are not text."""
    decoded = decode(data)
    return Parsed("", decoded.text, decoded.notes, code_blocks(decoded.text))


def code_blocks(text: str) -> tuple[Block, ...]:
    """Blocks that tile a text: one for each definition, or part of it between comments of several words."""
    starts: list[tuple[int, int, BlockKind, tuple[str, ...]]] = []
    around: list[tuple[int, str]] = []
    offset, waiting = 0, -1  # where comments and decorators above the next definition begin
    for number, (line, kind, found) in enumerate(_lines_of_code(text), 1):
        if found is not None:
            around = [*[one for one in around if one[0] < found[0]][: DEEPEST_HEADING - 1], found]
        if line.strip():
            path = tuple(name for _, name in around)
            if found is not None and waiting >= 0:
                starts[waiting:] = [(*one[:3], path) for one in starts[waiting:]]
            if found is not None or not starts or starts[-1][2:] != (kind, path):
                starts.append((offset, number, kind, path))
            if kind is not BlockKind.PARAGRAPH:
                waiting = -1
            elif waiting < 0:
                waiting = len(starts) - 1
        offset += len(line)
    ends = [*(start for start, *_ in starts[1:]), len(text)] if starts else []
    return tuple(
        Block(kind, start if number else 0, end, path, place=f"line {line}")
        for number, ((start, line, kind, path), end) in enumerate(zip(starts, ends, strict=True))
    )


def _lines_of_code(text: str) -> Iterator[tuple[str, BlockKind, tuple[int, str] | None]]:
    """Each line with its kind (comments and texts in triple quotes are paragraphs) and the indent and name of what it defines."""
    quoted = ""
    for line in text.splitlines(keepends=True):
        opens = _QUOTES.match(line) if not quoted else None
        mark = opens[1] if opens else quoted
        if mark:
            quoted = "" if mark in line[opens.end() if opens else 0 :] else mark
        if mark or _COMMENT.match(line):
            yield line, BlockKind.PARAGRAPH, None
            continue
        shown = line.rstrip()[:_LONGEST_LINE]
        found = next(filter(None, (pattern.match(shown) for pattern in _DEFINITIONS)), None)
        defined = (len(found["indent"].expandtabs(4)), found["name"].rstrip(":")) if found else None
        yield line, BlockKind.CODE, defined
