"""A JSON file as blocks: records as rows, objects as headings with a row for each value. Lines of JSON are a list of records."""

from __future__ import annotations

import json

from hoptrail.documents.blocks import Parsed, assemble
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.records import record_pieces
from hoptrail.documents.text import Unreadable, decode


def parse_json(data: bytes, limits: ReadingLimits) -> Parsed:
    """The title is the value of `title` or `name` of the whole, if it has one.

    Raises:
        Unreadable: not text, not JSON, nested too deep, or beyond a limit.
    """
    decoded = decode(data)
    try:
        value = _value(decoded.text)
        named = (value.get("title") or value.get("name")) if isinstance(value, dict) else ""
        title = named if isinstance(named, str) else ""
        return assemble(title, record_pieces(value, limits), decoded.notes, limits.text)
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line) for line in lines] if len(lines) > 1 else _refused(error)
        except ValueError:
            return _refused(error)


def _refused(error: ValueError) -> object:
    raise Unreadable(f"is not JSON ({error})") from error
