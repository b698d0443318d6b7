"""Reads the text of OpenDocument files: the styles of a file, and a paragraph as it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.office_package import Package
from hoptrail.documents.office_text import PAGE_NUMBER, OfficeReader, TextRun, comment_head, inherited
from hoptrail.text.normal_forms import squeeze

_NAMES = {"draw": "drawing", "svg": "svg-compatible", "fo": "xsl-fo-compatible"}
"""The names of namespaces that differ from the usual prefixes."""
_OTHERS = {"dc": "http://purl.org/dc/elements/1.1/", "xlink": "http://www.w3.org/1999/xlink"}


@cache
def tag(name: str) -> str:
    """The tag of an element or attribute with a short name such as `text:p`."""
    prefix, _, local = name.partition(":")
    space = _OTHERS.get(prefix) or f"urn:oasis:names:tc:opendocument:xmlns:{_NAMES.get(prefix, prefix)}:1.0"
    return f"{{{space}}}{local}"


DRAW, _OFFICE, _TEXT, _FORM = tag("draw:"), tag("office:"), tag("text:"), tag("form:")
"""How the tags of drawings, of what belongs to the office, of text and of controls begin."""
_MATH = "{http://www.w3.org/1998/Math/MathML}"
_SPACE = re.compile(r"[ \t\r\n]+")
_BOXES, _FIELDS = ("checkbox", "radio"), ("text", "combobox", "formatted-text")


class OdfStyles:
    """The styles of a file, which inherit from each other. `roots` are those of the parts with styles."""

    def __init__(self, *roots: Any) -> None:
        self._styles = {
            (one.get(tag("style:family")), one.get(tag("style:name"))): one
            for root in roots
            for one in root.iter(tag("style:style"))
        }
        self._ordered = {
            (one.get(tag("style:name")), int(level.get(tag("text:level"), "1")))
            for root in roots
            for one in root.iter(tag("text:list-style"))
            for level in one.iter(tag("text:list-level-style-number"))
        }
        self.value = cache(self._value)

    def _chain(self, family: str, name: str | None) -> Iterator[Any]:
        """A style and those that it inherits from."""
        first = self._styles.get((family, name))
        return inherited(first, lambda style: self._styles.get((family, style.get(tag("style:parent-style-name")))))

    def _value(self, family: str, name: str | None, attribute: str) -> str:
        """A property by its attribute (`fo:font-weight`); empty if no style of the chain has it."""
        properties = (one for style in self._chain(family, name) for one in style)
        return next((value for one in properties if (value := one.get(tag(attribute))) is not None), "")

    def names(self, name: str | None) -> list[str]:
        """The names of a paragraph's style and of those that it inherits from, as a person sees them."""
        return [
            style.get(tag("style:display-name")) or style.get(tag("style:name"), "").replace("_20_", " ")
            for style in self._chain("paragraph", name)
        ]

    def is_ordered(self, list_style: str | None, level: int) -> bool:
        """Whether a list numbers its items at this level from 1."""
        return (list_style, level) in self._ordered

    def why_left_out(self, family: str, name: str | None) -> str:
        """The note that says why text of a style is not shown; empty if it is."""
        if self.value(family, name, "text:display") == "none":
            return HIDDEN
        return STRUCK if self.value(family, name, "style:text-line-through-style") not in {"", "none"} else ""


class OdfText(OfficeReader):
    """Reads paragraphs."""

    def __init__(self, package: Package, content: Any) -> None:
        super().__init__(package.notes)
        self.styles = OdfStyles(package.root("styles.xml"), content)
        self._controls = dict(_controls(content))
        self._objects = {name.rpartition("/")[0]: name for name in package.names if name.endswith("/content.xml")}
        self._package = package

    def runs(self, element: Any) -> Iterator[TextRun]:
        """The text of a paragraph, heading or shape."""
        style = element.get(tag("text:style-name"))
        is_bold = self.styles.value("paragraph", style, "fo:font-weight") == "bold"
        return self._inline(element, TextRun("", self.styles.why_left_out("paragraph", style), bold=is_bold))

    def objects(self, shape: Any) -> Iterator[Any]:
        """Yield the roots of the objects embedded in a shape, such as formulas and charts."""
        for link in (one.get(tag("xlink:href"), "").removeprefix("./") for one in shape.iter(tag("draw:object"))):
            if link in self._objects:
                yield self._package.root(self._objects[link])

    def annotation(self, comment: Any) -> None:
        author, date = (comment.findtext(tag(name)) or "" for name in ("dc:creator", "dc:date"))
        for one in [*comment.findall(tag("dc:creator")), *comment.findall(tag("dc:date"))]:
            comment.remove(one)
        self.set_apart("comment", comment, f"{comment_head(author, date)}: ")

    def _inline(self, element: Any, like: TextRun) -> Iterator[TextRun]:
        """Yield the text within an element, of the style of `like`. Nothing is set apart from what is not shown."""
        if like.why:
            yield like._replace(text="".join(element.itertext()))
            return
        yield like._replace(text=_SPACE.sub(" ", element.text or ""))
        for child in element:
            if isinstance(child.tag, str):
                yield from self._child(child, like)
            yield like._replace(text=_SPACE.sub(" ", child.tail or ""))

    def _child(self, child: Any, like: TextRun) -> Iterator[TextRun]:
        if child.tag == tag("office:annotation"):
            self.annotation(child)
        elif child.tag == tag("draw:control"):
            yield like._replace(text=self._controls.get(child.get(tag("draw:control"), ""), ""))
        elif child.tag.startswith(DRAW) and child.tag != tag("draw:a"):
            formulas = [_formula(one) for one in self.objects(child) if one.tag == f"{_MATH}math"]
            if not formulas:
                self.set_apart("drawing", child)
            yield like._replace(text="".join(formulas[:1]))
        elif not child.tag.startswith(_OFFICE):
            yield from self._marked(child, like)

    def _marked(self, child: Any, like: TextRun) -> Iterator[TextRun]:
        match child.tag.removeprefix(_TEXT):
            case "tracked-changes" | "number" | "ruby-text":
                pass
            case "page-number" | "page-count":
                yield like._replace(text=PAGE_NUMBER)
            case "s":
                yield like._replace(text=" " * min(int(child.get(tag("text:c"), "1")), 100))
            case "tab" | "line-break" as name:
                yield like._replace(text="\t" if name == "tab" else "\n")
            case "note":
                body, kind = child.find(tag("text:note-body")), child.get(tag("text:note-class"), "footnote")
                yield like._replace(text="" if body is None else self.note(kind, body))
            case "hidden-text" | "hidden-paragraph":
                yield from self._inline(child, like._replace(why=HIDDEN))
            case "span":
                yield from self._inline(child, self._styled(child.get(tag("text:style-name")), like))
            case _:
                yield from self._inline(child, like)

    def _styled(self, style: str | None, like: TextRun) -> TextRun:
        position = self.styles.value("text", style, "style:text-position")
        is_shifted, is_lowered = position[:1] not in {"", "0"}, position.startswith(("sub", "-"))
        weight = self.styles.value("text", style, "fo:font-weight")
        shift = (-1 if is_lowered else 1) if is_shifted else like.shift
        why = self.styles.why_left_out("text", style)
        return TextRun("", why, shift, weight == "bold" if weight else like.bold)


def _controls(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the controls of forms by their ids: a box with its state and label, a field with its value."""
    for control in content.iter(*(f"{_FORM}{name}" for name in (*_BOXES, *_FIELDS))):
        own = {key.rpartition("}")[2]: value for key, value in control.attrib.items()}
        shown = own.get("current-value") or own.get("value", "")
        if control.tag.removeprefix(_FORM) in _BOXES:
            state = own.get("current-state") or own.get("state")
            is_ticked = own.get("current-selected") == "true" or state == "checked"
            shown = f"{'☒' if is_ticked else '☐'} {own.get('label', '')}"
        yield own.get("id", ""), shown.strip()


def _formula(root: Any) -> str:
    """A formula as it was typed."""
    return squeeze(root.findtext(f".//{_MATH}annotation") or "".join(root.itertext()))
