"""Opens the archives of Office files: their parts as XML, and how parts refer to each other in files of Microsoft's programs."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.archives import sound_office_file, xml_root
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.text.normal_forms import squeeze

_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


class Package:
    """An open archive. `notes` say what of it is not read, and grow while it is. `limits` are those of the file."""

    def __init__(self, archive: zipfile.ZipFile, notes: list[str], limits: ReadingLimits, main: str) -> None:
        self.archive, self.notes, self.limits = archive, notes, limits
        self.names = archive.namelist()
        self.main = next(iter(self.related("", "officeDocument").values()), main)

    @property
    def title(self) -> str:
        parts = map(self.root, self.related("", "core-properties").values())
        return next((squeeze(part.findtext("{*}title") or "") for part in parts), "")

    def root(self, name: str) -> Any:
        """The root of a part; an empty element if there is none. The newest of alternative forms of a shape stands for all."""
        root = xml_root(self.archive, name)
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
        return {
            one.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            for one in xml_root(self.archive, posixpath.join(folder, "_rels", f"{file}.rels"))
            if one.get("TargetMode") != "External" and (not kinds or one.get("Type", "").rpartition("/")[2] in kinds)
        }

    def parts(self, name: str, *kinds: str) -> Iterator[Any]:
        """Yield the roots of the parts of these kinds that a part refers to."""
        yield from map(self.root, self.related(name, *kinds).values())


def relation_of(element: Any, name: str = "id") -> str:
    """The id of the relationship that an attribute of an element names."""
    return str(element.get(f"{_RELATIONS}{name}", ""))


@contextmanager
def opened_package(data: bytes, limits: ReadingLimits, program: str, ending: str, main: str = "") -> Iterator[Package]:
    """Open a file of an Office program (`Word`, `.docx`).
    Raises: Unreadable: it is not safe to parse, or no such file; also if damage shows only while it is read.
    """
    data, notes = sound_office_file(data, limits, program, ending)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield Package(archive, notes, limits, main)
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None
    except (etree.XMLSyntaxError, KeyError, ValueError, IndexError, zipfile.BadZipFile) as error:
        article = "an" if program[0] in "AEIOU" else "a"
        raise Unreadable(f"is not {article} {program} file, or a damaged one ({error})") from error
