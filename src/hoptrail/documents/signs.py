"""Recognises the formats of files without an ending of their own by how they begin."""

from __future__ import annotations

import re

_BEGINNING = 65536
"""Bytes that hold the title of a manual page: before it may stand a licence and definitions of macros."""
_COMMENT = re.compile(rb"""(?:[ \t]|\\t)*(?:[.'][ \t]*(?:\\?["#'].*)?|'''.*|\\["#].*)?\Z""", re.DOTALL)
_TITLE = re.compile(rb"""[.'][ \t]*(?:TH[ \t]+["\w@\\]|Dd[ \t]|Dt[ \t]+["\w])""")
_REFERENCE = re.compile(rb"\.so[ \t]+\S+[ \t]*\Z")
_NODE = re.compile(rb"(?:\A|\n)\x1f\n(?:File: [^\n]{1,500}Node: |Indirect:)")
_PRODUCED = re.compile(rb"[^\n]{0,1000}produced by (?:makeinfo|texi2any|GNU Texinfo)")


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
