"""What was filled in or noted on a PDF page and is no part of its text: fields, boxes, notes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from hoptrail.documents.pdf.fragments import Fragment
from hoptrail.text.normal_forms import squeeze

_MOST = 2000  # annotations read per page
_USUAL_SIZE = 10.0  # of a font, where no text is beside
_LONGEST = 20_000  # characters of a value


def field_fragments(document: Any, page: Any, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield what fields of a page hold, on the line of the text beside them, and a box as ☑ or ☐; notes come after the text."""
    import pypdfium2.raw as pdfium

    size = median(fragment.size for fragment in fragments) if fragments else _USUAL_SIZE
    rect = pdfium.FS_RECTF()
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST)):
        note = pdfium.FPDFPage_GetAnnot(page, number)
        if not note:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            hidden = pdfium.FPDFAnnot_GetFlags(note) & pdfium.FPDF_ANNOT_FLAG_HIDDEN
            is_field = kind == pdfium.FPDF_ANNOT_WIDGET
            if hidden or kind in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                continue
            text = _value(pdfium, document, note) if is_field else _noted(pdfium, note)
            if text and pdfium.FPDFAnnot_GetRect(note, rect):
                ends = rect.left, max(rect.right, rect.left + 1)
                base = _base(fragments, rect) if is_field else 2 * size * number
                yield Fragment(text, *ends, base, size, turn=int(not is_field), lefts=ends[:1], is_filled_in=is_field)
        finally:
            pdfium.FPDFPage_CloseAnnot(note)


def _base(fragments: Sequence[Fragment], rect: Any) -> float:
    """The line of the nearest text beside a field; else one at its bottom."""
    beside = [one for one in fragments if not one.turn and -rect.top <= one.base <= -rect.bottom + 0.2 * one.size]
    nearest = min(beside, key=lambda one: min(abs(one.right - rect.left), abs(one.left - rect.right)), default=None)
    return nearest.base if nearest else -rect.bottom - 0.2 * min(_USUAL_SIZE, rect.top - rect.bottom)


def _value(pdfium: Any, document: Any, widget: Any) -> str:
    """The value of a field; of a box whether it is ticked, and nothing for a button."""
    form = document.formenv
    kind = pdfium.FPDF_FORMFIELD_UNKNOWN if form is None else pdfium.FPDFAnnot_GetFormFieldType(form, widget)
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        return "☑" if pdfium.FPDFAnnot_IsChecked(form, widget) else "☐"
    if kind in (pdfium.FPDF_FORMFIELD_PUSHBUTTON, pdfium.FPDF_FORMFIELD_SIGNATURE, pdfium.FPDF_FORMFIELD_UNKNOWN):
        return ""
    return squeeze(_text(partial(pdfium.FPDFAnnot_GetFormFieldValue, form, widget), pdfium))


def _noted(pdfium: Any, note: Any) -> str:
    read = partial(partial, pdfium.FPDFAnnot_GetStringValue, note)
    author, text = (squeeze(_text(read(key), pdfium)) for key in (b"T", b"Contents"))
    return f"Note{f' by {author}' if author else ''}: {text}" if text else ""


def _text(read: Callable[[Any, int], int], pdfium: Any) -> str:
    """A text of PDFium, which first tells the size of its UTF-16 in bytes."""
    size = min(read(None, 0), 2 * _LONGEST)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").rstrip("\0")
