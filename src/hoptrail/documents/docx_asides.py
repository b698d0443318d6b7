"""Puts the asides of a Word file into its body: text boxes, footnotes and comments after their paragraph, endnotes at the end.

A note begins with the number that stands in the text (`[1]`, for an endnote `[i]`), a comment with its author and date. All are
numbered in the order of the text, whatever numbers the file asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hoptrail.documents.docx_numbers import roman
from hoptrail.documents.docx_xml import tag
from hoptrail.documents.office_text import comment_head

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_PARAGRAPH, _RUN, _TABLE = map(tag, ("p", "r", "tbl"))
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_BOX = tag("txbxContent")
_CHOICE, _FALLBACK = (f"{_COMPATIBILITY}{name}" for name in ("Choice", "Fallback"))
_UNREAD = set(map(tag, ("del", "moveFrom")))
"""Elements of deleted text. Asides referred to there are not read either."""
PLACE = "place-of-aside"


def insert_asides(document: WordDocument) -> None:
    """Put the text boxes, notes and comments of a document into its body."""
    body = document.element.body
    last_after: dict[Any, Any] = {}
    for number, box in enumerate(_text_boxes(body), 1):
        blocks = [_placed(block, f"text box {number}") for block in box if block.tag in (_PARAGRAPH, _TABLE)]
        _put_after(box, blocks, last_after)
    for number, (reference, note) in enumerate(_references(document, "footnote"), 1):
        _put_after(reference, _numbered(reference, note, str(number), f"footnote {number}"), last_after)
    for number, (reference, note) in enumerate(_references(document, "endnote"), 1):
        body.extend(_numbered(reference, note, roman(number), f"endnote {number}"))
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


def _references(document: WordDocument, kind: str) -> list[tuple[Any, Any]]:
    """The references to notes of this kind in order, each with its note. Repeated references to a note are left out."""
    notes = {note.get(tag("id")): note for note in _notes(document, kind)}
    references = []
    for reference in document.element.body.iter(tag(f"{kind}Reference")):
        around = {element.tag for element in reference.iterancestors()}
        is_read = around.isdisjoint(_UNREAD) and around.issuperset((_RUN, _PARAGRAPH))
        if is_read and (name := reference.get(tag("id"))) in notes:
            references.append((reference, notes.pop(name)))
    return references


def _notes(document: WordDocument, kind: str) -> Iterator[Any]:
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external:
            yield from parse_xml(relation.target_part.blob).iter(tag(kind))


def _numbered(reference: Any, note: Any, number: str, place: str) -> list[Any]:
    """The paragraphs of a note. Its number is put before the first and at the reference, unless the reference has a custom mark,
    which the note repeats.
    """
    from docx.oxml import OxmlElement

    paragraphs = _paragraphs(note, place)
    if paragraphs and reference.get(tag("customMarkFollows")) in {None, "0", "false"}:
        mark = OxmlElement("w:t")
        mark.text = f"[{number}]"
        reference.addprevious(mark)
        _begin(paragraphs[0], f"[{number}] ")
    return paragraphs


def _signed(comment: Any, place: str) -> list[Any]:
    paragraphs = _paragraphs(comment, place)
    if paragraphs:
        _begin(paragraphs[0], f"{comment_head(comment.get(tag('author'), ''), comment.get(tag('date'), ''))}: ")
    return paragraphs


def _paragraphs(note: Any, place: str) -> list[Any]:
    return [_placed(part, place) for part in note.iter(_PARAGRAPH) if "".join(part.itertext()).strip()]


def _placed(block: Any, place: str) -> Any:
    block.set(PLACE, place)
    return block


def _begin(paragraph: Any, words: str) -> None:
    from docx.oxml import OxmlElement

    run, text = OxmlElement("w:r"), OxmlElement("w:t")
    text.text = words
    run.append(text)
    properties = paragraph.find(tag("pPr"))
    if properties is None:
        paragraph.insert(0, run)
    else:
        properties.addnext(run)
