"""Pages give their readable text only; nesting and size are bounded."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from documents.block_lines import lines_of
from hoptrail.documents import html_markup
from hoptrail.documents.child import Parsing, TookTooLong
from hoptrail.documents.html import parse_html
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.types import BlockKind


def text_of(markup: str) -> str:
    return parse_html(markup.encode(), DEFAULT_LIMITS).text


def test_blocks_become_paragraphs_and_entities_characters() -> None:
    page = "<h1>Ports</h1><p>One <b>bold</b>word\n and <i>more</i>.<br>Next&nbsp;line &eacute;&#x4e2d;</p><ul><li>a<li>b</ul>"
    assert text_of(page) == "Ports\n\nOne boldword and more.\nNext line é中\n\na\nb"


def test_scripts_and_navigation_are_left_out() -> None:
    page = "<nav>Home</nav><script>x()</script><style>p{}</style><p>Text</p><p hidden>no</p><template>no</template><noscript>no"
    assert text_of(page) == "Text"


def test_navigation_is_told_by_role_class_and_share_of_links() -> None:
    navigation = (
        '<div role="navigation"><h3>On this page</h3><p>Scope</p></div>'
        '<table class="wide navheader"><tr><td>Back</td><td>Chapter 5</td></tr></table>'
        '<div class="toc"><b>Contents</b><ul><li><a href="#a">What the rules are for</a><li><a href="#b">Dues</a></ul></div>'
    )
    restaurant = '<div class="menu"><p>Soup of the day 4.50</p><p><a href="f">Fish</a> 9.00</p></div>'
    page = f'<body class="nav">{navigation}{restaurant}<p>We close at ten.</p></body>'
    assert text_of(page) == "Soup of the day 4.50\n\nFish 9.00\n\nWe close at ten."


def test_short_bold_paragraphs_are_headings_of_what_follows() -> None:
    page = (
        "<h1>Ferry</h1><p><b>Read this first: <i>notes</i></b></p><p><strong>Who may cross?</strong></p><p>Members.</p>"
        "<p><b>(2) What does a crossing cost?</b></p><blockquote>Nothing.</blockquote><p><b>Never jump.</b></p>"
        f"<p>The deck is <b>wet</b>{', and wet' * 30}.</p>"
        "<ul><li><p><b>Rope</b></p><p>ten metres, kept below the bench of the engineer</p></ul><p><b>The end</b></p>"
    )
    blocks = parse_html(page.encode(), DEFAULT_LIMITS).blocks
    assert [(block.kind, block.path[1:]) for block in blocks] == [
        (BlockKind.HEADING, ()),
        (BlockKind.PARAGRAPH, ()),
        (BlockKind.HEADING, ()),
        (BlockKind.PARAGRAPH, ("Who may cross?",)),
        (BlockKind.HEADING, ()),
        (BlockKind.QUOTE, ("(2) What does a crossing cost?",)),
        *[(kind, ("(2) What does a crossing cost?",)) for kind in (BlockKind.PARAGRAPH, BlockKind.PARAGRAPH)],
        *[
            (kind, ("(2) What does a crossing cost?",))
            for kind in (BlockKind.ITEM, BlockKind.PARAGRAPH, BlockKind.PARAGRAPH)
        ],
    ]


def test_bold_paragraphs_are_no_headings_where_most_text_is_bold() -> None:
    assert (
        parse_html(b"<p>Ring:</p><p><b>the bell</b></p><p>It is loud.</p>", DEFAULT_LIMITS).blocks[1].kind
        is BlockKind.PARAGRAPH
    )
    page = "<p><b>Old notice</b></p><p><b>All boats must leave the quay before noon on Friday</b></p><p>Thank you</p>"
    assert {block.kind for block in parse_html(page.encode(), DEFAULT_LIMITS).blocks} == {BlockKind.PARAGRAPH}


def test_a_list_of_links_within_the_page_is_left_out() -> None:
    contents = "".join(f"<li><a href='#{name}'>{name}</a>" for name in ("Dues", "Guests", "Keys"))
    places = (
        "<a name='Guests'></a><h2 id='Dues'>Dues</h2><p>40 a year</p>"
        "<ul id='Keys'><li><a href='#Keys'>Keys</a> are with Bo<li>b</ul>"
    )
    assert text_of(f"<ol>{contents}</ol>{places}") == "Dues\n\n40 a year\n\nKeys are with Bo\nb"
    assert text_of(f"<ol>{contents}</ol>{places.replace('Guests', 'Visitors')}").startswith(
        "Dues\nGuests\nKeys\n\nDues"
    )


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            "<tr><th><p>City</p><th><div><p>Country</p></div><tr><td><p> Bern<td><p>Switz&shy;er<br>land",
            "City\tCountry\nBern\tSwitzer land",
        ),
        ("<tr><td><ul><li>a<li>b</ul><td>c", "a b\tc"),
        ("<tr><td><p>One.<p>Two.", "One.\n\nTwo."),
        ("<tr><td><h1>Layout</h1><p>One.<td><p>Two.", "Layout\n\nOne.\n\nTwo."),
        ("<tr><td><p>One.<p>Two.<table><tr><td><p>a<td><p>b</table><td>c", "One.\n\nTwo.\n\na\tb\n\nc"),
        ("<tr><td>1<br>2<td><pre>one\ntwo</pre>", "1\n2\n\none\ntwo"),
    ],
)
def test_blocks_in_cells_form_rows_except_in_layout_tables(table: str, text: str) -> None:
    assert text_of(f"<table>{table}</table>") == text


def test_a_button_that_is_a_heading_keeps_its_text() -> None:
    page = "<h2><span><button>What is the refund period?</button></span></h2><div>30 days. <button>Send</button></div>"
    folded = "<details><summary><button>More</button> <button hidden>no</button></summary>Text</details>"
    assert text_of(page + folded) == "What is the refund period?\n\n30 days.\n\nMore\n\nText"


def test_hidden_elements_are_left_out_of_preformatted_text() -> None:
    assert text_of("<pre>a\n<script>x()</script><b>b</b><div>c</div></pre><pre hidden>no</pre>d") == "a\nbc\n\nd"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>A &amp;\n B</title><h1>C</h1>", "A & B"),
        ("<h1>Only a heading</h1>", "Only a heading"),
        ("<title>Ada Lovelace - Wikipedia</title><h1>Ada\n<i>Lovelace</i></h1>", "Ada Lovelace"),
        ("<title>Ada | Work – The Site</title><h1>The Site</h1><h1>Ada | Work</h1>", "Ada | Work"),
        ("<title>Foss-on-Sea: a guide</title><h1>Foss</h1>", "Foss-on-Sea: a guide"),
        ("<title> - Wikipedia</title><h1></h1>", "- Wikipedia"),
        ("<h1>Tides<br>of Foss</h1>", "Tides of Foss"),
        ("<title>Tides of Foss - Wiki</title><h1>Tides<br/><i>of</i> Foss</h1>", "Tides of Foss"),
        ("<svg><title>Icon</title></svg><p>x", ""),
        ("<p>none", ""),
    ],
)
def test_titles(page: str, title: str) -> None:
    assert " ".join(parse_html(page.encode(), DEFAULT_LIMITS).title.split()) == title


def test_c7_the_declared_encoding_is_used() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Привет, мир'
    parsed = parse_html(page.encode("cp1251"), DEFAULT_LIMITS)
    assert parsed.text == "Привет, мир"
    assert parsed.notes == ("read as cp1251, because the file declares windows-1251",)


@pytest.mark.parametrize("page", ["", "   ", "<html></html>", "<p></p>", "<!-- nothing -->"])
def test_c1_empty_pages(page: str) -> None:
    assert text_of(page) == ""


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    assert text_of("<div>" * 5000 + "deep") == "deep"


def test_a_page_that_takes_too_long_is_stopped() -> None:
    with Parsing(ReadingLimits(parsing_seconds=1)) as parsing:
        with pytest.raises(TookTooLong, match="took longer than 1 seconds"):
            parsing.parse("html", b"<select>" + b"<option>x" * 200_000)
        assert parsing.parse("html", b"<p>the next one").text == "the next one"


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (
            "<h1>A</h1>\n<h4>D</h4><p>x\n<h2>B</h2>y",
            [
                "heading 1 |  | line 1 | A",
                "heading 4 | A | line 2 | D",
                "paragraph | A > D | line 2 | x",
                "heading 2 | A | line 3 | B",
                "paragraph | A > B | line 3 | y",
            ],
        ),
        (
            "<p>a<div>b<ul><li>x\n<ul><li>y</ul><li>z</ul>c\n<ol start=5><li>n</ol>",
            [
                "paragraph |  | line 1 | a",
                "paragraph |  | line 1 | b",
                "item 1 |  | line 1 | x",
                "item 2 |  | line 2 | y <- x",
                "item 1 |  | line 2 | z",
                "paragraph |  | line 2 | c",
                "item 1 ordered |  | line 3 | n",
            ],
        ),
        (
            (
                "<table><caption>Fares</caption><thead><tr><th rowspan=2>Line<th colspan=2>Fare<tr><th>In<th>Out</thead>\n"
                "<tr><td rowspan=2>Coast<td>1<td>2\n<tr><td>3<td></table>"
            ),
            [
                "paragraph |  | line 1 | Fares",
                "row header |  | line 1 | Line ¦ Fare",
                "row header |  | line 1 | Line ¦ In ¦ Out",
                "row |  | line 2 | Line=Coast ¦ Fare In=1 ¦ Fare Out=2",
                "row |  | line 3 | Line=Coast ¦ Fare In=3 ¦ Fare Out=",
            ],
        ),
        (
            "<table><tr><td>one\n<table><tr><td>in<td>ner</table></table>",
            ["paragraph |  | line 1 | one", "row |  | line 2 | in ¦ ner"],
        ),
        (
            "<dl><dt>A<dt>B<dd>both<div><dt>C\n<dd>see</div><dd>too</dl>",
            ["item 1 |  | line 1 | A, B: both", "item 1 |  | line 1 | C: see", "item 1 |  | line 2 | too"],
        ),
        (
            "<blockquote>q<pre>\na\n  b</pre></blockquote><pre><code>c</code></pre>",
            ["quote |  | line 1 | q", "code |  | line 2 | a\\n  b", "code |  | line 3 | c"],
        ),
        (
            "<form><fieldset><legend>Keeper</legend>Ada</fieldset>",
            ["paragraph |  | line 1 | Keeper", "paragraph |  | line 1 | Ada"],
        ),
        (
            "<td>cell<li>item<dd>said</p>\n</ul><p>cut <b>in",
            [
                "paragraph |  | line 1 | cell",
                "paragraph |  | line 1 | item",
                "paragraph |  | line 1 | said",
                "paragraph |  | line 2 | cut in",
            ],
        ),
        (
            "<h2>שלום</h2>\n<p dir=rtl>מים <b>חיים</b>",
            ["heading 2 |  | line 1 | שלום", "paragraph | שלום | line 2 | מים חיים"],
        ),
        ("<p>1 < 2 && 3 > 2 &bogus; &copy &#8364;", ["paragraph |  | line 1 | 1 < 2 && 3 > 2 &bogus; © €"]),
        (f"<p>{'word ' * 3000}", [f"paragraph |  | line 1 | {('word ' * 3000).strip()}"]),
    ],
    ids=[
        "levels",
        "lists",
        "headers",
        "table in a table",
        "terms",
        "code",
        "form",
        "no closing tags",
        "from right to left",
        "signs",
        "long",
    ],
)
def test_pages_give_blocks_with_their_lines(page: str, lines: list[str]) -> None:
    assert [line for line in lines_of("html", page) if not line.startswith("title")] == lines


def test_a_date_within_a_sentence_is_not_that_of_the_page() -> None:
    day = "<time datetime='2024-04-01'>1 April</time>"
    for line, date in (
        (f"By Ada, {day}", "2024-04-01"),
        (f"The ferry stops on {day}.", ""),
    ):
        assert parse_html(f"<h1>Ferry</h1><p>{line}".encode(), DEFAULT_LIMITS).date == date


ATTRIBUTES = " ".join(f"a{number}='>'" for number in range(200_000))


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (f"<p {ATTRIBUTES}>text", "an element with more than 1,000 attributes"),
        ("<div>" * 440_000 + "text", "nests elements more than 10,000 deep"),
        ("<div>" * 200_000 + "text" + "</div>" * 200_000, "nests elements more than 10,000 deep"),
        ("".join(f"<p><font size={number}>x" for number in range(100_000)), "nests elements more than 10,000 deep"),
        ("<table><tr><td>" * 150_000, "nests elements more than 10,000 deep"),
    ],
    ids=["attributes", "open elements", "closed elements", "open fonts", "tables"],
)
def test_d14_slow_shapes_are_refused_before_parsing(page: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        parse_html(page.encode(), DEFAULT_LIMITS)


@pytest.mark.parametrize(
    "page",
    [
        "<p class=x>text" * 120,
        "<ul>" + "<li>text<b>x</b>" * 120 + "</ul>",
        "<table>" + "<tr><td>text" * 120 + "</table>",
        "<a name=x>text" * 120,
        "<script>" + "'<div>'" * 120 + "</script>text",
        "<!-- " + "<div>" * 120 + "-->text",
        "<div><b>text</div>" * 120,
        "<br><img src=x>text" * 120,
        "<svg>" + "<path d='x'/>" * 120 + "</svg>text",
        "<p title='" + "a=b " * 120 + "'>text",
    ],
)
def test_long_pages_of_a_usual_shape_are_read(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more elements than may be nested in one another."""
    monkeypatch.setattr(html_markup, "DEEPEST", 100)
    assert "text" in parse_html(page.encode(), DEFAULT_LIMITS).text


def test_d14_many_small_files_cannot_occupy_a_machine_for_long() -> None:
    assert 100 * ReadingLimits().cpu_seconds(2_200_000) < 3600
    assert ReadingLimits().cpu_seconds(100_000_000) == 60


def test_the_start_of_a_parser_does_not_count_against_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "import time; time.sleep(1.5); from hoptrail.documents.child import main; main()"
    popen = subprocess.Popen

    def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return popen([command[0], "-P", "-c", slow, command[-1]], **options)

    monkeypatch.setattr(subprocess, "Popen", started)
    with Parsing(ReadingLimits(parsing_seconds=1)) as parsing:
        assert parsing.parse("html", b"<p>text").text == "text"


def test_a_parser_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: popen([command[0], "-c", "raise SystemExit(3)"], **options)
    )
    with Parsing(ReadingLimits()) as parsing, pytest.raises(Unreadable, match=r"did not start \(exit status 3\)"):
        parsing.parse("html", b"<p>text")


def test_a_page_over_the_limit_is_refused() -> None:
    with pytest.raises(Unreadable, match="larger than 10 bytes"):
        parse_html(b"<p>" + b"x" * 10, ReadingLimits(text=10))


def test_line_marks_are_put_before_texts_only() -> None:
    page = (
        "<title>A > b</title>\n<script>\nif (a < b) {}\n</script><!-- no\ntext -->\n"
        "<p title='x > y'>One\n<b>two</b> < 3\n<p\nclass=x>Four"
    )
    parsed = parse_html(page.encode(), DEFAULT_LIMITS)
    assert parsed.title == "A > b"
    assert [(block.place, parsed.text[block.start : block.end].strip()) for block in parsed.blocks] == [
        ("line 6", "One two < 3"),
        ("line 9", "Four"),
    ]


def test_a_page_with_a_line_mark_loses_nothing() -> None:
    assert text_of("<p>One\ufdd05\ufdd1 two") == "One\N{REPLACEMENT CHARACTER}5\ufdd1 two"


def test_marking_lines_takes_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("DEEPEST", "MOST_ATTRIBUTES"):
        monkeypatch.setattr(html_markup, limit, 1_000_000)
    for text in ('<a ">" ', "<a '", "<!--", "<script", "< ", "a\n<b>"):
        start = time.process_time()
        html_markup.marked(text * 20_000)
        assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("<p>Price: <del>45</del> <ins>52</ins>. The boss is <s>Ann</s> Bob.</p>", "Price: 52. The boss is Bob."),
        (
            "<p>10<sup>6</sup> litres, 250 m<sup>2</sup>, H<sub>2</sub>O, 28 °C<sup>1</sup></p>",
            "10^6 litres, 250 m², H₂O, 28 °C[1]",
        ),
        ('<p>Seen<span style="color:red;display: none">H1</span></p><p style="visibility:hidden">H2</p>', "Seen"),
        ('<p style="font-size:0">H3</p><p style="font-size:0.9em">Small</p>', "Small"),
        (
            "<style>.b,#d{x:y;display:none} @media print{.c{display:none}} .e .f{display:none}</style>__".replace(
                "__", "<p class='a b'>H4<p id=d>H5<p class=c>Seen<p class=f>Too"
            ),
            "Seen\n\nToo",
        ),
        (
            "<ul><li><input type=checkbox checked>Asbestos</li><li><input type=checkbox>Lead</ul><input type=radio role=button>",
            "☑ Asbestos\n☐ Lead",
        ),
        (
            (
                "<ul><li><div class='checkbox checkbox-on'></div> P"
                "<li data-inline-task-id class=checked>A<li data-inline-task-id class=unchecked>B"
            ),
            "☑ P\n☑ A\n☐ B",
        ),
        ('<p>Text <img src=x alt="a map of the harbour"><img alt="logo"></p>', "Text a map of the harbour"),
        ('<div id="onetrust-banner-sdk">We use cookies</div><p class="cookie-recipe">Butter</p>', "Butter"),
        ('<ul><li><a hreflang="de" href="x">Ente</a></li></ul><p>Duck</p>', "Duck"),
        ("<p>Donau&shy;dampf&shy;schiff, Hilde&#8203;gard</p>", "Donaudampfschiff, Hildegard"),
    ],
)
def test_what_a_person_does_not_see_is_left_out_and_numbers_stay_apart(page: str, shown: str) -> None:
    assert text_of(page) == shown


def test_what_is_hidden_or_struck_out_is_noted() -> None:
    page = "<p hidden>a</p><p hidden></p><p>b<s>c</s></p>"
    assert parse_html(page.encode(), DEFAULT_LIMITS).notes == (
        "text that is not shown was left out",
        "struck-out text was left out",
    )
    assert parse_html(b"<p hidden></p><p>b</p>", DEFAULT_LIMITS).notes == ()
