"""Opens archives after a check of their sizes; those of Office files with their parts as XML, which refer to each other.

XML that declares a document type is refused, so no entity is ever expanded and nothing is fetched. A part that is damaged or
missing is left out with a note. The strict form of a part gets the usual names.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.parsers import expat

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.limits import MIB, ReadingLimits, Unreadable
from hoptrail.text.normal_forms import squeeze

_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)")
_NO_TEXT = frozenset({"image", "hyperlink", "audio", "video", "media", "font", "thumbnail"})
"""Kinds of relationships to parts without text."""
_OBJECT = re.compile(r"Object \d+/")
"""Folders of OpenDocument files for formulas and charts. Older programs declared a document type for formulas."""
_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The first bytes of old binary Office files and of encrypted new ones."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)  # from reading a member
NOTHING = b"<none/>"  # in place of a part that cannot be read


@contextmanager
def opened_archive(data: bytes, limits: ReadingLimits, what: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive and check its sizes; refuse it also if damage shows only while it is read. `what`: `a Word file`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_sizes(archive, limits)
            yield archive
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None
    except (*_DAMAGED, etree.XMLSyntaxError, LookupError, ValueError, OSError) as error:
        raise Unreadable(f"is not {what}, or a damaged one ({error})") from error


def _check_sizes(archive: zipfile.ZipFile, limits: ReadingLimits) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.members:
        raise Unreadable(f"holds {len(members)} files, more than the limit of {limits.members} (the limit `members`)")
    if unpacked > limits.unpacked:
        most = f"the limit of {limits.unpacked} (the limit `unpacked`)"
        raise Unreadable(f"unpacks to {unpacked} bytes, more than {most}")
    if unpacked > 16 * MIB and unpacked > limits.expansion * packed:
        raise Unreadable(f"unpacks to more than {limits.expansion} times its size: looks like a zip bomb")


@contextmanager
def opened_package(data: bytes, limits: ReadingLimits, program: str, ending: str, main: str = "") -> Iterator[Package]:
    """Open a file of an Office program (`Word`, `.docx`). Raises: Unreadable: it is unsafe to parse, damaged, or no such file."""
    if data.startswith(_COMPOUND_FILE):
        raise Unreadable(f"is an old or an encrypted {program} file: save it as {ending} without a password")
    with opened_archive(data, limits, f"{'an' if program[0] in 'AEIOU' else 'a'} {program} file") as archive:
        yield Package(archive, limits, main)


class Package:
    """An open archive. `notes` say what of it is not read, and grow while it is. `limits` are those of the file."""

    def __init__(self, archive: zipfile.ZipFile, limits: ReadingLimits, main: str) -> None:
        self.limits, self.notes, self.names = limits, list[str](), frozenset(archive.namelist())
        self._archive = archive
        self.main = next(iter(self.related("", "officeDocument").values()), main)

    @property
    def title(self) -> str:
        parts = map(self.root, self.related("", "core-properties").values())
        return next((squeeze(part.findtext("{*}title") or "") for part in parts), "")

    def read(self, name: str) -> bytes:
        """The XML of a part; `NOTHING` if there is none. Raises: Unreadable: it declares a document type."""

        def refuse(*_: object) -> None:
            if _OBJECT.match(name):
                raise EOFError
            what = "not safe to parse, and no file of this form needs one"
            raise Unreadable(f"declares an XML document type in {name}: {what}")

        if name not in self.names:
            return NOTHING
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = refuse
        try:
            data = self._archive.read(name)
            parser.Parse(data, True)  # noqa: FBT003 - the end, without a name in this library
        except (*_DAMAGED, expat.ExpatError):
            self._note(f"{name} is damaged and was left out")
            return NOTHING
        return _STRICT_NAME.sub(rb"http://schemas.openxmlformats.org/\1/2006", data)

    def root(self, name: str) -> Any:
        """The root of a part; an empty element if there is none. The newest of alternative forms of a shape stands for all."""
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)
        root = etree.fromstring(self.read(name), parser)
        for choice in list(root.iter(f"{_COMPATIBILITY}Choice")):
            alternatives = choice.getparent()
            if alternatives.getparent() is not None:
                for shape in choice:
                    alternatives.addprevious(shape)
                alternatives.getparent().remove(alternatives)
        return root

    def related(self, name: str, *kinds: str) -> dict[str, str]:
        """The parts that a part refers to, by the ids of the relationships; all or those of some kinds."""
        folder, file = posixpath.split(name)
        found = {}
        for one in self.root(posixpath.join(folder, "_rels", f"{file}.rels")):
            target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            kind = one.get("Type", "").rpartition("/")[2]
            if one.get("TargetMode") == "External" or (kinds and kind not in kinds):
                continue
            if target in self.names:
                found[one.get("Id", "")] = target
            elif kind not in _NO_TEXT:
                self._note(f"{target} is missing")
        return found

    def parts(self, name: str, *kinds: str) -> Iterator[Any]:
        yield from map(self.root, self.related(name, *kinds).values())

    def _note(self, note: str) -> None:
        self.notes += [note] * (note not in self.notes)


def relation_of(element: Any, name: str = "id") -> str:
    return str(element.get(f"{_RELATIONS}{name}", ""))
