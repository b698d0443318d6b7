"""Streams the unparsed pages of a MediaWiki XML dump: plain, bzip2 (multistream or not) or gzip, detected by content.

The stream is split at `<page>` and `</page>`, which occur nowhere else in a dump because the text of a page escapes `<`. Each
page is parsed separately (`page.py`), so that a broken page harms no other, and no document type, which could declare growing
entities, reaches a parser. Memory is bounded by the longest page allowed.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import BinaryIO

from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError

LONGEST_PAGE = 64 * MIB
"""Bytes of a page's XML. Wikis limit a text to 2 MiB, but a dump with page histories has many texts per page."""

_OPEN, _CLOSE, _END = b"<page>", b"</page>", b"</mediawiki>"
_KEPT = 64 * 1024
_TITLE = re.compile(rb"<title>([^<]{0,2000})")
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class RawPage:
    """The XML of a page, from `<page>` to `</page>`. `fault` says why it is not a valid page, or is empty."""

    data: bytes
    fault: str = ""

    @property
    def title(self) -> str:
        """The title, found without parsing."""
        return title_of(self.data)


@dataclass(slots=True)
class Dump:
    """An open dump. `header`: the XML before the first page. `ended`: why the dump is cut off, else empty.

    `unpacked`: the offset, in bytes of unpacked XML, after the last page yielded.
    """

    path: Path
    stream: BinaryIO
    raw: BinaryIO
    header: bytes = b""
    ended: str = ""
    unpacked: int = 0
    _rest: bytearray = field(default_factory=bytearray, repr=False)

    @property
    def read(self) -> int:
        """Bytes of the file read so far."""
        return self.raw.tell()

    def pages(self, longest: int = LONGEST_PAGE) -> Iterator[RawPage]:
        """Yield every page in order. After the last one, `ended` is final.

        Raises:
            DocumentError: this is no MediaWiki dump.
        """
        shortened = 0
        for block in self._blocks():
            for piece in self._split(block):
                self.unpacked += len(piece) + len(_CLOSE) + shortened
                yield from self._pages_in(piece, f"is longer than {longest} bytes" if shortened else "")
                shortened = 0
            if len(self._rest) > longest:
                # The head has the title; the tail may have the beginning of the end tag.
                whole, self._rest = len(self._rest), self._rest[:_KEPT] + self._rest[-len(_CLOSE) :]
                shortened += whole - len(self._rest)
        self._finish()

    def _split(self, block: bytes) -> list[bytes]:
        """Append `block` and return the text before each end tag; the rest is kept. A long page comes in many blocks."""
        searched = max(0, len(self._rest) - len(_CLOSE) + 1)
        self._rest += block
        if self._rest.find(_CLOSE, searched) < 0:
            return []
        *pieces, rest = bytes(self._rest).split(_CLOSE)
        self._rest = bytearray(rest)
        return pieces

    def _pages_in(self, piece: bytes, fault: str) -> Iterator[RawPage]:
        """Yield the page that ends with `piece`, after pages without an end tag."""
        before, *opened = piece.split(_OPEN)
        if not self.header:
            self._begin(before)
        for page in opened[:-1]:
            yield RawPage(_OPEN + page, "has no end tag `</page>`")
        yield RawPage(_OPEN + opened[-1] + _CLOSE, fault) if opened else RawPage(before, "has no start tag `<page>`")

    def _begin(self, header: bytes) -> None:
        self.header = header
        if b"<mediawiki" in header:
            return
        reason = "is not a MediaWiki XML dump (it does not begin with `<mediawiki`): give a pages-articles file"
        raise DocumentError(str(self.path), f"holds no page that can be read: {self.ended}" if self.ended else reason)

    def _finish(self) -> None:
        before, *opened = bytes(self._rest).split(_OPEN)
        if not self.header:
            self._begin(before)
        if not self.ended and _END not in self._rest:
            self.ended = "the end tag `</mediawiki>` is missing"
        if self.ended and opened:
            self.ended += f", in the middle of the page {title_of(opened[0])!r}"

    def _blocks(self) -> Iterator[bytes]:
        # `read1` returns what is available; a full `read` would lose the data before the damage.
        reader = getattr(self.stream, "read1", self.stream.read)
        try:
            while block := reader(MIB):
                yield block
        except _DAMAGE as error:
            self.ended = f"the packed file is damaged or cut off ({error})"
        except OSError as error:
            if error.errno is not None:
                raise DocumentError(str(self.path), f"could not be read ({error.strerror})") from error
            self.ended = f"the packed file is damaged ({error})"  # raised by bz2 for a bad block


@contextmanager
def open_dump(path: Path) -> Iterator[Dump]:
    """Open a dump to read it once.

    Raises:
        DocumentError: it cannot be opened, or its compression is not supported.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise DocumentError(str(path), f"could not be read ({error.strerror or error})") from error
    with raw:
        yield Dump(path, _unpacked_stream(path, raw), raw)


def _unpacked_stream(path: Path, raw: BinaryIO) -> BinaryIO:
    first = raw.read(4)
    raw.seek(0)
    if first.startswith(b"BZh"):
        return bz2.BZ2File(raw)  # type: ignore[return-value]
    if first.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if first.startswith((b"7z", b"PK", b"\x28\xb5\x2f\xfd", b"\xfd7zX")):
        raise DocumentError(
            str(path), "has an unsupported compression: unpack it, or use the .bz2 or .gz of the same dump"
        )
    return raw


def title_of(data: bytes) -> str:
    """The title in a page's XML, found by its tag without parsing."""
    match = _TITLE.search(data)
    return unescape(match[1].decode("utf-8", "replace")).strip() if match else "(no title)"
