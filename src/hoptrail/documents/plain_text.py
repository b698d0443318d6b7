"""The blocks of plain text, which is stored as it stands: paragraphs parted by blank lines, list items by their marks, headings.

A heading is a line that another one of `=`, `-` or the like underlines in its length, or, in a text that outlines itself by
stars (`* Changes`, `** Bugs fixed`), a line of stars and words between blank lines, the first line of a changelog's entry, or one
with the number of a section or a release (`numbered`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.changelogs import Entry, entries_of
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.numbered import numbered_headings
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
"""Characters by which an underline may be longer or shorter than its heading; with a line above as well, half its length. One of
`=` may be as long as it likes, unless it ends a sentence."""
_SENTENCE_ENDS = ".,;:!?"
_STRENGTH = """=*#+-~^"'`_"""
"""Lines that underline, of headings of the first level before those of the next; with a line above they go before all."""
_WEAKEST = -10
"""The strength of lines of releases, and below them of sections by their depth; all that is underlined goes before."""
_DEEPEST = 6
_LONGEST_PATH = 300
"""Characters of a heading that what stands below repeats."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Where a block begins, and what it is: a list item has its depth, a heading its level and its text.

    `date` is that of an entry that a heading begins; other headings may say one in their text.
    """

    start: int
    kind: BlockKind = BlockKind.PARAGRAPH
    level: int = 0
    ordered: bool = False
    title: str = ""
    date: str = ""


def plain_blocks(text: str, *, lines: bool = True) -> tuple[Block, ...]:
    """Blocks that tile `text`; none where it is a single paragraph. `lines`: each says on which line it begins.

    A paragraph that begins with the mark of a list, or holds at least two lines that do, is one of items; its other lines
    belong to the item before them.
    """
    return _blocks_of(text, _parts_of(text, entries_of(text)), lines)


def _blocks_of(text: str, parts: list[_Part], lines: bool) -> tuple[Block, ...]:
    if len(parts) < 2:
        return ()
    blocks: list[Block] = []
    headings: list[tuple[int, str, str]] = []
    line, counted, lead = 1, 0, ""
    for part, end in zip(parts, [*(part.start for part in parts[1:]), len(text)], strict=True):
        within = text[part.start : end]
        first = part.start + len(within) - len(within.lstrip())
        line, counted = line + text.count("\n", counted, first), first
        if part.kind is not BlockKind.ITEM:
            lead = _lead(within) if part.kind is BlockKind.PARAGRAPH else ""
        if part.title:
            headings = [heading for heading in headings if heading[0] < part.level]
        path, above = tuple(heading[1] for heading in headings), headings[-1][2] if headings else ""
        blocks.append(
            Block(
                *(part.kind, part.start, end, path, part.level, part.ordered),
                lead=lead if part.kind is BlockKind.ITEM else "",
                place=f"line {line}" if lines else "",
                date=above,
            )
        )
        if part.title:
            headings.append((part.level, part.title, part.date or find_date(part.title) or above))
    return tuple(blocks)


def _lead(paragraph: str) -> str:
    """Its last words, if they introduce what follows."""
    body = paragraph.rstrip()
    return " ".join(body[-300:].split("\n\n")[-1].split()) if body.endswith(":") else ""


def _parts_of(text: str, entries: Mapping[int, Entry]) -> list[_Part]:
    """All blocks in order. The level of an underlined heading comes from the kinds of lines in the text."""
    found = list(_found(text, entries))
    ranks = sorted({part.level for part in found if part.level < 0})
    return [
        replace(part, level=min(ranks.index(part.level) + 1, _DEEPEST)) if part.level < 0 else part for part in found
    ]


def _found(text: str, entries: Mapping[int, Entry]) -> Iterator[_Part]:
    """The blocks; an underlined heading has the strength of its line below zero in place of its level."""
    outlined = _OUTLINES_ITSELF.search(text) is not None
    paragraphs = list(_paragraphs(text))
    numbered = {} if entries else numbered_headings(text, paragraphs)
    for start, end in paragraphs:
        begin = start
        if (entry := entries.get(_first_line(text, start))) is not None:
            yield _Part(start, BlockKind.HEADING, 1, title=_title(entry.title), date=entry.date)
            begin = min(end, entry.end)
        elif (heading := numbered.get(start)) is not None:
            yield _Part(start, BlockKind.HEADING, _WEAKEST + heading.depth, title=_title(heading.title))
            begin = heading.end
        whole = _OUTLINED.fullmatch(text, begin, end) if outlined else None
        if whole is not None:
            yield _Part(begin, BlockKind.HEADING, len(whole["stars"]), title=_title(whole["title"]))
            continue
        while (underlined := _heading(text, begin, end)) is not None:
            above, below = (_STRENGTH.index((underlined[name] or "_")[0]) for name in ("above", "below"))
            rank = (above if underlined["above"] else below + len(_STRENGTH)) - 2 * len(_STRENGTH) + _WEAKEST
            yield _Part(begin, BlockKind.HEADING, rank, title=_title(underlined["title"]))
            begin = underlined.end()
        if text[begin:end].strip():
            yield from _parts(text, begin, end)


def _title(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_PATH]


def _heading(text: str, start: int, end: int) -> re.Match[str] | None:
    """The underlined heading that a paragraph begins with."""
    found = _UNDERLINED.match(text, _first_line(text, start), end)
    if found is None or not any(character.isalpha() for character in found["title"]):
        return None
    long, below, above = len(found["title"]), len(found["below"]), len(found["above"] or "")
    drawn = found["below"][0] == "=" and below > long and found["title"][-1] not in _SENTENCE_ENDS
    return found if drawn or abs(long - below) <= _OFF_BY or 2 * min(above, below) >= long else None


def _first_line(text: str, start: int) -> int:
    """Where the first line of a paragraph begins that has something in it."""
    return start or len(text) - len(text.lstrip("\n"))


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph, with the blank lines after it; white space before the first belongs to it."""
    start = 0
    for gap in _GAP.finditer(text, len(text) - len(text.lstrip())):
        if gap.end() < len(text):
            end = text.rfind("\n", 0, gap.end()) + 1
            yield start, end
            start = end
    if text:
        yield start, len(text)


def _parts(text: str, start: int, end: int) -> Iterator[_Part]:
    """The blocks of a paragraph: itself, or list items and what stands before them."""
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
    """The text as it stands. Its title is a heading that begins it and is the only one of its level; otherwise the file's name
    gives one. The date of a changelog is that of its first entry, which is the latest.

    Raises:
        Unreadable: the bytes are not text.
    """
    decoded = decode(data)
    entries = entries_of(decoded.text)
    blocks = _blocks_of(decoded.text, _parts_of(decoded.text, entries), lines=True)
    if entries:
        date = next(iter(entries.values())).date
        return Parsed("", decoded.text, decoded.notes, blocks, date, "latest entry" if date else "")
    tops = [block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1]
    title = ""
    if len(tops) == 1 and tops[0].start == 0 and len(blocks) > 1:
        title = blocks[1].path[0] if blocks[1].path else ""
    return Parsed(title, decoded.text, decoded.notes, blocks)
