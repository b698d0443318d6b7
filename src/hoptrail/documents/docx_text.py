"""Reads the text of the paragraphs of a Word file as it is shown.

Hidden and struck-out text is left out. Formulas, symbols, raised and lowered numbers, and the state of boxes are part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hoptrail.documents.docx_styles import Styles, find, is_on, tag, value
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.office_text import MATH, UNKNOWN_SIGN, formula_text, shifted, symbols
from hoptrail.text.lexicon import word_set

RUN = tag("r")
_FORMULAS = (f"{MATH}oMath", f"{MATH}oMathPara")
# Elements whose content python-docx skips, apart from hyperlinks. `del` and `moveFrom` are not here: their text was deleted.
_WRAPPED = word_set("ins moveTo sdt sdtContent customXml smartTag fldSimple hyperlink dir bdo ruby rubyBase")
_WRAPPERS = frozenset(map(tag, _WRAPPED))
_PROMPTS = "[not filled in]"
"""What a control shows that prompts for a text."""
_SPACES = re.compile(r"  +")


def within(element: Any, *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags in `element` and its wrappers, in order. The XML parser bounds the depth."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from within(child, *tags)


class ShownText:
    """Reads paragraphs, and counts what is left out of them."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self.left_out: Counter[str] = Counter()
        self.unknown_signs = 0

    def notes(self) -> list[str]:
        """Notes on what was left out of the paragraphs read so far."""
        notes = [note for note, count in self.left_out.items() if count]
        return notes + ([f"{self.unknown_signs} symbols are unknown"] if self.unknown_signs else [])

    def paragraph(self, paragraph: Any) -> str:
        """The text of a paragraph."""
        if any(is_on(around, "sdtPr", "showingPlcHdr") == "on" for around in paragraph.iterancestors(tag("sdt"))):
            return _PROMPTS
        before = self.left_out.total()
        text = self._text(paragraph, paragraph)
        return _SPACES.sub(" ", text) if self.left_out.total() > before else text

    def _text(self, element: Any, paragraph: Any) -> str:
        text = ""
        for part in within(element, RUN, tag("sdt"), *_FORMULAS):
            if part.tag == tag("sdt"):
                prompts = is_on(part, "sdtPr", "showingPlcHdr") == "on"
                text += _PROMPTS if prompts else self._text(part, paragraph)
            elif part.tag != RUN:
                text += formula_text(part)
            else:
                text += self._run(part, paragraph, text) + self._text(part, paragraph)
        return text

    def _run(self, run: Any, paragraph: Any, before: str) -> str:
        text = "".join(map(_shown, run))
        for what, marks in ((HIDDEN, ("vanish",)), (STRUCK, ("strike", "dstrike"))):
            if text and any(self._styles.is_marked(run, paragraph, mark) for mark in marks):
                self.left_out[what] += bool(text.strip())
                return ""
        fonts = find(run, "rPr", "rFonts")
        if fonts is not None:
            text = symbols(text, fonts.get(tag("ascii")) or fonts.get(tag("hAnsi")) or "")
        self.unknown_signs += text.count(UNKNOWN_SIGN)
        place = value(run, "rPr", "vertAlign")
        is_shifted = place in {"superscript", "subscript"}
        return shifted(text, before, is_raised=place == "superscript") if is_shifted else text


def _shown(element: Any) -> str:
    """The text of a part of a run: of characters, breaks and symbols, and of the boxes and lists of old forms."""
    if element.tag == tag("sym"):
        return symbols(chr(int(element.get(tag("char"), "20"), 16)), element.get(tag("font"), ""))
    if element.tag == tag("fldChar"):
        return _field(element)
    return str(element) if element.tag in _CHARACTERS else ""


_CHARACTERS = frozenset(map(tag, ("t", "br", "cr", "tab", "ptab", "noBreakHyphen")))
"""The parts of a run that python-docx writes as text."""


def _field(field: Any) -> str:
    box = find(field, "ffData", "checkBox")
    if box is not None:
        return "☒" if (is_on(box, "checked") or is_on(box, "default")) == "on" else "☐"
    choice = find(field, "ffData", "ddList")
    if choice is None:
        return ""
    chosen = value(choice, "result") or value(choice, "default") or "0"
    entries = [entry.get(tag("val"), "") for entry in choice.iter(tag("listEntry"))]
    return entries[int(chosen)] if chosen.isdigit() and int(chosen) < len(entries) else ""
