"""Recognises the formats of text files without an ending of their own by how they begin."""

from __future__ import annotations

import re
from collections import Counter

_BEGINNING = 65536
"""Bytes that hold the title of a manual page: before it may stand a licence and definitions of macros."""
_COMMENT = re.compile(rb"""(?:[ \t]|\\t)*(?:[.'][ \t]*(?:\\?["#'].*)?|'''.*|\\["#].*)?\Z""", re.DOTALL)
_TITLE = re.compile(rb"""[.'][ \t]*(?:TH[ \t]+["\w@\\]|Dd[ \t]|Dt[ \t]+["\w])""")
_REFERENCE = re.compile(rb"\.so[ \t]+\S+[ \t]*\Z")
_NODE = re.compile(rb"(?:\A|\n)\x1f\n(?:File: [^\n]{1,500}Node: |Indirect:)")
_PRODUCED = re.compile(rb"[^\n]{0,1000}produced by (?:makeinfo|texi2any|GNU Texinfo)")

_LEAST_ROWS = 5
_REGULAR = 0.95  # least share of the lines with the same number of tabs


def is_manual_page(data: bytes) -> bool:
    """Whether the first line that is no comment is a macro, and a line has the macro for the title or refers to another page."""
    lines = data[:_BEGINNING].removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((line for line in lines if _COMMENT.match(line) is None), b"")
    refers = _REFERENCE.match(first) is not None
    return first[:1] in (b".", b"'") and (refers or any(map(_TITLE.match, lines)))


def is_info(data: bytes) -> bool:
    """Whether a file consists of the nodes of a GNU manual, or is a part of one."""
    beginning = data[:_BEGINNING]
    return b"\x1f" in beginning and (_NODE.search(beginning) is not None or _PRODUCED.match(beginning) is not None)


def is_tabbed_table(data: bytes) -> bool:
    """Whether nearly all lines except comments (`# ...`) have the same number of tabs, none of them at the beginning."""
    lines = data[:_BEGINNING].splitlines()
    if len(data) > _BEGINNING:
        lines.pop()
    rows = [line for line in lines if line.strip() and not line.startswith(b"#")]
    if len(rows) < _LEAST_ROWS or any(row[:1].isspace() for row in rows):
        return False
    (tabs, times), *_ = Counter(row.count(b"\t") for row in rows).most_common(1)
    return tabs > 0 and times >= _REGULAR * len(rows)
