"""The blocks of plain text: headings, their levels, and lines that only look like headings."""

from __future__ import annotations

import time

import pytest

from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.plain_text import parse_plain, plain_blocks
from hoptrail.types import BlockKind


def headings(text: str) -> list[tuple[int, str]]:
    blocks = plain_blocks(text)
    assert [block.start for block in blocks] == [0, *(block.end for block in blocks)][: len(blocks)]
    return [
        (block.level, text[block.start : block.end].strip().splitlines()[0])
        for block in blocks
        if block.kind is BlockKind.HEADING
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n=====\n\nText.", [(1, "Title")]),
        ("Title\n=====\nText.", [(1, "Title")]),
        ("Section\n-------\n\nText.\n\nTop\n===\n\nText.", [(2, "Section"), (1, "Top")]),
        ("Title\n=====\nSection\n-------\nText.", [(1, "Title"), (2, "Section")]),
        ("*** Title ***\n=============\nText.", [(1, "*** Title ***")]),
        ("Off by two\n------------\nText.", [(1, "Off by two")]),
        (
            "* Release 1\n\n** Bugs\n\nText.\n\n* Release 0\n\nText.",
            [(1, "* Release 1"), (2, "** Bugs"), (1, "* Release 0")],
        ),
        (
            "Tides\n=====\n\n1 Scope\n\nText.\n\n1.1 Terms\n\nText.\n\n2 Method\n\nText.",
            [(1, "Tides"), (2, "1 Scope"), (3, "1.1 Terms"), (2, "2 Method")],
        ),
        (
            "*** Version 2.1 stable ***\n\n- Faster.\n\n*** Version 2.0 stable ***\n- First.\n",
            [(1, "*** Version 2.1 stable ***"), (1, "*** Version 2.0 stable ***")],
        ),
        ("New in 2.1:\n  Faster.\n\nNew in 2.0:\n  First.\n", [(1, "New in 2.1:"), (1, "New in 2.0:")]),
        ("Makers of Tides\n===============================\n\nAda Brun", [(1, "Makers of Tides")]),
    ],
)
def test_headings_and_their_levels(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "A sentence above a rule.\n--------------------------------------------------\n\nText.",
        "Short.\n---\n\nText.",
        "12.50\n-----\n14.00\n\nText.",
        "Name   Age\n-----  ---\nAda    36\n\nText.",
        "Two lines of\na paragraph\n-----------\n\nText.",
        "~~~\n  git ls-files\n~~~\n\nText.",
        "* An item\n* Another\n\nText.",
        "* An item alone\n\nText.",
        "* An item\n** below it\n** and another\n\nText.",
        "-----\n-----\n\nText.",
        "A sentence above a rule.\n==================================\n\nText.",
        "1. Unplug the cable\n\n2. Open the lid\n\nText.",
        "12 Monkeys\n\nText.\n\n13 Tzameti\n\nText.",
        "Version 2.1 is out\n\nText.",
        "It needs 2.1.\n\nIt needs 2.0.\n\nText.",
        "- Since 2.1\n\n- Since 2.0\n\nText.",
        "A paragraph about 2.1\nthat goes on\n\nA paragraph about 2.0\nthat goes on",
    ],
)
def test_lines_that_only_look_like_a_heading(text: str) -> None:
    assert headings(text) == []


def test_blocks_under_a_dated_heading_have_its_date() -> None:
    text = "Version 2 (2024-03-05)\n----------------------\n\nFaster.\n\nVersion 1\n---------\n\nFirst."
    assert [(block.path, block.date) for block in plain_blocks(text)] == [
        ((), ""),
        (("Version 2 (2024-03-05)",), "2024-03-05"),
        ((), ""),
        (("Version 1",), ""),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Title\n=====\n\nSection\n-------\n\nText.", "Title"),
        ("\n\nTitle\n=====\n\nText.", "Title"),
        ("Introduction\n============\n\nText.\n\nUse\n===\n\nText.", ""),
        ("Text.\n\nTitle\n=====\n\nText.", ""),
        ("Title\n=====\n", ""),
    ],
)
def test_a_single_top_heading_at_the_start_is_the_title(text: str, title: str) -> None:
    assert parse_plain(text.encode(), DEFAULT_LIMITS).title == title


CHANGELOG = """\
wren (2.1-1) unstable; urgency=medium

  * Build without the old parser.

 -- Ada Brun <ada@wren.example>  Sat, 02 Mar 2024 13:06:21 +0100

wren (2.0-3) stable-security; urgency=high
  * Refuse names with a slash.

    With a paragraph of its own.

 -- Karl Holm <karl@wren.example>  Mon, 15 Jan 2024 09:00:00 +0000

wren (2.0-2) unstable; urgency=low

  * Not signed.
"""


def test_changelog_entries_are_headings_with_the_date_of_their_signature() -> None:
    parsed = parse_plain(CHANGELOG.encode(), DEFAULT_LIMITS)
    assert headings(CHANGELOG) == [
        (1, "wren (2.1-1) unstable; urgency=medium"),
        (1, "wren (2.0-3) stable-security; urgency=high"),
        (1, "wren (2.0-2) unstable; urgency=low"),
    ]
    items = [block for block in parsed.blocks if block.kind is BlockKind.ITEM]
    assert [(block.path, block.date) for block in items] == [
        (("wren (2.1-1) unstable; urgency=medium",), "2024-03-02"),
        (("wren (2.0-3) stable-security; urgency=high",), "2024-01-15"),
        (("wren (2.0-2) unstable; urgency=low",), ""),
    ]
    assert (parsed.title, parsed.date, parsed.date_from) == ("", "2024-03-02", "latest entry")


def test_gnu_changelog_entries_are_headings_with_their_day() -> None:
    text = "2024-03-02  Ada Brun  <ada@wren.example>\n\n\t* tide.c: Faster.\n\n"
    text += "2024-01-15  Karl Holm <karl@wren.example>\n\n\t* sea.c: New.\n"
    parsed = parse_plain(text.encode(), DEFAULT_LIMITS)
    items = [block for block in parsed.blocks if block.kind is BlockKind.ITEM]
    assert [(block.path, block.date) for block in items] == [
        (("2024-03-02 Ada Brun <ada@wren.example>",), "2024-03-02"),
        (("2024-01-15 Karl Holm <karl@wren.example>",), "2024-01-15"),
    ]
    assert (parsed.title, parsed.date, parsed.date_from) == ("", "2024-03-02", "latest entry")


def test_the_path_of_a_release_has_no_frame() -> None:
    blocks = plain_blocks("*** Version 2.1 ***\n\n- Faster.\n\n*** Version 2.0 ***\n\n- First.\n")
    assert [block.path for block in blocks if block.kind is BlockKind.ITEM] == [("Version 2.1",), ("Version 2.0",)]


def test_an_indented_line_alone_that_says_version_makes_a_release() -> None:
    rule = "=" * 60
    news = "".join(
        f"{rule}\n\n\tChanges between versions {one} and {one + 9}\n\n* Fixed.\n\n" for one in (581, 572, 563)
    )
    assert headings(news) == [(1, f"Changes between versions {one} and {one + 9}") for one in (581, 572, 563)]
    code = "Type this:\n\n    wait 12\n\nor this:\n\n    wait 13\n\nA text.\n"
    assert headings(code) == []


def test_a_whole_number_before_a_colon_makes_a_release() -> None:
    """As in systemd's NEWS. A single such line, or a number within a sentence, makes none."""
    releases = "CHANGES WITH 252:\n\n    * Faster.\n\nCHANGES WITH 251:\n\n    * First.\n\n"
    blocks = plain_blocks(f"{releases}We saw 12:\n\nOnly 14 came.\n\nOnly 15 came.\n")
    assert [block.path for block in blocks if block.kind is BlockKind.ITEM] == [
        ("CHANGES WITH 252",),
        ("CHANGES WITH 251",),
    ]
    assert len(headings(releases)) == len([block for block in blocks if block.kind is BlockKind.HEADING]) == 2


def test_numbers_with_dots_are_sections_if_others_stand_below_them() -> None:
    """The contents above, and the list item `1. Members`, are no sections; the items of 1.1 are items."""
    contents = "Rules\n\n   1. Introduction\n\n   1.1. Scope\n\n   1.2. Terms\n\n"
    body = (
        "1. Introduction\n\n   These are the rules.\n\n  1.1. Scope\n\n    1. Members\n\n    2. Guests\n\n"
        "  1.2. Terms\n\n   A year is a season.\n\n3. Is there more?\n\n  3.1. /etc : The settings\n\n   No.\n"
    )
    wanted = [(1, "1. Introduction"), (2, "1.1. Scope"), (2, "1.2. Terms"), (2, "3.1. /etc : The settings")]
    assert headings(contents + body) == wanted
    items = [block for block in plain_blocks(contents + body) if block.kind is BlockKind.ITEM]
    assert ("1. Introduction", "1.1. Scope") in {block.path for block in items}


def test_chapters_head_sections_and_need_a_second_one() -> None:
    text = (
        "Chapter 1. Ropes\n\n1.1. Purpose\n\nTo hold.\n\nChapter 2. Sails\n\nSails pull.\n\n3.1. Purpose\n\nTo steer.\n"
    )
    found = [(1, "Chapter 1. Ropes"), (2, "1.1. Purpose"), (1, "Chapter 2. Sails"), (2, "3.1. Purpose")]
    assert headings(text) == found
    assert headings("Chapter 1. Ropes\n\nTo hold.\n\nThe end.\n") == []


def test_releases_may_differ_after_their_number() -> None:
    news = "Version 2.1 - 4 May 2024 (bug fixes)\n* Faster.\n* Safer.\n\nVersion 2.0 - 1 June 2023\n* First.\n* Only.\n"
    assert headings(news) == [(1, "Version 2.1 - 4 May 2024 (bug fixes)"), (1, "Version 2.0 - 1 June 2023")]
    assert [block.date for block in plain_blocks(news)[-2:]] == ["2023-06-01", "2023-06-01"]


def test_stars_with_nothing_below_are_items() -> None:
    news = "* Changes in 1.2\n\n** Faster start\n\n** Safer stop\n   It waits.\n\n* Changes in 1.1\n\n** Known bugs\n\n   One.\n"
    kinds = [(block.kind, block.path) for block in plain_blocks(news)]
    assert kinds[:4] == [
        (BlockKind.HEADING, ()),
        (BlockKind.ITEM, ("Changes in 1.2",)),
        (BlockKind.ITEM, ("Changes in 1.2",)),
        (BlockKind.HEADING, ()),
    ]
    assert kinds[-1] == (BlockKind.PARAGRAPH, ("Changes in 1.1", "Known bugs"))


def test_a_rule_of_bullets_is_no_item() -> None:
    blocks = plain_blocks("Before.\n\n- - - - -\n\nAfter.\n")
    assert {block.kind for block in blocks} == {BlockKind.PARAGRAPH}


def test_a_text_that_quotes_an_entry_is_no_changelog() -> None:
    parsed = parse_plain(f"What changed last:\n\n{CHANGELOG}".encode(), DEFAULT_LIMITS)
    assert (headings(f"What changed last:\n\n{CHANGELOG}"), parsed.date) == ([], "")


def test_a_changelog_without_signatures_is_as_fast() -> None:
    text = "wren (2.0-2) unstable; urgency=low\n\n" * 20_000
    before = time.process_time()
    assert len(plain_blocks(text)) == 20_000
    assert time.process_time() - before < 10


def test_a_word_divided_at_the_end_of_a_line_is_whole_on_the_line_where_it_begins() -> None:
    data = b"The manu-\nfacturer is Bel-\nford Glass, a well-\nknown firm of Jean-\n  Luc Amiel.\n\n- a\n- b-\n"
    parsed = parse_plain(data, DEFAULT_LIMITS)
    assert parsed.text == (
        "The manufacturer\nis Belford\nGlass, a well-known\nfirm of Jean-Luc\n  Amiel.\n\n- a\n- b-\n"
    )
