"""The infoboxes of a page as pairs of a key and a value, in their order.

A key is the parameter's name with spaces and a capital (`birth_place`: Birth place), or its label (`label1` for `data1`).
Parameters for the layout (pictures, maps, sizes, colours) are left out. Templates are not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hoptrail.documents.wikipedia.markup import Renderer
from hoptrail.documents.wikipedia.templates import template_name
from hoptrail.json_object import JsonObject
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
    """Whether a template name begins with one of `infoboxes`, or ends with one as a word."""
    return name.startswith(tuple(infoboxes)) or name.endswith(tuple(f" {infobox}" for infobox in infoboxes))


def infobox_pairs(nodes: Iterable[Any], renderer: Renderer, infoboxes: Sequence[str]) -> Iterator[Pair]:
    """Yield the pairs of the infoboxes among parsed nodes, and of infoboxes within these."""
    for node in nodes:
        if type(node).__name__ == "Template" and is_infobox(template_name(str(node.name)), infoboxes):
            yield from _pairs(node, renderer, infoboxes)


def _pairs(box: Any, renderer: Renderer, infoboxes: Sequence[str]) -> Iterator[Pair]:
    parameters = {str(parameter.name).strip(): parameter.value for parameter in box.params}
    for name, value in parameters.items():
        if "{{" in str(value):
            yield from infobox_pairs(value.nodes, renderer, infoboxes)
        key = _key(name, parameters, renderer)
        text = renderer.line(value) if key else ""
        if key and text and not _FILE.fullmatch(text):
            yield key, text


def _key(name: str, parameters: JsonObject, renderer: Renderer) -> str:
    """The key of a parameter; empty if it does not describe the page's subject."""
    if data := _DATA.fullmatch(name):
        label = parameters.get(f"label{data[1]}")
        return "" if label is None else renderer.line(label).rstrip(":")
    if name.isdecimal() or _LABEL.fullmatch(name) or _LOOKS.fullmatch(name):
        return ""
    key = squeeze(name.replace("_", " ").replace(":", " "))
    return key[:1].upper() + key[1:]
