"""Parses YAML files: records as rows, mappings as headings with a row for each value, for every document of the file.

Only plain values are constructed, whatever their tags, and aliases are followed up to the limit on values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.records import record_pieces, title_of
from hoptrail.types import BlockKind


class _Loader(yaml.SafeLoader):
    """Ignores unknown tags, and joins the values of a list that is a key."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "expected a mapping", node.start_mark)
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True)): self.construct_object(value, deep) for key, value in node.value
        }


def _key(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        value = [f"{key}: {inner}" for key, inner in value.items()]
    key: Hashable = ", ".join(map(str, value)) if isinstance(value, list) else value
    return key


def _untagged(loader: _Loader, _tag: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)  # type: ignore[arg-type]


_Loader.add_multi_constructor("", _untagged)


def parse_yaml(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file. The title is the `title` or `name` of the first document, if it has one.
    Raises: Unreadable: it is not text, not YAML, nested too deep, or beyond a limit.
    """
    decoded = decode(data)
    try:
        documents = list(yaml.load_all(decoded.text, Loader=_Loader))
        title = title_of(documents[0]) if documents else ""
        return assemble(title, _pieces(documents, limits), decoded.notes, limits.text)
    except yaml.YAMLError as error:
        raise Unreadable(f"is not YAML ({' '.join(str(error).split())[:200]})") from error
    except (RecursionError, ValueError) as error:
        raise Unreadable(f"is nested too deep, or holds an impossible value ({str(error)[:100]})") from None


def _pieces(documents: Sequence[object], limits: ReadingLimits) -> Iterator[Piece]:
    """The pieces of all documents; each of several stands under a heading with its number."""
    if len(documents) == 1:
        yield from record_pieces(documents[0], limits)
        return
    for number, document in enumerate(documents, 1):
        yield Piece(BlockKind.HEADING, f"Document {number}", 1, place=f"document {number}")
        yield from record_pieces(document, limits, level=2)
