"""Checks ZIP archives for their sizes and XML declarations before anything is unpacked.

Office files whose XML declares a document type are refused, so no entity is ever expanded and nothing is fetched.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any
from xml.parsers import expat

from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import MIB, ReadingLimits

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The first bytes of old binary Office files and of encrypted new ones."""


@contextmanager
def opened_archive(data: bytes, limits: ReadingLimits, what: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive and check its sizes; refuse it also if damage shows only while it is read. `what`: `a Word file`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, limits)
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError, zlib.error) as error:
        raise Unreadable(f"is not {what}, or a damaged one ({error})") from error


def check_office_file(data: bytes, limits: ReadingLimits, program: str, ending: str) -> None:
    """Refuse a file of an Office program (`Word`, `.docx`) that is not safe to parse."""
    if data.startswith(_COMPOUND_FILE):
        raise Unreadable(f"is an old or an encrypted {program} file: save it as {ending} without a password")
    article = "an" if program[0] in "AEIOU" else "a"
    with opened_archive(data, limits, f"{article} {program} file") as archive:
        # Every member: a list of types inside the archive, not the name, decides which are parsed as XML.
        for name in archive.namelist():
            with archive.open(name) as member:
                _refuse_document_type(name, member)


def opened_office_file(opener: Callable[[IO[bytes]], Any], data: bytes, limits: ReadingLimits, *names: str) -> Any:
    """What `opener`, of the library for this program, makes of a file that `check_office_file` accepts."""
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    check_office_file(data, limits, *names)
    try:
        return opener(io.BytesIO(data))
    except (XMLSyntaxError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise Unreadable(f"is not a {names[0]} file, or a damaged one ({error})") from error


def _check_sizes(archive: zipfile.ZipFile, limits: ReadingLimits) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.members:
        raise Unreadable(f"holds {len(members)} files, more than the limit of {limits.members} (the limit `members`)")
    if unpacked > limits.unpacked:
        raise Unreadable(
            f"unpacks to {unpacked} bytes, more than the limit of {limits.unpacked} (the limit `unpacked`)"
        )
    if unpacked > 16 * MIB and unpacked > limits.expansion * packed:
        raise Unreadable(f"unpacks to more than {limits.expansion} times its size: looks like a zip bomb")


def _refuse_document_type(name: str, member: IO[bytes]) -> None:
    """Refuse XML with a document type. Members that are not XML pass; the format's parser judges them."""

    def refuse(*_: object) -> None:
        what = "not safe to parse, and no file of this form needs one"
        raise Unreadable(f"declares an XML document type in {name}: {what}")

    elements: list[str] = []  # no document type can follow the first
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda element, _: elements.append(element)
    with contextlib.suppress(expat.ExpatError):
        while not elements and (chunk := member.read(65536)):
            parser.Parse(chunk)
