"""Parses EPUB books: their parts in reading order, each as an HTML page.

The archive is checked before anything is unpacked. The HTML parser reads its XML; it expands no declared entity and fetches
nothing. A part without a heading has that of the table of contents. Books with DRM are refused.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from hoptrail.documents.blocks import Parsed, Piece, assemble, first_heading
from hoptrail.documents.decoding import decode
from hoptrail.documents.html import html_pieces, html_tree
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.office_package import opened_archive
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def parse_epub(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a book: title (of its metadata, else the first heading), date (of its metadata), and blocks with part and line."""
    with opened_archive(data, limits, "an EPUB book") as archive:
        title, date, parts, names = _book(archive)
        notes: list[str] = []
        pieces = list[Piece]()
        for number, part in enumerate(parts, 1):
            read = list(_part(archive, number, part, notes))
            if read and part in names and all(piece.kind is not BlockKind.HEADING for piece in read):
                pieces.append(Piece(BlockKind.HEADING, names[part], 1, place=read[0].place))
            pieces += read
    return assemble(title or first_heading(pieces), pieces, notes, limits.text, (date, "book metadata"))


def _book(archive: zipfile.ZipFile) -> tuple[str, str, list[str], dict[str, str]]:
    """The title, the date, the names of the parts in order, and their names in the table of contents."""
    rootfile = _xml(archive, _CONTAINER).css_first("rootfile[full-path]")
    package = rootfile.attributes["full-path"] if rootfile else ""
    if not package:
        raise Unreadable("is not an EPUB book: its container names no package")
    tree = _xml(archive, package)
    items = [item.attributes for item in tree.css("manifest item")]
    pages = {one.get("id"): one.get("href") or "" for one in items if one.get("media-type") in _PAGES}
    spine = [pages[name] for itemref in tree.css("itemref") if (name := itemref.attributes.get("idref")) in pages]
    parts = [_within(package, href) for href in spine]
    if not parts:
        raise Unreadable("is not an EPUB book: its package names no parts")
    contents = tree.css("item[properties~='nav'], item[media-type='application/x-dtbncx+xml']")
    listing = [_within(package, item.attributes.get("href") or "") for item in contents]
    names = {part: name for one in listing if one in archive.namelist() for part, name in _names(archive, one)}
    # Fonts are often obfuscated and listed as encrypted; these do not matter.
    listed = _xml(archive, _ENCRYPTION).css("[uri]") if _ENCRYPTION in archive.namelist() else []
    if {unquote(node.attributes["uri"] or "") for node in listed} & set(parts):
        raise Unreadable("is protected by its publisher (DRM): only licensed programs can read it")
    date = _metadata(tree, "date")
    return _metadata(tree, "title"), find_date(date) or date[:4], parts, names


def _within(name: str, href: str) -> str:
    """The member of the archive to which a member with this name refers so."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(href.partition("#")[0])))


def _names(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, str]]:
    """The parts in a table of contents with their names, from the last to the first: the first entry of a part names it."""
    try:
        tree = _xml(archive, name)
    except (zipfile.BadZipFile, zlib.error, Unreadable):  # the book is read without it
        return
    nav = tree.css_first(r"nav[epub\:type~='toc']") or tree.css_first("nav")  # another lists its pages
    for entry in reversed([*(nav.css("a[href]") if nav else []), *tree.css("navpoint")]):
        target, label = entry.css_first("content[src]"), entry.css_first("navlabel")
        href = entry.attributes.get("href") or (target.attributes.get("src") if target else "") or ""
        if text := squeeze((label or entry).text()):
            yield _within(name, href), text


def _metadata(tree: LexborHTMLParser, name: str) -> str:
    element = tree.css_first(rf"dc\:{name}")
    return squeeze(element.text()) if element else ""


def _xml(archive: zipfile.ZipFile, name: str) -> LexborHTMLParser:
    try:
        return html_tree(decode(archive.read(name)).text)
    except KeyError:
        raise Unreadable(f"is not an EPUB book: {name} is missing") from None


def _part(archive: zipfile.ZipFile, number: int, name: str, notes: list[str]) -> Iterator[Piece]:
    try:
        decoded = decode(archive.read(name))
    except KeyError:
        notes.append(f"part {number} of the book is missing ({name})")
        return
    except (zipfile.BadZipFile, zlib.error, Unreadable) as error:
        notes.append(f"part {number} of the book is damaged ({name}: {error})")
        return
    notes += [f"part {number}: {note}" for note in decoded.notes]
    for piece in html_pieces(decoded.text, lines=True):
        yield replace(piece, place=f"part {number}, {piece.place}" if piece.place else f"part {number}")
