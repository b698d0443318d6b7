"""Divides source code by function and class: each stands under the names of what it is in, and comments are prose.

The text stays as it is. Definitions are found by the words and indents that languages share, without parsing the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.types import Block, BlockKind

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
    for number, (line, kind, found) in enumerate(_lines(text), 1):
        if found is not None:
            indent, name = found
            around = [(known, above) for known, above in around if known < indent][: DEEPEST_HEADING - 1]
            around.append((indent, name))
        if line.strip():
            path = tuple(name for _, name in around)
            if found is not None and waiting >= 0:
                starts[waiting:] = [(*one[:3], path) for one in starts[waiting:]]
            if found is not None or not starts or starts[-1][2:] != (kind, path):
                starts.append((offset, number, kind, path))
            is_above = kind is BlockKind.PARAGRAPH and found is None
            waiting = (waiting if waiting >= 0 else len(starts) - 1) if is_above else -1
        offset += len(line)
    ends = [*(start for start, *_ in starts[1:]), len(text)]
    return tuple(
        Block(kind, start if number else 0, end, path, place=f"line {line}")
        for number, ((start, line, kind, path), end) in enumerate(zip(starts, ends, strict=True))
    )


def _lines(text: str) -> Iterator[tuple[str, BlockKind, tuple[int, str] | None]]:
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
