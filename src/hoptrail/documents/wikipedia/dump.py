"""A MediaWiki XML dump as a stream of single pages, unparsed: plain, bzip2 (multistream or not) or gzip, told by content.

The stream is cut at `<page>` and `</page>`, which stand nowhere else in a dump: in a page's text a `<` is always escaped. Each
page is parsed on its own (`page.py`), so that a broken one costs only itself, and a document type, which alone could bring
entities that grow, never reaches a parser. Memory is bounded by the longest page allowed. What stands in a
page is not known here.
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
"""Bytes of a page's XML. A wiki's own limit on a text is 2 MiB, but a dump with the history of a page has many of them."""

_OPEN, _CLOSE, _END = b"<page>", b"</page>", b"</mediawiki>"
_KEPT = 64 * 1024
_TITLE = re.compile(rb"<title>([^<]{0,2000})")
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as it stands in the dump, from `<page>` to `</page>`; `fault` says why it cannot be taken for one."""

    data: bytes
    fault: str = ""

    @property
    def title(self) -> str:
        """As far as it can be told without parsing."""
        return title_of(self.data)


@dataclass(slots=True)
class Dump:
    """A dump being read. `header`: what stands before the first page. `ended`: why it ended before its end, empty if it did not.

    `unpacked`: the offset, in bytes of unpacked XML, behind the last page that was given out.
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
        """Bytes of the file that were read so far."""
        return self.raw.tell()

    def pages(self, longest: int = LONGEST_PAGE) -> Iterator[RawPage]:
        """Every page, in order. When they are used up, `ended` is final.

        Raises:
            DocumentError: this is no MediaWiki dump.
        """
        shortened = 0
        for block in self._blocks():
            for piece in self._ended_by(block):
                self.unpacked += len(piece) + len(_CLOSE) + shortened
                yield from self._cut(piece, f"is longer than {longest} bytes" if shortened else "")
                shortened = 0
            if len(self._rest) > longest:
                # The head has the title; the tail may hold the beginning of the end tag.
                whole, self._rest = len(self._rest), self._rest[:_KEPT] + self._rest[-len(_CLOSE) :]
                shortened += whole - len(self._rest)
        self._finish()

    def _ended_by(self, block: bytes) -> list[bytes]:
        """What stands before each end tag, now that `block` is there; the rest is kept. Gzip gives a long page in many blocks."""
        searched = max(0, len(self._rest) - len(_CLOSE) + 1)
        self._rest += block
        if self._rest.find(_CLOSE, searched) < 0:
            return []
        *pieces, rest = bytes(self._rest).split(_CLOSE)
        self._rest = bytearray(rest)
        return pieces

    def _cut(self, piece: bytes, fault: str) -> Iterator[RawPage]:
        """The page that ends here, and before it those whose end tag is missing."""
        before, *opened = piece.split(_OPEN)
        if not self.header:
            self._begin(before)
        for page in opened[:-1]:
            yield RawPage(_OPEN + page, "has no end tag `</page>`")
        last = RawPage(_OPEN + opened[-1] + _CLOSE, fault) if opened else RawPage(before, "has no start tag `<page>`")
        yield last

    def _begin(self, header: bytes) -> None:
        self.header = header
        if b"<mediawiki" not in header:
            if self.ended:
                raise DocumentError(str(self.path), f"holds no page that can be read: {self.ended}")
            raise DocumentError(
                str(self.path),
                "is not a MediaWiki XML dump (it does not begin with `<mediawiki`): give a pages-articles file",
            )

    def _finish(self) -> None:
        before, *opened = bytes(self._rest).split(_OPEN)
        if not self.header:
            self._begin(before)
        if not self.ended and _END not in self._rest:
            self.ended = "the end tag `</mediawiki>` is missing"
        if self.ended and opened:
            self.ended += f", in the middle of the page {title_of(opened[0])!r}"

    def _blocks(self) -> Iterator[bytes]:
        # `read1` gives what it has: a full `read` would lose what stands before the damage.
        reader = getattr(self.stream, "read1", self.stream.read)
        try:
            while block := reader(MIB):
                yield block
        except _DAMAGE as error:
            self.ended = f"the packed file is damaged or cut off ({error})"
        except OSError as error:
            if error.errno is not None:
                raise DocumentError(str(self.path), f"could not be read ({error.strerror})") from error
            self.ended = f"the packed file is damaged ({error})"  # what bzip2 says of a bad block


@contextmanager
def open_dump(path: Path) -> Iterator[Dump]:
    """A dump, to be read once.

    Raises:
        DocumentError: it cannot be opened, or is packed in a way that is not read.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise DocumentError(str(path), f"could not be read ({error.strerror or error})") from error
    with raw:
        yield Dump(path, _unpacking(path, raw), raw)


def _unpacking(path: Path, raw: BinaryIO) -> BinaryIO:
    first = raw.read(4)
    raw.seek(0)
    if first.startswith(b"BZh"):
        return bz2.BZ2File(raw)  # type: ignore[return-value]
    if first.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if first.startswith((b"7z", b"PK", b"\x28\xb5\x2f\xfd", b"\xfd7zX")):
        raise DocumentError(
            str(path), "is packed in a way that is not read: unpack it, or take the .bz2 or .gz of the same dump"
        )
    return raw


def title_of(data: bytes) -> str:
    """The title in a page's XML, by its tag alone."""
    found = _TITLE.search(data)
    return unescape(found[1].decode("utf-8", "replace")).strip() if found else "(no title)"
