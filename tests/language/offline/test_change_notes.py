"""Changelogs and release notes are recognised by their titles and headings; instructions are not taken for them."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.explanations import are_change_notes
from hoptrail.types import BlockKind
from pieces import unit_of


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("changelog.Debian", ""),
        ("Brackle Release Notes", ""),
        ("Brackle-ng 2.13 Release Notes (28-Aug-2007)", ""),
        ("NEWS", "Bugs fixed"),
        ("brackle", "brackle (2.10-3) unstable; urgency=medium"),
        ("history", "2022-10-10  Ann Lee  <ann@example.org>"),
        ("history", "Noteworthy changes in version 1.9.16 (2005-04-21)"),
        ("history", "CHANGES WITH 250"),
        ("history", "Changes between v2.34 and v2.35"),
        ("history", "[1.2.0] - 2024-05-01"),
        ("history", "Version 1.20 (30-Jul-93)"),
        ("history", "Version 1.28b (30-May-94)"),
    ],
)
def test_notes_on_changes(title: str, heading: str) -> None:
    headed = [Piece(BlockKind.HEADING, heading, 1)] if heading else []
    assert are_change_notes(unit_of(title, *headed, Piece(BlockKind.ITEM, "Allow tanning of wet hides.", 1)))


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Manual", "3.49 Why does it report an open file?"),
        ("Newsletter of the rowing club", "Changes to your booking"),
        ("News from the harbour", "2024-05-01"),
        ("Changes in 2024", "Changes in the rota since 12 May"),
        ("How to write a changelog", "NEWS entries"),
        ("How to change the filter", "Version for left-handers"),
    ],
)
def test_other_texts(title: str, heading: str) -> None:
    unit = unit_of(title, Piece(BlockKind.HEADING, heading, 1), Piece(BlockKind.PARAGRAPH, "Open the lid."))
    assert not are_change_notes(unit)
