"""Puts the footnotes and endnotes of a Word file where a reader looks for them: a footnote after the paragraph or table that
refers to it, an endnote at the end. Each has the number before it that stands in the text (`[1]`, `[i]` for endnotes).

Works on the tree of the opened document, before its blocks are read; nothing is written to the file. Notes are numbered in the
order of their references, whatever numbers the file asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hoptrail.documents.text import Unreadable

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PARAGRAPH, _RUN, _TEXT, _TABLE = (f"{_NAMESPACE}{tag}" for tag in ("p", "r", "t", "tbl"))
_UNREAD = {f"{_NAMESPACE}{tag}" for tag in ("del", "moveFrom", "txbxContent")}
"""What stands in these is not read, so a note that is referred to there is none."""
_PLACE = "place-of-note"
_NUMBER = re.compile(r"^(\[\w+\])\s+")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def insert_notes(document: WordDocument) -> None:
    """Put the notes of a document into its body.

    Raises:
        Unreadable: the notes are damaged.
    """
    body = document.element.body
    last: Any = None
    block: Any = None
    for number, (reference, note) in enumerate(_references(document, "footnote"), 1):
        around = _outermost_block(reference)
        last = last if block is not None and around is block else around
        block = around
        for paragraph in _numbered(reference, note, str(number), f"footnote {number}"):
            last.addnext(paragraph)
            last = paragraph
    for number, (reference, note) in enumerate(_references(document, "endnote"), 1):
        body.extend(_numbered(reference, note, _roman(number), f"endnote {number}"))


def place_of_note(paragraph: Any) -> str:
    """`footnote 1` for a paragraph of a note that was put into the body; empty for others."""
    place: str = paragraph.get(_PLACE, "")
    return place


def is_place_of_note(place: str) -> bool:
    """Whether a place is that of a footnote or an endnote."""
    return place.startswith(("footnote ", "endnote "))


def tidied(text: str) -> str:
    """The text of a paragraph of a note, with one space between its number and its words."""
    return _NUMBER.sub(r"\1 ", text.strip())


def _references(document: WordDocument, kind: str) -> list[tuple[Any, Any]]:
    """The elements that refer to notes of this kind, in order, each with its note; later ones to the same note are left out."""
    notes = {note.get(f"{_NAMESPACE}id"): note for note in _notes(document, kind)}
    found = []
    for reference in document.element.body.iter(f"{_NAMESPACE}{kind}Reference"):
        around = {element.tag for element in reference.iterancestors()}
        if not around.isdisjoint(_UNREAD) or not around.issuperset((_RUN, _PARAGRAPH)):
            continue
        note = notes.pop(reference.get(f"{_NAMESPACE}id"), None)
        if note is not None:
            found.append((reference, note))
    return found


def _notes(document: WordDocument, kind: str) -> Iterator[Any]:
    from docx.oxml import parse_xml
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    for relation in document.part.rels.values():
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external:
            try:
                root = parse_xml(relation.target_part.blob)
            except XMLSyntaxError as error:
                raise Unreadable(f"has {kind}s that are damaged ({error})") from error
            yield from root.iter(f"{_NAMESPACE}{kind}")


def _outermost_block(element: Any) -> Any:
    """The paragraph or table of the body that an element is in."""
    return [around for around in element.iterancestors() if around.tag in (_PARAGRAPH, _TABLE)][-1]


def _numbered(reference: Any, note: Any, number: str, place: str) -> list[Any]:
    """The paragraphs of a note, its number before the first and in the place of the reference. A reference with a mark of its own
    keeps that, which stands in the note as well.
    """
    from docx.oxml import OxmlElement

    paragraphs = [found for found in note.iter(_PARAGRAPH) if "".join(found.itertext()).strip()]
    for paragraph in paragraphs:
        paragraph.set(_PLACE, place)
    if paragraphs and reference.get(f"{_NAMESPACE}customMarkFollows") in {None, "0", "false"}:
        mark = OxmlElement("w:t")
        mark.text = f"[{number}]"
        reference.addprevious(mark)
        run, text = OxmlElement("w:r"), OxmlElement("w:t")
        text.text = f"[{number}] "
        run.append(text)
        _before_its_runs(paragraphs[0], run)
    return paragraphs


def _before_its_runs(paragraph: Any, run: Any) -> None:
    properties = paragraph.find(f"{_NAMESPACE}pPr")
    if properties is None:
        paragraph.insert(0, run)
    else:
        properties.addnext(run)


def _roman(number: int) -> str:
    """In small Roman numerals; from 100 on as it is."""
    return _TENS[number // 10] + _ONES[number % 10] if number < 100 else str(number)
