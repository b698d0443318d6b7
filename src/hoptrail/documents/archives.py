"""Archives of files (zip), checked before anything in them is unpacked: their sizes, and what their XML declares.

Knows nothing of what the files mean. XML with a document type is refused where a format needs none, so no entity is ever
expanded and nothing is fetched.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO
from xml.parsers import expat

from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import MIB, ReadingLimits

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
"""How the binary formats of old Office programs begin, and their encrypted files of today."""


@contextmanager
def opened_archive(data: bytes, limits: ReadingLimits, what: str) -> Iterator[zipfile.ZipFile]:
    """The archive, its sizes checked; `what` names the kind of file (`a Word file`) in messages.

    Raises:
        Unreadable: no archive, a damaged one (also when it turns out while it is read), or one beyond a limit.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, limits)
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError, zlib.error) as error:
        raise Unreadable(f"is not {what}, or a damaged one ({error})") from error


def check_office_file(data: bytes, limits: ReadingLimits, program: str, ending: str) -> None:
    """Refuse a file of an Office program (`Word`, `.docx`) that is not safe to hand to its parser.

    Raises:
        Unreadable: an old or encrypted file, no archive, a damaged one, beyond a limit, or with a document type.
    """
    if data.startswith(_COMPOUND_FILE):
        raise Unreadable(f"is an old or an encrypted {program} file: save it as {ending} without a password")
    with opened_archive(data, limits, f"{_article(program)} {program} file") as archive:
        for (
            name
        ) in archive.namelist():  # whatever its name: the archive's own list of types decides what is parsed as XML
            with archive.open(name) as member:
                refuse_document_type(name, member)


def _article(word: str) -> str:
    return "an" if word[0] in "AEIOU" else "a"


def _check_sizes(archive: zipfile.ZipFile, limits: ReadingLimits) -> None:
    """What the archive says of itself; `zipfile` gives up on a member that unpacks to more than it says."""
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


class _RootReached(Exception):
    """Nothing before the first element was wrong; a document type cannot come later."""


def refuse_document_type(name: str, member: IO[bytes]) -> None:
    """Refuse XML with a document type. What is not XML is let pass: whether that matters is for the format's parser to say.

    Raises:
        Unreadable: the file, which is called `name`, declares a document type.
    """

    def refuse(*_: object) -> None:
        raise Unreadable(
            f"declares an XML document type in {name}: not safe to parse, and no file of this form needs one"
        )

    def stop(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with contextlib.suppress(_RootReached, expat.ExpatError):
        while chunk := member.read(65536):
            parser.Parse(chunk)
