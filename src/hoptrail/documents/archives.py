"""Checks ZIP archives for their sizes and XML declarations before anything is unpacked.

Office files whose XML declares a document type are refused, so no entity is ever expanded and nothing is fetched. Of others the
libraries get what is sound: without parts that are damaged and relationships that lead nowhere, and with the usual names in
place of those of the strict form.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree as ET
from xml.parsers import expat

from hoptrail.documents.limits import MIB, ReadingLimits, Unreadable

_DAMAGED, _STRICT, _EMBEDDED = "damaged", "strict", "embedded"
"""States of parts. Embedded pages, which may have a document type, are not handed on."""
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)")
_NO_TEXT = frozenset({"image", "hyperlink", "audio", "video", "media", "font", "thumbnail"})
"""Kinds of relationships to parts without text."""
_NOT_READ = re.compile(r"(?:.*/)?(?:Configurations2|Basic|Dialogs)/")
"""Folders of OpenDocument files for settings of the program, which may be empty files, and for macros."""
_OBJECT = re.compile(r"Object \d+/")
"""Folders of OpenDocument files for formulas and charts. Older programs declared a document type for formulas."""
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


def sound_office_file(data: bytes, limits: ReadingLimits, program: str, ending: str) -> tuple[bytes, list[str]]:
    """A file of an Office program (`Word`, `.docx`) with what is sound of it, and notes on the rest.
    Raises: Unreadable: it is not safe to parse, or no such file at all.
    """
    if data.startswith(_COMPOUND_FILE):
        raise Unreadable(f"is an old or an encrypted {program} file: save it as {ending} without a password")
    article = "an" if program[0] in "AEIOU" else "a"
    with opened_archive(data, limits, f"{article} {program} file") as archive:
        names = [name for name in dict.fromkeys(archive.namelist()) if not name.endswith("/")]
        # Every member: a list of types inside the archive, not the name, decides which are parsed as XML.
        states = {name: _state_of(archive, name) for name in names}
        kept = {name for name in names if states[name] not in {_DAMAGED, _EMBEDDED}}
        damaged = [name for name in names if states[name] == _DAMAGED and not _NOT_READ.match(name)]
        loose = {name: _loose_ends(archive.read(name), name, kept) for name in kept if name.endswith(".rels")}
        targets = {target for ends in loose.values() for target, kind in ends.values() if kind not in _NO_TEXT}
        told = {"damaged parts were left out": damaged, "parts are missing": targets.difference(names)}
        notes = [f"{what}: {', '.join(sorted(parts))}" for what, parts in told.items() if parts]
        if len(kept) == len(names) and not any(loose.values()) and _STRICT not in states.values():
            return data, notes
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as sound:
            for name in filter(kept.__contains__, names):
                member = archive.read(name)
                for identifier in loose.get(name, ()):
                    member = re.sub(rb"<[^<>]*\bId=[\"']%b[\"'][^<>]*>" % re.escape(identifier.encode()), b"", member)
                sound.writestr(name, _STRICT_NAME.sub(rb"http://schemas.openxmlformats.org/\1/2006", member))
    return out.getvalue(), notes


def xml_root(archive: zipfile.ZipFile, name: str) -> Any:
    """The root of an XML file of an archive; an empty element if there is none."""
    from lxml import etree  # type: ignore[import-untyped]

    if name not in archive.namelist():
        return etree.Element("none")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)
    return etree.fromstring(archive.read(name), parser)


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


def _state_of(archive: zipfile.ZipFile, name: str) -> str:
    """Whether a member is damaged, an embedded page, or has the names of the strict form; empty if not. Refuse XML with a
    document type, unless the rest can be read without it. Members that are not XML pass; the format's parser judges them.
    """

    def refuse(*_: object) -> None:
        what = "not safe to parse, and no file of this form needs one"
        raise Unreadable(f"declares an XML document type in {name}: {what}")

    def begin(*_: object) -> None:  # no document type can follow the first element
        parser.StartDoctypeDeclHandler = parser.StartElementHandler = None

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, begin
    try:
        data = archive.read(name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return _DAMAGED
    if name.lower().endswith((".htm", ".html", ".xhtml", ".mht")):
        return _EMBEDDED
    try:
        parser.Parse(data, True)  # noqa: FBT003 - the end, without a name in this library
    except Unreadable:
        if not (_NOT_READ.match(name) or _OBJECT.match(name)):
            raise
        return _DAMAGED
    except expat.ExpatError:
        return _DAMAGED if name.endswith((".xml", ".rels")) else ""
    return _STRICT if _STRICT_NAME.search(data) else ""


def _loose_ends(relationships: bytes, name: str, kept: Set[str]) -> dict[str, tuple[str, str]]:
    """By the id of each relationship to no member: its target, and its kind."""
    folder = posixpath.dirname(posixpath.dirname(name))
    ends = {}
    for relation in ET.fromstring(relationships):  # noqa: S314 - has no document type
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
        if relation.get("TargetMode") != "External" and target not in kept:
            ends[relation.get("Id", "")] = target, relation.get("Type", "").rpartition("/")[2]
    return ends
