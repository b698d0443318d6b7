"""Finds the blocks of plain text: paragraphs between blank lines, list items by their bullets or numbers, and headings.

The text itself is stored unchanged. A heading is one of these lines:

- underlined by a line of `=`, `-` or similar of its length;
- stars and words between blank lines, in a text with an outline of stars (`* Changes`, `** Bugs fixed`);
- the first line of an entry of a changelog, which is a text that begins with such a line. In Debian changelogs and NEWS files it
  has package, version and distribution, and the entry ends with a line that has its author and date (deb-changelog(5)); in GNU
  ChangeLogs it has the day, the author and an address;
- a line with the number of a section (`1.2 Scope`) or release (`Changes in 2.4`, `*** Version 3.0 ***`, `News in 251:`), alone
  between blank lines, or above indented lines or list items. An indented one must be alone and say `version` or `release`. To
  exclude sentences with a number, sections must start with number 0 or 1, and there must be at least two release headings that
  differ only in their numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
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
_DEEPEST = 6
_LONGEST_PATH = 300
"""Characters of a heading that the blocks below it repeat."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The start and kind of a block. `level`: the depth of a list item, or of a heading its level or (negative) rank. `date` is
    that of a changelog entry; other headings may have one in their text.
    """

    start: int
    kind: BlockKind = BlockKind.PARAGRAPH
    level: int = 0
    ordered: bool = False
    title: str = ""
    date: str = ""


def plain_blocks(text: str, *, lines: bool = True) -> tuple[Block, ...]:
    """Blocks that tile `text`; none if it is a single paragraph. `lines`: the place of each block is its first line. A paragraph
    that begins with a bullet or number, or has at least two lines that do, consists of list items. Its other lines belong to the
    item before them.
    """
    return _build_blocks(text, entries_of(text), lines)


def _build_blocks(text: str, entries: Mapping[int, LineHeading], lines: bool) -> tuple[Block, ...]:
    """Ranks of headings become levels, counted over the ranks that the text uses."""
    parts = list(_ranked_parts(text, entries))
    if len(parts) < 2:
        return ()
    ranks = sorted({part.level for part in parts if part.level < 0})
    blocks: list[Block] = []
    headings: list[tuple[int, str, str]] = []
    line, counted, lead = 1, 0, ""
    for part, end in zip(parts, [*(part.start for part in parts[1:]), len(text)], strict=True):
        level = part.level if part.level >= 0 else min(ranks.index(part.level) + 1, _DEEPEST)
        body = text[part.start : end]
        first = part.start + len(body) - len(body.lstrip())
        line, counted = line + text.count("\n", counted, first), first
        if part.kind is not BlockKind.ITEM:
            lead = _lead(body) if part.kind is BlockKind.PARAGRAPH else ""
        if part.title:
            headings = [heading for heading in headings if heading[0] < level]
        path, above = tuple(heading[1] for heading in headings), headings[-1][2] if headings else ""
        blocks.append(
            Block(
                *(part.kind, part.start, end, path, level, part.ordered),
                lead=lead if part.kind is BlockKind.ITEM else "",
                place=f"line {line}" if lines else "",
                date=above,
            )
        )
        if part.title:
            headings.append((level, part.title, part.date or find_date(part.title) or above))
    return tuple(blocks)


def _lead(paragraph: str) -> str:
    body = paragraph.rstrip()
    return squeeze(body[-300:].split("\n\n")[-1]) if body.endswith(":") else ""


def _ranked_parts(text: str, entries: Mapping[int, LineHeading]) -> Iterator[_Part]:
    """The blocks in order. Underlined and numbered headings have a negative rank in place of their level."""
    outlined = _OUTLINES_ITSELF.search(text) is not None
    paragraphs = list(_paragraphs(text))
    headings = entries or numbered_headings(text, paragraphs)
    for start, end in paragraphs:
        begin = start
        if (heading := headings.get(_first_line(text, start))) is not None:
            yield _Part(start, BlockKind.HEADING, heading.level, title=_title(heading.title), date=heading.date)
            begin = min(end, heading.end)
        whole = _OUTLINED.fullmatch(text, begin, end) if outlined else None
        if whole is not None:
            yield _Part(begin, BlockKind.HEADING, len(whole["stars"]), title=_title(whole["title"]))
            continue
        while (underlined := _underlined_heading(text, begin, end)) is not None:
            above, below = (_STRENGTH.index((underlined[name] or "_")[0]) for name in ("above", "below"))
            rank = (above if underlined["above"] else below + len(_STRENGTH)) - 2 * len(_STRENGTH) + RELEASE_RANK
            yield _Part(begin, BlockKind.HEADING, rank, title=_title(underlined["title"]))
            begin = underlined.end()
        if text[begin:end].strip():
            yield from _paragraph_parts(text, begin, end)


def _title(text: str) -> str:
    return squeeze(text)[:_LONGEST_PATH]


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
    """The blocks of a paragraph: itself, or its list items and the text before them."""
    marks = list(_MARK.finditer(text, start, end))
    listed = bool(marks) and (len(marks) > 1 or not text[start : marks[0].start()].strip())
    if not listed:
        yield _Part(start)
        return
    if text[start : marks[0].start()].strip():
        yield _Part(start)
    indents: list[int] = []
    for number, mark in enumerate(marks):
        indent = len(mark["indent"].expandtabs(4))
        indents = [known for known in indents if known < indent] + [indent]
        begin = mark.start() if number or text[start : marks[0].start()].strip() else start
        yield _Part(begin, BlockKind.ITEM, len(indents), mark["number"] is not None)


def parse_plain(data: bytes, _limits: ReadingLimits) -> Parsed:
    """Parse plain text, which stays unchanged. The title is the first heading if it starts the text and is the only one of level
    1, else empty. The date of a changelog is that of its first entry, the latest.
    Raises: Unreadable: the bytes are not text.
    """
    decoded = decode(data)
    entries = entries_of(decoded.text)
    blocks = _build_blocks(decoded.text, entries, lines=True)
    if entries:
        date = next(iter(entries.values())).date
        return Parsed("", decoded.text, decoded.notes, blocks, date, "latest entry" if date else "")
    tops = [block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1]
    title = ""
    if len(tops) == 1 and tops[0].start == 0 and len(blocks) > 1:
        title = blocks[1].path[0] if blocks[1].path else ""
    return Parsed(title, decoded.text, decoded.notes, blocks)


_HEADING = (
    r"(?P<title>[A-Za-z0-9][A-Za-z0-9+.-]* \([^()\s]{1,200}\)(?: [A-Za-z0-9][A-Za-z0-9+.-]*)+; ?\w[^\n]*)(?:\n|\Z)"
)
_BEGINS = re.compile(rf"\s*{_HEADING}")
_DATED = r"(?P<title>(?P<day>\d{4}-\d\d-\d\d)[ \t]+\S[^\n<>]{0,80}<[^\n<>]+>)[ \t]*(?:\n|\Z)"
_BEGINS_DATED, _DATED_LINE = re.compile(rf"\s*{_DATED}"), re.compile(rf"^{_DATED}", re.MULTILINE)
_LINE = re.compile(rf"^(?:{_HEADING}| -- [^\n]*>  ?(?P<signed>[^\n]*))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LineHeading:
    """A heading of one line: its title, the end of the line, its level or (negative) rank, and its date, or empty."""

    title: str
    end: int
    level: int = 1
    date: str = ""


def entries_of(text: str) -> dict[int, LineHeading]:
    """The headings of the entries by their start, in order, with the day in the heading or signature; empty if the text does not
    begin with one.
    """
    if _BEGINS_DATED.match(text):
        days = _DATED_LINE.finditer(text)
        return {day.start(): LineHeading(day["title"], day.end(), date=find_date(day["day"])) for day in days}
    if not _BEGINS.match(text):
        return {}
    entries: dict[int, LineHeading] = {}
    last = -1
    for match in _LINE.finditer(text):
        if match["title"]:
            last = match.start()
            entries[last] = LineHeading(match["title"].rstrip(), match.end())
        elif not entries[last].date:
            entries[last] = replace(entries[last], date=find_date(match["signed"]))
    return entries


_SECTION = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,5})(?P<dot>\.?)[ \t]+(?=[A-Z])")
_RELEASE = re.compile(r"(?<=\b[vV]ersion )\d+|(?<=\b[vV]ersions )\d+(?: (?:and|to) \d+)?|(?<=\b[rR]elease )\d+")
_NUMBER = re.compile(rf"\bv?\d+(?:\.\d+)+[\w.+~-]*|\b\d{{4}}-\d\d-\d\d\b|\b[vV]\d+\b|\b\d+\b\W*:$|{_RELEASE.pattern}")
_WORD = re.compile(r"[^\W\d_]{3,}")
_BELOW = re.compile(r"[ \t]+\S|[-*+o][ \t]+\S|\(?\d{1,3}[.)][ \t]")
"""The start of a line that may directly follow a heading."""
_ITEM = re.compile(r"(?P<mark>[-*+•‣])+[ \t]")
_FRAME = " \t*=#-:"
RELEASE_RANK = -10
"""Rank of release headings: after all underlined ones, and before sections, which follow by depth."""
_LONGEST = 80
_NO_HEADING = (".", ",", ";", "?", "!")


def numbered_headings(text: str, paragraphs: Iterable[tuple[int, int]]) -> dict[int, LineHeading]:
    """The headings by start offset, in order. `paragraphs`: start and end of each paragraph."""
    lines = list(_first_lines(text, paragraphs))
    sections = {start: number for start, _, line in lines if (number := _section(line))}
    if len(sections) < 2 or next(iter(sections.values())) not in {"0", "1"}:
        sections = {}
    releases: dict[str, set[str]] = defaultdict(set)
    for _, _, line in lines:
        releases[_NUMBER.sub("#", line)].add(line)
    headings: dict[int, LineHeading] = {}
    for start, end, line in lines:
        shape = _NUMBER.sub("#", line)
        if start in sections:
            depth = sections[start].count(".") + 1
            headings[start] = LineHeading(line.rstrip(":"), end, RELEASE_RANK + depth)
        elif shape != line and len(releases[shape]) > 1 and _WORD.search(shape):
            headings[start] = LineHeading(line.strip(_FRAME), end, RELEASE_RANK)
    return headings


def _first_lines(text: str, paragraphs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end of the first line and first line of each paragraph that may begin with a heading."""
    for start, stop in paragraphs:
        end = text.find("\n", start, stop) + 1 or stop
        line = text[start:end].rstrip()
        below = text[end:stop]
        is_alone = not below.strip()
        may_head = is_alone and _RELEASE.search(line) if line[:1].isspace() else is_alone or _BELOW.match(below)
        if may_head and 0 < len(line) <= _LONGEST and not line.endswith(_NO_HEADING):
            item = _ITEM.match(line)
            if item is None or line.endswith(item["mark"]):
                yield start, end, line


def _section(line: str) -> str:
    """The section number that a line begins with, or empty; `1. Do this` is a list item."""
    match = _SECTION.match(line)
    return "" if match is None or (match["dot"] and "." not in match["number"]) else match["number"]
