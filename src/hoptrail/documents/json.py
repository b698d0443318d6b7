"""Parses JSON files: records as rows, objects as headings with a row for each value. JSON lines are a list of records."""

from __future__ import annotations

import json

from hoptrail.documents.blocks import Parsed, assemble
from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.records import record_pieces, title_of


def parse_json(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file. The title is the `title` or `name` of the outermost object, if it has one.
    Raises: Unreadable: it is not text, not JSON, nested too deep, or beyond a limit.
    """
    decoded = decode(data)
    try:
        value, broken = _load(decoded.text)
        notes = [f"line {number} is not JSON and was left out" for number in broken]
        return assemble(title_of(value), record_pieces(value, limits), (*decoded.notes, *notes), limits.text)
    except RecursionError:
        raise Unreadable("is nested too deep to be a document") from None


def _load(text: str) -> tuple[object, list[int]]:
    """The value of the text; else the values of its lines, and the numbers of the broken lines if these are the minority."""
    try:
        return json.loads(text), []
    except ValueError as error:
        values: list[object] = []
        broken: list[int] = []
        for number, line in enumerate(text.split("\n"), 1):
            try:
                values += [json.loads(line)] if line.strip() else []
            except ValueError:
                broken.append(number)
        if len(values) < 2 or len(broken) >= len(values) or not any(isinstance(value, dict) for value in values):
            raise Unreadable(f"is not JSON ({error})") from error
        return values, broken
