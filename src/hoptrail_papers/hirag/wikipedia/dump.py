"""Streams the pages of a MediaWiki XML dump: plain, gzip, or bzip2 in one or many streams.

Expat parses it piece by piece, so memory is bounded by the longest text allowed. A dump that declares a document type, which
could declare growing entities, is refused. After damage, reading goes on with the next bzip2 stream: a hundred pages further in a
multistream dump. Each page knows the place from which reading can be resumed: a stream that begins between two pages, and how
many pages follow from there.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers.expat import ExpatError, ParserCreate

from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError

LONGEST_TEXT = 4 * MIB  # characters of a page's wikitext that are read; Wikipedia allows 2 MiB
PACKED = MIB // 16  # bytes that are read from a packed file at once
LEFT_OPEN = "the end tag </mediawiki> is missing"

_ROOT = "mediawiki"
_CONTROL = bytes({*range(32)} - {*b"\t\n\r"})
"""Bytes that XML cannot have; they are skipped, for they would cost the pages around them."""
_READ = frozenset({"title", "ns", "id", "model", "text", "namespace"})
_FILES_AND_CATEGORIES = ("6", "14")
_OTHER_PACKING = (b"7z", b"PK", b"\x28\xb5\x2f\xfd", b"\xfd7zX")


@dataclass(frozen=True, slots=True)
class DumpPlace:
    """Where reading can be resumed: the offset of a packed stream, and the pages read since."""

    offset: int = 0
    pages: int = 0


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page as the dump has it. `redirect` is its target, `fault` says why its text was not read."""

    place: DumpPlace
    id: str
    title: str
    namespace: str
    model: str
    redirect: str
    text: str
    fault: str = ""


class _Damaged(Exception):
    """The XML cannot be read on."""


@dataclass
class Dump:
    """A dump, read from `start`. `faults`: what was damaged and where; `names`: the wiki's own for files and categories."""

    path: Path
    start: DumpPlace = DumpPlace()
    names: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def pages(self) -> Iterator[WikiPage]:
        """Yield the pages after `start` in order. Raises: DocumentError: this is no dump that can be read."""
        parser = _PageParser(self.start.offset, self.names) if self.start.offset else None
        skipped, begun, closed = self.start.pages, bool(self.start.offset), False
        for offset, data in self._blocks():
            if offset is not None and begun and (parser is None or parser.path == [_ROOT]):
                parser = _PageParser(offset, self.names, parser)
            if parser is None and begun:
                continue  # damaged: until the next stream
            parser = parser or _PageParser(0, self.names)
            begun = True
            try:
                found = parser.feed(data)
            except _Damaged as error:
                if not parser.is_dump:
                    raise DocumentError(str(self.path), f"is not a MediaWiki XML dump ({error})") from error
                self.faults.append(f"after the page {parser.last!r}: {error}")
                found, parser = parser.found(), None
            for page in found:
                if page.place.offset != self.start.offset or page.place.pages > skipped:
                    yield page
            closed = parser is not None and parser.closed
        if not begun or (parser and not parser.is_dump):
            raise DocumentError(str(self.path), self.faults[0] if self.faults else "is not a MediaWiki XML dump")
        if not closed and not self.faults:
            self.faults.append(LEFT_OPEN)

    def _blocks(self) -> Iterator[tuple[int | None, bytes]]:
        """The XML in blocks of at most a MiB; a block that begins a packed stream has its offset."""
        try:
            with self.path.open("rb") as file:
                first = file.read(4)
                if first.startswith(_OTHER_PACKING):
                    raise DocumentError(str(self.path), "is packed in another form: take the .bz2 of the same dump")
                file.seek(self.start.offset)
                if first.startswith(b"BZh"):
                    yield from _bzip2_streams(file)
                else:
                    packed = gzip.GzipFile(fileobj=file) if first.startswith(b"\x1f\x8b") else None
                    while block := (packed.read1(MIB) if packed else file.read(MIB)):
                        yield None, block
        except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise DocumentError(str(self.path), f"could not be read ({error.strerror})") from error
            self.faults.append(f"the packed file is damaged or cut off ({error})")


def _bzip2_streams(file: BinaryIO) -> Iterator[tuple[int | None, bytes]]:
    """Raises: OSError: a stream is damaged. EOFError: the last one is cut off."""
    offset, rest = file.tell(), b""
    while rest := rest or file.read(PACKED):
        packed, begins = bz2.BZ2Decompressor(), True
        while not packed.eof:
            if packed.needs_input and not rest:
                rest = file.read(PACKED)
                if not rest:
                    raise EOFError("the last stream has no end")
            block, rest = packed.decompress(rest, MIB), b""
            if block:
                yield (offset if begins else None), block
                begins = False
        rest = packed.unused_data
        offset = file.tell() - len(rest)


class _PageParser:
    """Expat with handlers that gather pages. With an `offset` above 0 it begins within a dump."""

    def __init__(self, offset: int, names: list[str], before: _PageParser | None = None) -> None:
        self._expat = ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.StartDoctypeDeclHandler = self._expat.EntityDeclHandler = _refuse
        self._offset, self._names, self._pages = offset, names, 0
        self.path: list[str] = []
        self._values: dict[str, str] = {}
        self._parts: list[str] = []
        self._length = 0
        self._found: list[WikiPage] = []
        self.last = before.release() if before else ""
        self.is_dump, self.closed = offset > 0, False
        if offset:
            self._expat.Parse(f"<{_ROOT}>".encode())

    def release(self) -> str:
        """Give up the parser, which its handlers would keep until the next collection of cycles. Returns the last title."""
        del self._expat
        return self.last

    def feed(self, data: bytes) -> list[WikiPage]:
        """The pages that end in `data`. Raises: _Damaged: it is no XML that can be read; `found` has the pages before."""
        try:
            self._expat.Parse(data.translate(None, _CONTROL))
        except ExpatError as error:
            raise _Damaged(str(error)) from error
        return self.found()

    def found(self) -> list[WikiPage]:
        found, self._found = self._found, []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.path and name != _ROOT:
            raise _Damaged(f"it begins with <{name}>")
        self.is_dump = True
        self.path.append(name)
        if name == "page":
            self._values = {}
        elif name == "redirect":
            self._values[name] = attributes.get("title", "")
        elif name == "namespace" and attributes.get("key") in _FILES_AND_CATEGORIES:
            self._values["key"] = attributes["key"]
        self._parts, self._length = [], 0

    def _text(self, text: str) -> None:
        if self.path and self.path[-1] in _READ:
            self._length += len(text)
            if self._length <= LONGEST_TEXT:
                self._parts.append(text)

    def _end(self, name: str) -> None:
        self.path.pop()
        text, self._parts = "".join(self._parts), []
        if name == "page":
            self._finish()
        elif name == "namespace" and self._values.pop("key", ""):
            self._names.append(text)
        elif name in _READ and (name != "id" or self.path[-1] == "page"):
            self._values[name] = text
            if name == "text":
                too_long = self._length > LONGEST_TEXT
                self._values["fault"] = f"is longer than {LONGEST_TEXT} characters" if too_long else ""
        self.closed = not self.path

    def _finish(self) -> None:
        self._pages += 1
        values = {key: self._values.get(key, "") for key in ("id", "title", "ns", "model", "redirect", "text", "fault")}
        namespace, model = values.pop("ns") or "0", values.pop("model") or "wikitext"
        place = DumpPlace(self._offset, self._pages)
        self._found.append(WikiPage(place, namespace=namespace, model=model, **values))
        self.last = values["title"]


def _refuse(*_: Any) -> None:
    raise _Damaged("it declares a document type or an entity, which no dump does")
