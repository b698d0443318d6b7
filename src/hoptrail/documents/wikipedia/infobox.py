"""What the infoboxes of a page say, as pairs of a key and a value, in their order.

A key is the template's own parameter name with spaces and a capital (`birth_place`: Birth place), or the label that goes with
it (`label1`, `data1`). What only says how the box is to look (pictures, maps, sizes, colours) is left out. Not known is what
the template itself makes of its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hoptrail.documents.wikipedia.markup import Renderer
from hoptrail.documents.wikipedia.templates import template_name
from hoptrail.text.normal_forms import squeeze

Pair = tuple[str, str]

_LOOKS = re.compile(
    r"(?:image|img|logo|photo|picture|map|mapframe|pushpin|caption|alt|signature|embed|child|module|footnotes|coordinates|coord"
    r"|bodyclass|bodystyle|titlestyle|headerstyle|labelstyle|datastyle)(?:[\d_ -].*)?"
    r"|.*_(?:size|width|alt|caption|upright|style|colou?r|image|map|logo|ref|refs|note|footnotes)\d*",
    re.IGNORECASE,
)
_FILE = re.compile(r".*\.(?:jpe?g|png|svg|gif|webp|tiff?|og[gav]|webm|mp3)", re.IGNORECASE)
_DATA = re.compile(r"data\s*(\d+)", re.IGNORECASE)
_LABEL = re.compile(r"(?:label|header)\s*\d+|above|below|subheader|title|abovestyle", re.IGNORECASE)


def is_infobox(name: str, infoboxes: Sequence[str]) -> bool:
    """Whether a template of this name is one: it begins with one of `infoboxes`, or ends with one as a word."""
    return name.startswith(tuple(infoboxes)) or name.endswith(tuple(f" {one}" for one in infoboxes))


def infobox_pairs(nodes: Iterable[Any], renderer: Renderer, infoboxes: Sequence[str]) -> Iterator[Pair]:
    """The pairs of the infoboxes among parsed nodes, and of infoboxes within these."""
    for node in nodes:
        if type(node).__name__ == "Template" and is_infobox(template_name(str(node.name)), infoboxes):
            yield from _pairs(node, renderer, infoboxes)


def _pairs(box: Any, renderer: Renderer, infoboxes: Sequence[str]) -> Iterator[Pair]:
    given = {str(one.name).strip(): one.value for one in box.params}
    for name, value in given.items():
        if "{{" in str(value):
            yield from infobox_pairs(value.nodes, renderer, infoboxes)
        key = _key(name, given, renderer)
        text = renderer.line(value) if key else ""
        if key and text and not _FILE.fullmatch(text):
            yield key, text


def _key(name: str, given: dict[str, Any], renderer: Renderer) -> str:
    """The key that a parameter stands under; empty for one that says nothing of the page's subject."""
    if data := _DATA.fullmatch(name):
        label = given.get(f"label{data[1]}")
        return "" if label is None else renderer.line(label).rstrip(":")
    if name.isdecimal() or _LABEL.fullmatch(name) or _LOOKS.fullmatch(name):
        return ""
    key = squeeze(name.replace("_", " ").replace(":", " "))
    return key[:1].upper() + key[1:]
