"""Reads GNU manuals in the Info format as plain text, in which every line keeps its number.

Lines that serve navigation only are left blank: menus, indexes, the headers of nodes, the entry for the directory, and the tag
table. So are paragraphs before the first node that are repeated in one.
"""

from __future__ import annotations

import re
from itertools import takewhile

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.plain_text import plain_blocks

_MARK = re.compile(rb"\0\x08\[([^\x08]*)\0\x08\]")
_SHOWN = re.compile(rb'image .*?(?:text|alt)="((?:[^"\\]|\\.)*)"', re.DOTALL)
_INDEX = b"\x0e"  # stands for the mark of an index until the node that contains it is left out
_TAGS = re.compile(rb"\n[\x1f\x0c]\nTag Table:")
_CODING = re.compile(rb"\ncoding: ([\w-]{1,40})\nEnd:")
_HEADER = re.compile(r"File: (?P<file>[^,\n]+),[ \t]+Node: (?P<node>[^,\n]+)")
_BEFORE = re.compile(
    r"(?P<entry>(?:This is [^\n]*,\s+produced by|INFO-DIR-SECTION|(?:START|END)-INFO-DIR-ENTRY|\* )[^\n]*(?:\n[^\n]+)*)"
    r"|[^\n]+(?:\n(?!INFO-DIR-SECTION|START-INFO)[^\n]+)*"
)
"""A paragraph, or an entry for the directory of manuals."""
_UNDERLINE = re.compile(r"^(?:\*{3,}|={3,}|\.{3,})$", re.MULTILINE)
_SIGNS = str.maketrans("*=.", "=*~")
"""The signs of underlines in the order of plain text, by those in that of manuals: `*`, `=`, `-`, `.`."""
_REFERENCE = re.compile(
    r"\*(?P<note>[Nn]ote)(?P<gap>\s{1,80})(?P<text>[^:*]{1,300})(?P<end>::|:\s{1,80}[^.,:*]{1,300}(?=[.,]))"
)


def parse_info(data: bytes, _limits: ReadingLimits) -> Parsed:
    """Parse a manual, or a part of one: title (the heading of the whole, else the manual's name) and blocks."""
    coding = _CODING.search(data, max(0, len(data) - 500))
    data = data[: tags.start()] if (tags := _TAGS.search(data)) else data
    data = _MARK.sub(_shown, data).replace(b"\0\x08[", b"").replace(b"\x1f", b"\x0c")
    decoded = decode(data, coding[1].decode() if coding else None)
    nodes, title, kept = decoded.text.split("\x0c\n"), "", list[str]()
    if not _HEADER.match(nodes[0]):
        before, nodes = nodes[0], nodes[1:]
        after = "\n".join(nodes)
        before = _BEFORE.sub(lambda part: _blank(part[0]) if part["entry"] or part[0] in after else part[0], before)
        kept = before.split("\n")
    for node in nodes:
        first, *lines = node.split("\n")
        header = _HEADER.match(first)
        if header and not title:
            is_top = header["node"] == "Top" and len(lines) > 2 and lines[2][:1] == "*"
            title = lines[1].strip() if is_top else header["file"].removesuffix(".info")
        is_read = header and _INDEX.decode() not in node
        kept += ["", *(_without_menu(lines) if is_read else [""] * len(lines))]
    text = _UNDERLINE.sub(lambda line: line[0].translate(_SIGNS), _REFERENCE.sub(_referred, "\n".join(kept)))
    return Parsed(title, text, decoded.notes, plain_blocks(text))


def _shown(mark: re.Match[bytes]) -> bytes:
    if mark[1].startswith(b"index"):
        return _INDEX
    return shown[1].replace(b'\\"', b'"') if (shown := _SHOWN.match(mark[1])) else b""


def _blank(text: str) -> str:
    return "\n" * text.count("\n")  # so that all lines keep their numbers


def _without_menu(lines: list[str]) -> list[str]:
    """The lines with blank ones in place of the menu: from its start to the paragraph of its last entry."""
    start = next((at for at, line in enumerate(lines) if line.startswith("* Menu:")), len(lines))
    end = max((at for at, line in enumerate(lines) if at >= start and re.match(r"\* [^\n]*:", line)), default=start)
    end += sum(1 for _ in takewhile(str.strip, lines[end:]))
    return [*lines[:start], *[""] * (end - start), *lines[end:]]


def _referred(reference: re.Match[str]) -> str:
    see = f"See{reference['gap']}" if reference["note"] == "Note" else _blank(reference["gap"])
    return see + reference["text"] + _blank(reference["end"])
