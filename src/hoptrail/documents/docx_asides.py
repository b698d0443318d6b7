"""Moves asides into the body of a Word document: text boxes, footnotes and comments after their paragraph or table, endnotes at
the end.

A note begins with the number that stands in the text (`[1]`, for an endnote `[i]`), a comment with its author and date. All are
numbered in the order of the text, whatever numbers the file asks for. Works on the tree of the opened document, before its blocks
are read; nothing is written to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.docx_styles import NAMESPACE
from hoptrail.text.dates import find_date

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PARAGRAPH, _RUN, _TABLE = (f"{NAMESPACE}{tag}" for tag in ("p", "r", "tbl"))
_BOX = f"{NAMESPACE}txbxContent"
_CHOICE, _FALLBACK = (f"{_COMPATIBILITY}{tag}" for tag in ("Choice", "Fallback"))
_UNREAD = {f"{NAMESPACE}{tag}" for tag in ("del", "moveFrom")}
"""Elements of deleted text. Asides referred to there are not read either."""
_PLACE = "place-of-aside"
_NUMBER = re.compile(r"^(\[\w+\])\s+")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def insert_asides(document: WordDocument) -> None:
    """Put the text boxes, notes and comments of a document into its body.
    Raises: Unreadable: the notes or comments are damaged.
    """
    body = document.element.body
    last_after: dict[Any, Any] = {}
    for number, box in enumerate(_text_boxes(body), 1):
        blocks = [_placed(block, f"text box {number}") for block in box if block.tag in (_PARAGRAPH, _TABLE)]
        _put_after(box, blocks, last_after)
    for number, (reference, note) in enumerate(_references(document, "footnote"), 1):
        _put_after(reference, _numbered(reference, note, str(number), f"footnote {number}"), last_after)
    for number, (reference, note) in enumerate(_references(document, "endnote"), 1):
        body.extend(_numbered(reference, note, _roman(number), f"endnote {number}"))
    for number, (reference, comment) in enumerate(_references(document, "comment"), 1):
        _put_after(reference, _signed(comment, f"comment {number}"), last_after)


def _put_after(element: Any, blocks: Sequence[Any], last_after: dict[Any, Any]) -> None:
    """Put `blocks` after the paragraph or table of the body that contains `element`, and what was put there before."""
    around = [block for block in element.iterancestors() if block.tag in (_PARAGRAPH, _TABLE)][-1]
    for block in blocks:
        last_after.get(around, around).addnext(block)
        last_after[around] = block


def _text_boxes(body: Any) -> list[Any]:
    """The contents of the text boxes in order. The duplicates for older programs are removed."""
    for fallback in list(body.iter(_FALLBACK)):
        choice = fallback.getparent().find(_CHOICE)
        if choice is not None and next(choice.iter(_BOX), None) is not None:
            fallback.getparent().remove(fallback)
    boxes = ((box, {element.tag for element in box.iterancestors()}) for box in body.iter(_BOX))
    return [box for box, around in boxes if around.isdisjoint(_UNREAD) and _PARAGRAPH in around]


def place_of_aside(block: Any) -> str:
    """The place of an aside (`footnote 1`, `comment 1`, `text box 1`, ...); empty for blocks of the body."""
    place: str = block.get(_PLACE, "")
    return place


def is_place_of_aside(place: str) -> bool:
    """Whether a place is that of an aside."""
    return place.startswith(("footnote ", "endnote ", "comment ", "text box "))


def tidied(text: str) -> str:
    """The text of an aside without outer white space, and with one space after the number of a note."""
    return _NUMBER.sub(r"\1 ", text.strip())


def _references(document: WordDocument, kind: str) -> list[tuple[Any, Any]]:
    """The references to notes of this kind in order, each with its note. Repeated references to a note are left out."""
    notes = {note.get(f"{NAMESPACE}id"): note for note in _notes(document, kind)}
    references = []
    for reference in document.element.body.iter(f"{NAMESPACE}{kind}Reference"):
        around = {element.tag for element in reference.iterancestors()}
        if not around.isdisjoint(_UNREAD) or not around.issuperset((_RUN, _PARAGRAPH)):
            continue
        note = notes.pop(reference.get(f"{NAMESPACE}id"), None)
        if note is not None:
            references.append((reference, note))
    return references


def _notes(document: WordDocument, kind: str) -> Iterator[Any]:
    from docx.oxml import parse_xml
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    for relation in document.part.rels.values():
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external:
            try:
                root = parse_xml(relation.target_part.blob)
            except XMLSyntaxError as error:
                raise Unreadable(f"has {kind}s that are damaged ({error})") from error
            yield from root.iter(f"{NAMESPACE}{kind}")


def _numbered(reference: Any, note: Any, number: str, place: str) -> list[Any]:
    """The paragraphs of a note. Its number is put before the first and at the reference, unless the reference has a custom mark,
    which the note repeats.
    """
    from docx.oxml import OxmlElement

    paragraphs = _paragraphs(note, place)
    if paragraphs and reference.get(f"{NAMESPACE}customMarkFollows") in {None, "0", "false"}:
        mark = OxmlElement("w:t")
        mark.text = f"[{number}]"
        reference.addprevious(mark)
        _begin(paragraphs[0], f"[{number}] ")
    return paragraphs


def _signed(comment: Any, place: str) -> list[Any]:
    paragraphs = _paragraphs(comment, place)
    author = " ".join(comment.get(f"{NAMESPACE}author", "").split())
    date = find_date(comment.get(f"{NAMESPACE}date", "")[:10])
    if paragraphs:
        _begin(paragraphs[0], f"Comment{f' by {author}' if author else ''}{f' on {date}' if date else ''}: ")
    return paragraphs


def _paragraphs(note: Any, place: str) -> list[Any]:
    return [_placed(part, place) for part in note.iter(_PARAGRAPH) if "".join(part.itertext()).strip()]


def _placed(block: Any, place: str) -> Any:
    block.set(_PLACE, place)
    return block


def _begin(paragraph: Any, words: str) -> None:
    from docx.oxml import OxmlElement

    run, text = OxmlElement("w:r"), OxmlElement("w:t")
    text.text = words
    run.append(text)
    properties = paragraph.find(f"{NAMESPACE}pPr")
    if properties is None:
        paragraph.insert(0, run)
    else:
        properties.addnext(run)


def _roman(number: int) -> str:
    """The number in small Roman numerals; from 100 on in digits."""
    return _TENS[number // 10] + _ONES[number % 10] if number < 100 else str(number)
