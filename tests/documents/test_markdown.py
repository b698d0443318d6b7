"""Markdown apart from its blocks (see `blocks/markdown`): dates, front matter, hostile input, many lines."""

from __future__ import annotations

import pytest

from counting import steps
from documents.block_lines import lines_of
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable
from hoptrail.documents.markdown import parse_markdown
from hoptrail.types import BlockKind


def parse_text(text: str) -> Parsed:
    return parse_markdown(text.encode(), DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("fields", "date"),
    [
        ("date: 2024-03-05", "2024-03-05"),
        ("date: 2024-03-05T08:00:00Z\ncreated: 2020-01-01", "2024-03-05"),
        ("created: 2020-01-01\nupdated: 5 March 2024", "2024-03-05"),
        ("date: March 2024", "2024-03"),
        ("date: 2024", "2024"),
        ("date: soon", ""),
        ("date: [2024-03-05]", "2024-03-05"),
        ("of: {date: 2024-03-05}", ""),
    ],
)
def test_dates_of_front_matter(fields: str, date: str) -> None:
    document = parse_text(f"---\n{fields}\n---\nText.")
    assert (document.date, document.date_from) == (date, "front matter" if date else "")


def test_front_matter_constructs_no_objects_and_expands_no_aliases() -> None:
    assert parse_text("---\ntitle: !!python/object/apply:os.getcwd []\n---\nText.").title == ""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{above}, *{above}]\n" for above, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert len(parse_text(f"---\n{bomb}---\nText.").text) < 100
    assert "valid YAML" in parse_text("---\na: " + "[" * 600 + "\n---\nText.").notes[0]


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
def test_deep_nesting_is_refused(mark: str) -> None:
    with pytest.raises(Unreadable, match="nested too deep"):
        parse_text("First.\n\n" + mark * 500 + "deep\n\nLast.")
    assert parse_text("First.\n\n" + mark * 25 + "deep\n\nLast.").text == "First.\n\ndeep\n\nLast."


def test_emphasis_nested_deep_does_not_exhaust_the_stack() -> None:
    assert "x" in parse_text("*a **b " * 2000 + "x" + " b** a*" * 2000).text
    assert "x" in parse_text("[" * 300 + "x" + "](y)" * 300).text
    assert "x" in parse_text("![" * 300 + "x" + "](y)" * 300).text


def test_time_grows_with_the_text() -> None:
    part = "# Heading\n\nSome *text* with a [link](x).\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"

    def work(times: int) -> int:
        return steps(lambda: parse_text(part * times))

    parse_text(part)
    assert work(160) < 10 * work(20), "eight times as much, not sixty-four times"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("if [[ -f x ]]; then [[1, 2]]", "if [[ -f x ]]; then [[1, 2]]"),
        ("[[2024-03-05]] and [[Page#Part|part]] and ![[picture.PNG]]!", "2024-03-05 and part and !"),
        ("see [[paper]](https://example.org/x)", "see [paper]"),
        ("a&nbsp;b &lt;c&gt; \\[d\\]", "a b <c> [d]"),
        ("<script>alert(1)</script>", ""),
        ("<style>.x{display:none}</style><p class=x>no</p><p>yes</p>", "yes"),
        ("A <b>b\n\n<div><s>no</s><b>c\n\nd <s>e\n\nf", "A b\n\nc\n\nd e\n\nf"),
        ("- [[1. Keys]]\n- [[Dues|2. Dues]]", "1. Keys\n2. Dues"),
        ("x <!-- y --> z", "x z"),
        ("# A {#id .class}", "A"),
        ("set {x} = {1}", "set {x} = {1}"),
        ("`` ` ``", "`"),
        ("the tent: ~~£40~~ £52, <del>old</del> new, a~~b~~c", "the tent: £52, new, ac"),
        (
            "holds 10<sup>6</sup> litres on 250 m<sup>2</sup>, 10<sup>-3</sup> of H<sub>2</sub>O",
            "holds 10^6 litres on 250 m², 10^-3 of H₂O",
        ),
        ("the pool<sup>3</sup> of x<sup>n</sup> on the 1<sup>st</sup>", "the pool[3] of x^n on the 1st"),
        ("Call %% the key\nis in the bin %% now ==or== 1 == 2 ^bed1", "Call\nnow or 1 == 2"),
        ("100%% and 50%%", "100%% and 50%%"),
        ('Ask in {% slack_channel "tock" %}, not {{ site.name }}{# TODO #}.', "Ask in tock, not ."),
        ('{% include "head.html" %}\n\nText\n\n{% endif %}', "Text"),
        ('[Travel]({% page "/travel" %}) by [AdTrav][guide-2] and ![a map](m.png)', "Travel by AdTrav and a map"),
        (
            '!!! note "Keys"\n\n    Ask Pilar.\n\n=== "Linux"\n\n    ??? tip\n        Knock.\n\nTitle\n=====\n',
            "Note: Keys\n\nAsk Pilar.\n\nLinux\n\nTip\nKnock.\n\nTitle",
        ),
        ("::: columns\nLeft.\n:::\n\n:::note\nRight.\n:::", "Left.\n\nNote\nRight."),
        ("````\n```{note}\nAsk.\n```\n````", "```{note}\nAsk.\n```"),
        ("```{tip}\n- a\n\n      x = 1\n\nOne:\n\n    y\n    z\n```", "Tip\n\na\n\nx = 1\n\nOne:\n\ny\nz"),
        ("```{note}\nAsk.\n```\n\n:::{tip} Dry\nRope.\n:::", "Note\nAsk.\n\nTip: Dry\nRope."),
        (":::tip My tip\nKeep dry.\n:::\n\n::: {.note}\nBe quick.\n:::", "Tip: My tip\nKeep dry.\n\nBe quick."),
        (
            (
                "Box:\n\n    !!! note\n        a\n\n```\n!!! tip\n    b\n```\n\n1. c\n\n    !!! note\n        d\n\n"
                "::: warning\ne\n:::\n\n::: f.g"
            ),
            "Box:\n\n!!! note\n    a\n\n!!! tip\n    b\n\nc\n\nNote\nd\n\nWarning\ne\n\nf.g",
        ),
        ("`{{ x }}` and `%% y %%`\n\n```\n{% raw %}\n```", "{{ x }} and %% y %%\n\n{% raw %}"),
    ],
)
def test_markup_becomes_readable_text(text: str, shown: str) -> None:
    assert parse_text(text).text == shown


def test_bold_lines_are_headings_of_what_follows() -> None:
    text = (
        "# Ferry\n\n**Who may *cross*?**\n\nMembers of the club and their guests.\n\n**Note:** it is cold on the water.\n\n"
        "- **Rope**\n\n  ten metres\n"
    )
    blocks = parse_markdown(text.encode(), DEFAULT_LIMITS).blocks
    assert [len(block.path) for block in blocks] == [0, 1, 2, 2, 2, 2]
    assert blocks[2].path == ("Ferry", "Who may cross?")


def test_a_bold_line_is_not_the_title() -> None:
    text = "**Draft**\n\nNot for the committee, which wants to see the final text only.\n\n# Pump manual\n\nTurn the key.\n"
    assert parse_markdown(text.encode(), DEFAULT_LIMITS).title == "Pump manual"


def test_a_wide_table_row_keeps_its_cells() -> None:
    document = parse_text("|a|b|\n|-|-|\n|1|\n|1|2|3|")
    assert [[cell.header for cell in block.cells] for block in document.blocks if block.kind is BlockKind.ROW] == [
        *(["", ""], ["a", "b"], ["a", "b"]),
    ]


def test_what_was_struck_out_is_noted() -> None:
    assert parse_text("~~old~~ new").notes == ("struck-out text was left out",)
    assert parse_text("<p>Price: <del>45</del> <ins>52</ins></p>").notes == ("struck-out text was left out",)


def test_front_matter_in_toml_is_read() -> None:
    document = parse_text('+++\ntitle = "Cellar list"\ndate = 2024-03-05\ntags = ["wine"]\n+++\nText.')
    assert (document.title, document.date, document.text) == (
        "Cellar list",
        "2024-03-05",
        "date: 2024-03-05\ttags: wine\n\nText.",
    )
    assert "valid TOML" in parse_text("+++\ntitle = \n+++\nText.").notes[0]


def test_front_matter_shows_links_and_characters_as_a_person_sees_them() -> None:
    document = parse_text('---\ntitle: Tea &amp; cake\nowner: "[[Helga Tamm|Helga]]"\n---\nText.')
    assert (document.title, document.text) == ("Tea & cake", "owner: Helga\n\nText.")


def test_lines_of_html_are_those_of_the_file() -> None:
    front = "---\ndate: 2024\n---\n"
    page = "Text\n\n- item\n\n  <div>\n  <p>in\n  <p>it</div>\n\n<!-- no\n --><p>a\n<p><img\nalt='a map of it'>\n\nend"
    assert [line.split(" | ", 2)[2] for line in lines_of("markdown", front + page)[2:]] == [
        *("line 4 | Text", "line 6 | item", "line 9 | in <- item", "line 10 | it <- item"),
        *("line 13 | a", "line 14 | a map of it", "line 17 | end"),
    ]


def test_html_within_a_quote_is_a_quote() -> None:
    assert [block.kind for block in parse_text("> Said:\n>\n> <p>one</p>\n\nafter").blocks] == [
        BlockKind.QUOTE,
        BlockKind.QUOTE,
        BlockKind.PARAGRAPH,
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "# A\n#### D\n## B\nx\n\nC\n---\ny",
            [
                "heading 1 |  | line 1 | A",
                "heading 4 | A | line 2 | D",
                "heading 2 | A | line 3 | B",
                "paragraph | A > B | line 4 | x",
                "heading 2 | A | line 6 | C",
                "paragraph | A > C | line 8 | y",
            ],
        ),
        (
            "- a\n\n  | x | y |\n  |---|---|\n  | 1 |   |\n\n- b\n",
            [
                "item 1 |  | line 1 | a",
                "row header |  | line 3 | x ¦ y",
                "row |  | line 5 | x=1 ¦ y=",
                "item 1 |  | line 7 | b",
            ],
        ),
        (
            "1. a\n   > q\n   ```\n   c\n   ```\n2. b\n\t* deep\n\n       code",
            [
                "item 1 ordered |  | line 1 | a",
                "quote 1 |  | line 2 | q <- a",
                "code 1 |  | line 3 | c <- a",
                "item 1 ordered |  | line 6 | b",
                "item 2 |  | line 7 | deep <- b",
                "paragraph 2 |  | line 9 | code <- deep",
            ],
        ),
        (
            "a[^1] b[^n]\n\n[^1]: One.\n\n    Two.\n[^n]: N.\n",
            [
                "paragraph |  | line 1 | a[1] b[n]",
                "paragraph |  | line 3 | [1] One.",
                "paragraph |  | line 5 | Two.",
                "paragraph |  | line 6 | [n] N.",
            ],
        ),
        (
            "| a | b |\n|:-|-:|\n| x \\| y | <br> |\n| **1**<br>2 | [l](u) |\n",
            ["row header |  | line 1 | a ¦ b", "row |  | line 3 | a=x | y ¦ b=", "row |  | line 4 | a=1 2 ¦ b=l"],
        ),
        (
            "Term\n:   One.\n\n    Two.\n\nNext",
            [
                "item 1 |  | line 1 | Term: One.",
                "paragraph 1 |  | line 4 | Two. <- Term: One.",
                "paragraph |  | line 6 | Next",
            ],
        ),
        (
            "> [!NOTE]\n> Mind it.\n>> deeper\n\nafter",
            ["quote |  | line 1 | Note: Mind it.", "quote |  | line 3 | deeper", "paragraph |  | line 5 | after"],
        ),
        (
            "<div align=center>\n\n# In\n\n</div>\n<table>\n<tr><th>a<th>b\n<tr><td>1<td>2</table>\n",
            ["heading 1 |  | line 3 | In", "row header | In | line 7 | a ¦ b", "row | In | line 8 | a=1 ¦ b=2"],
        ),
        ("```python\n# no heading\n\n- no item", ["code |  | line 1 | # no heading\\n\\n- no item"]),
        (
            "# שלום\n\nמים **חיים**\n\n1) א\n",
            [
                "heading 1 |  | line 1 | שלום",
                "paragraph | שלום | line 3 | מים חיים",
                "item 1 ordered | שלום | line 5 | א",
            ],
        ),
        ("# T\r\rx\r## U\r", ["heading 1 |  | line 1 | T", "paragraph | T | line 3 | x", "heading 2 | T | line 4 | U"]),
        ("{{< include x.md >}}\n\n{% include y %}\n\n<!-- include: z -->text", ["paragraph |  | line 5 | text"]),
        ("---\nno end\n\ntext", ["paragraph |  | line 2 | no end", "paragraph |  | line 4 | text"]),
        ("---\n---\ntext", ["paragraph |  | line 3 | text"]),
        ("word " * 3000, [f"paragraph |  | line 1 | {('word ' * 3000).strip()}"]),
    ],
    ids=[
        *(
            "levels",
            "table in an item",
            "blocks in an item",
            "footnotes",
            "cells",
            "terms",
            "quote",
            "HTML",
            "open code",
        ),
        *("from right to left", "old line ends", "includes", "front matter without end", "empty front matter", "long"),
    ],
)
def test_blocks_have_their_lines(text: str, lines: list[str]) -> None:
    assert [line for line in lines_of("markdown", text) if not line.startswith("title")] == lines
