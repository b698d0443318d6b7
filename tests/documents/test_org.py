"""Org files apart from their blocks (see `blocks/org`): what is odd in real ones, such as blocks that never end."""

from __future__ import annotations

import pytest

from documents.block_lines import lines_of


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "* One\n*** Three\n** Two\nText\n* DONE [#A] Last :a:b:\n",
            [
                "title: One",
                "heading 1 |  | line 1 | One",
                "heading 3 | One | line 2 | Three",
                "heading 2 | One | line 3 | Two",
                "paragraph | One > Two | line 4 | Text",
                "heading 1 |  | line 5 | DONE Last",
            ],
        ),
        (
            "* Meeting <2024-03-05 Tue>\nIt was held.\n** Part\nx\n* Other\ny",
            [
                "title: Meeting 2024-03-05 Tue",
                "heading 1 |  | line 1 | Meeting 2024-03-05 Tue",
                "paragraph | Meeting 2024-03-05 Tue | line 2 | It was held. @2024-03-05",
                "heading 2 | Meeting 2024-03-05 Tue | line 3 | Part @2024-03-05",
                "paragraph | Meeting 2024-03-05 Tue > Part | line 4 | x @2024-03-05",
                "heading 1 |  | line 5 | Other",
                "paragraph | Other | line 6 | y",
            ],
        ),
        (
            "* שלום\nמרחבא\n** كلمة\nمرحبا بالعالم\n",
            [
                "title: שלום",
                "heading 1 |  | line 1 | שלום",
                "paragraph | שלום | line 2 | מרחבא",
                "heading 2 | שלום | line 3 | كلمة",
                "paragraph | שלום > كلمة | line 4 | مرحبا بالعالم",
            ],
        ),
        (
            "* COMMENT Old\ngone\n** Part\ngone\n* COMMENTARY\n** TODO [#A] COMMENT x :a:\ngone\n** PUBLIC COMMENT\ny\n",
            [
                "title: COMMENTARY",
                "heading 1 |  | line 5 | COMMENTARY",
                "heading 2 | COMMENTARY | line 8 | PUBLIC COMMENT",
                "paragraph | COMMENTARY > PUBLIC COMMENT | line 9 | y",
            ],
        ),
        ("*\tOne\n", ["title: One", "heading 1 |  | line 1 | One"]),
    ],
    ids=["levels that are skipped", "dated heading", "from right to left", "comments", "tab"],
)
def test_headings_hold_what_is_below_them(text: str, lines: list[str]) -> None:
    assert lines_of("org", text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "- item\n  | x | y |\n  |---+---|\n  | 1 |   |\n- next\n",
            [
                "item 1 |  | line 1 | item",
                "row header |  | line 2 | x ¦ y",
                "row |  | line 4 | x=1 ¦ y=",
                "item 1 |  | line 5 | next",
            ],
        ),
        (
            "1. one\n   1) sub\n\n      more of it\n2. two\n",
            [
                "item 1 ordered |  | line 1 | one",
                "item 2 ordered |  | line 2 | sub <- one",
                "paragraph 2 |  | line 4 | more of it <- sub",
                "item 1 ordered |  | line 5 | two",
            ],
        ),
        (
            "Packed:\n- [ ] rope\n- [-] half\n- Buoy :: red\n- Sail ::\n",
            [
                "paragraph |  | line 1 | Packed:",
                "item 1 |  | line 2 | [ ] rope <- Packed:",
                "item 1 |  | line 3 | [-] half <- Packed:",
                "item 1 |  | line 4 | Buoy: red <- Packed:",
                "item 1 |  | line 5 | Sail: <- Packed:",
            ],
        ),
    ],
    ids=["table in an item", "numbers", "boxes and terms"],
)
def test_lists_keep_their_depth(text: str, lines: list[str]) -> None:
    assert lines_of("org", text) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("#+begin_src python\nx = 1\n* no heading\n", ["code |  | line 2 | x = 1\\n* no heading"]),
        (
            "#+BEGIN_EXAMPLE\n,* star\n#+END_EXAMPLE\nafter",
            ["code |  | line 2 | * star", "paragraph |  | line 4 | after"],
        ),
        ("#+begin_comment\nsecret\n#+end_comment\nend", ["paragraph |  | line 4 | end"]),
        ("#+begin_comment\nnever closed\n", ["paragraph |  | line 2 | never closed"]),
        (
            "#+begin_quote\nsaid\n\nmore\n#+end_quote\nend",
            ["quote |  | line 2 | said", "quote |  | line 4 | more", "paragraph |  | line 6 | end"],
        ),
        (
            "#+begin_quote\nsaid\n* Next\nfree",
            [
                "title: Next",
                "quote |  | line 2 | said",
                "heading 1 |  | line 3 | Next",
                "paragraph | Next | line 4 | free",
            ],
        ),
        (": fixed\n:   two\ntext", ["code |  | line 1 | fixed\\n  two", "paragraph |  | line 3 | text"]),
    ],
    ids=["open code", "escaped star", "comment", "open comment", "quote", "open quote", "fixed lines"],
)
def test_blocks_end_where_they_say_or_with_the_file(text: str, lines: list[str]) -> None:
    assert lines_of("org", text) == lines


def test_drawers_and_clocks_are_no_prose() -> None:
    properties = ":PROPERTIES:\n:ID: 81\n:Source:\n:Keeper:   Ada Brun\n:END:\n"
    log = ":LOGBOOK:\nCLOCK: [2024-01-01 Mon 10:00]\n:END:\n"
    assert lines_of("org", f"* Quay\n{properties}{log}Text\n")[2:] == [
        "row | Quay | line 3 | Keeper=Ada Brun",
        "paragraph | Quay | line 8 | CLOCK: 2024-01-01 Mon 10:00",
        "paragraph | Quay | line 10 | Text",
    ]


def test_what_stands_above_the_headings_is_about_the_file() -> None:
    front = (
        '#+INCLUDE: "secret.org"\n#+title: Tide\n#+TITLE: table\n#+date: 5 March 2024\n#+author: Ada\n#+startup: fold\n'
    )
    assert lines_of("org", front) == [
        "title: Tide table",
        "date: 2024-03-05 (front matter)",
        "row |  | line 2 | author=Ada ¦ date=5 March 2024",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[[file:a.org::*Head][the head]], [[https://e.org]], [[*Dues]]", "the head, https://e.org, Dues"),
        ("see [[https://e.org][the\nhead [of it]]] @@comment: or not@@now", "see the\\nhead [of it] now"),
        ("seen [[./map.png]] from <https://b.org>", "seen  from https://b.org"),
        ("*bold* /it _both_/ =a*b= ~c~ +old+", "bold it both a*b c old"),
        ("2*3*4 a_b and/or a*b *c", "2*3*4 a_b and/or a*b *c"),
        ("H_{2}O and m^{2}", "H2O and m2"),
        ("from [2024-03-05 Tue] on[fn:x]", "from 2024-03-05 Tue on[x]"),
        ("# no\nyes\n-----\n#no comment", "yes\n\n#no comment"),
        ("word " * 2000, ("word " * 2000).strip()),
    ],
)
def test_markup_becomes_readable_text(text: str, shown: str) -> None:
    blocks = [line.split(" | ", 3)[3] for line in lines_of("org", text)]
    assert "\n\n".join(blocks) == shown
