"""OpenDocument texts, spreadsheets and presentations are read as they are shown."""

from __future__ import annotations

import io
import zipfile

import pytest

from documents.block_lines import lines_of
from documents.test_sheet_rows import rows_of
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.forms import true_form
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.odf import parse_odp, parse_ods, parse_odt

NAMES = {
    **{name: name for name in ("office", "text", "table", "style", "form", "presentation")},
    "draw": "drawing",
    "svg": "svg-compatible",
    "fo": "xsl-fo-compatible",
}
SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in NAMES.items()
)
SPACES += ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
PARSERS = {"text": parse_odt, "spreadsheet": parse_ods, "presentation": parse_odp}


def archive(kind: str, body: str, styles: str = "", **members: str) -> bytes:
    """A file with this body, automatic styles and further members, named with `__` for `/`."""
    out = io.BytesIO()
    content = (
        f"<office:document-content {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    with zipfile.ZipFile(out, "w") as written:
        written.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        written.writestr("content.xml", content)
        for name, xml in members.items():
            written.writestr(name.replace("__", "/"), xml)
    return out.getvalue()


def parsed(kind: str, body: str, styles: str = "", **members: str) -> Parsed:
    return PARSERS[kind](archive(kind, body, styles, **members), DEFAULT_LIMITS)


def style(name: str, properties: str, family: str = "text") -> str:
    return (
        f'<style:style style:name="{name}" style:family="{family}"><style:text-properties {properties}/></style:style>'
    )


def test_a_text_has_headings_lists_and_notes() -> None:
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
        "<text:p>Not in winter.</text:p></text:note-body></text:note>"
    )
    comment = (
        "<office:annotation><dc:creator>Rosa</dc:creator><dc:date>2026-02-03T10:00:00</dc:date><text:p>Sure?</text:p>"
        "</office:annotation>"
    )
    ordered = '<text:list-style style:name="L1"><text:list-level-style-number text:level="1"/></text:list-style>'
    body = (
        "<text:tracked-changes><text:changed-region><text:p>Gone.</text:p></text:changed-region></text:tracked-changes>"
        '<text:h text:outline-level="1">Ferry</text:h>'
        f'<text:p>It sails<text:s text:c="2"/>at\n  nine.{note} Tickets{comment} cost:</text:p>'
        '<text:list text:style-name="L1"><text:list-item><text:p>two euros</text:p>'
        "<text:list><text:list-item><text:p>half</text:p></text:list-item></text:list></text:list-item></text:list>"
    )
    result = parsed("text", body, ordered)
    assert [
        (block.kind, block.level, block.ordered, result.text[block.start : block.end].strip())
        for block in result.blocks
    ] == [
        ("heading", 1, False, "Ferry"),
        ("paragraph", 0, False, "It sails  at nine.[1] Tickets cost:"),
        ("item", 1, True, "two euros"),
        ("item", 2, False, "half"),
        ("paragraph", 0, False, "[1] Not in winter."),
        ("paragraph", 0, False, "Comment by Rosa on 2026-02-03: Sure?"),
    ]
    assert result.blocks[2].lead == "Tickets cost:"
    assert result.blocks[5].place == "comment 1"


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def items(*items: str) -> str:
    return f"<text:list>{''.join(f'<text:list-item>{item}</text:list-item>' for item in items)}</text:list>"


def rows(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<table:table-cell>{cell}</table:table-cell>" for cell in row) for row in rows)
    return f"<table:table>{''.join(f'<table:table-row>{row}</table:table-row>' for row in cells)}</table:table>"


def section(body: str, attributes: str = "") -> str:
    return f"<text:section{attributes}>{body}</text:section>"


BOX = f"<draw:text-box>{p('boxed')}</draw:text-box>"
HEADED_LIST = (
    f"<text:list><text:list-header>{p('top')}</text:list-header><text:list-item>{p('one')}</text:list-item></text:list>"
)
NOTE = f'<text:note text:note-class="footnote"><text:note-body>{p("By Bo.")}</text:note-body></text:note>'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            items(p("") + p("rope") + p("thin or thick") + items(p("red") + p("or not")) + p("of hemp"), p("oars"))
            + p("End"),
            [
                "item 1 |  | paragraph 1 | rope",
                "paragraph 1 |  | paragraph 2 | thin or thick <- rope",
                "item 2 |  | paragraph 3 | red <- rope",
                "paragraph 2 |  | paragraph 4 | or not <- red",
                "paragraph 1 |  | paragraph 5 | of hemp <- rope",
                "item 1 |  | paragraph 6 | oars",
                "paragraph |  | paragraph 7 | End",
            ],
        ),
        (
            items(p(f"rope{NOTE}") + p("thin"), p("oars")),
            [
                "item 1 |  | paragraph 1 | rope[1]",
                "paragraph 1 |  | paragraph 2 | thin <- rope[1]",
                "item 1 |  | paragraph 3 | oars",
                "paragraph |  | footnote 1 | [1] By Bo.",
            ],
        ),
        (
            rows((p("Name"), p("Town")), (p("Ada") + p("Brun"), p("")), (p("Bo"), rows((p("in"), p("ner"))))),
            [
                "row header |  | table 1, row 1 | Name ¦ Town",
                "row |  | table 1, row 2 | Name=Ada Brun",
                "row |  | table 1, row 3 | Name=Bo",
                "row |  | table 1, row 3, table 1, row 1 | Bo ¦ in ¦ ner",
            ],
        ),
        (
            (
                '<text:h text:outline-level="1">A</text:h><text:h text:outline-level="4">D</text:h>'
                '<text:h text:outline-level="x">B</text:h><text:section><text:p>in it</text:p></text:section>'
            ),
            [
                "title: A",
                "heading 1 |  | paragraph 1 | A",
                "heading 4 | A | paragraph 2 | D",
                "heading 1 |  | paragraph 3 | B",
                "paragraph | B | paragraph 4 | in it",
            ],
        ),
        (
            p("שלום<text:line-break/>a<text:tab/>b<text:soft-page-break/>c <text:a>link</text:a><text:bookmark/>!"),
            ["paragraph |  | paragraph 1 | שלום\\na\\tbc link!"],
        ),
        (
            rows((p("Name"), p("Town")), (p("Bo"), section(p("by") + rows((p("in"), section(rows((p("ner"),))))))))
            + section(p("hidden"), ' text:display="none"'),
            [
                f"note: {HIDDEN}",
                "row header |  | table 1, row 1 | Name ¦ Town",
                "row |  | table 1, row 2 | Name=Bo ¦ Town=by",
                "row |  | table 1, row 2, table 1, row 1 | Bo ¦ in",
                "row |  | table 1, row 2, table 1, row 1, table 1, row 1 | Bo ¦ in ¦ ner",
            ],
        ),
        (
            rows((p("a"), items(rows((p("b"), p("c")))) + HEADED_LIST + f"<draw:frame>{BOX}</draw:frame>")),
            [
                "row |  | table 1, row 1 | a ¦ top; one",
                "row |  | table 1, row 1, table 1, row 1 | a ¦ b ¦ c",
                "paragraph |  | drawing 1 | boxed",
            ],
        ),
        (rows((p(""),)) + items() + p(" ") + p("x" * 5000), [f"paragraph |  | paragraph 1 | {'x' * 5000}"]),
    ],
    ids=[
        "paragraphs of items",
        "note in an item",
        "table in a cell",
        "levels",
        "from right to left",
        "sections",
        "in a cell",
        "empty and long",
    ],
)
def test_odd_texts_are_read_as_they_are_seen(body: str, lines: list[str]) -> None:
    assert lines_of("odt", archive("text", body)) == lines


def test_hidden_and_struck_out_text_is_left_out_and_told() -> None:
    styles = (
        style("T1", 'style:text-line-through-style="solid"')
        + style("T2", 'text:display="none"')
        + style("T3", 'style:text-position="super 58%"')
        + style("P1", 'text:display="none"', "paragraph")
    )
    body = (
        '<text:p>Price: <text:span text:style-name="T1">£45</text:span> £52'
        '<text:span text:style-name="T2"> secret</text:span></text:p>'
        '<text:p text:style-name="P1">Never seen.</text:p>'
        '<text:p>10<text:span text:style-name="T3">6</text:span> m<text:span text:style-name="T3">2</text:span></text:p>'
    )
    result = parsed("text", body, styles)
    assert result.text == "Price: £52\n\n10^6 m²"
    assert set(result.notes) == {HIDDEN, STRUCK}


def test_formulas_boxes_controls_and_charts_are_read() -> None:
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>F</mi><annotation encoding="StarMath 5.0">F = m v^2'
        "</annotation></semantics></math>"
    )
    chart = (
        f"<office:document-content {SPACES}><office:body><table:table><table:table-row><table:table-cell/><table:table-cell>"
        "<text:p>Boats</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>May</text:p>"
        "</table:table-cell><table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>"
        "</office:body></office:document-content>"
    )
    box = '<form:checkbox form:id="c1" form:label="Damp" form:current-state="checked"/>'
    forms = f"<office:forms><form:form>{box}</form:form></office:forms>"
    body = (
        f'{forms}<text:p>The load is <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>.</text:p>'
        '<text:p><draw:control draw:control="c1"/></text:p>'
        "<text:p>Beside.<draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame></text:p>"
        '<text:p><draw:frame><draw:object xlink:href="./Object 2"/></draw:frame></text:p>'
    )
    result = parsed("text", body, **{"Object 1__content.xml": math, "Object 2__content.xml": chart})
    assert rows_of(result) == [
        *("The load is F = m v^2.", "☒ Damp", "Beside.", "In a box.", ["Boats"]),
        {"": "May", "Boats": "12"},
    ]


def test_header_rows_of_a_table_in_a_cell_are_not_those_of_the_table_around_it() -> None:
    def row(*cells: str) -> str:
        return f"<table:table-row>{''.join(f'<table:table-cell>{cell}</table:table-cell>' for cell in cells)}</table:table-row>"

    def texts(*cells: str) -> str:
        return row(*(f"<text:p>{cell}</text:p>" for cell in cells))

    heads = f"<table:table-header-rows>{texts('Berth', 'Fee')}</table:table-header-rows>"
    inner = f"<table:table>{heads}{texts('North', '12')}{texts('South', '9')}</table:table>"
    outer = texts("Runa lives at the quay.", "She rows.") + row("<text:p>Odd lives at the mole.</text:p>", inner)
    assert rows_of(parsed("text", f"<table:table>{outer}</table:table>")) == [
        ["Runa lives at the quay.", "She rows."],
        ["Odd lives at the mole."],
        ["Berth", "Fee"],
        {"": "Odd lives at the mole.", "Berth": "North", "Fee": "12"},
        {"": "Odd lives at the mole.", "Berth": "South", "Fee": "9"},
    ]


def test_headers_and_footers_come_last() -> None:
    shared = (
        f"<office:document-styles {SPACES}><office:master-styles><style:master-page>"
        "<style:header><text:p>Project Heron, HX-2291</text:p></style:header>"
        "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>"
        "</style:master-page></office:master-styles></office:document-styles>"
    )
    result = parsed(
        "text", '<text:h text:outline-level="1">Plan</text:h><text:p>May.</text:p>', **{"styles.xml": shared}
    )
    assert result.text == "Plan\n\nMay.\n\nProject Heron, HX-2291"
    assert (result.blocks[-1].place, result.blocks[-1].path) == ("page header", ())


def cell(text: str = "", **attributes: str) -> str:
    written = "".join(f' table:number-{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<table:table-cell{written}>{f'<text:p>{text}</text:p>' if text else ''}</table:table-cell>"


COVERED = "<table:covered-table-cell/>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row{attributes}>{''.join(cells)}</table:table-row>"


def test_a_sheet_has_displayed_values_merged_cells_and_comments() -> None:
    comment = "<office:annotation><dc:creator>Rosa</dc:creator><text:p>Too dear.</text:p></office:annotation>"
    collapsed = ' table:visibility="collapse"'
    rows = [
        row(
            cell("Line", rows_spanned="2"),
            cell("Adult", columns_spanned="2"),
            COVERED,
            cell("Cost"),
            cell(columns_repeated="999"),
        ),
        row(COVERED, cell("Single"), cell("Return"), cell()),
        row(
            cell("Coast", rows_spanned="2"),
            cell("4.00 €").replace("</table:table-cell>", f"{comment}</table:table-cell>"),
            cell("7.00 €"),
            cell("1"),
        ),
        row(COVERED, cell("5.00 €"), cell("8.00 €"), cell("2")),
        row(cell("Hill"), cell("6.00 €"), cell("9.00 €"), cell("3"), attributes=collapsed),
        row(cell(columns_repeated="1024"), attributes=' table:number-rows-repeated="1048570"'),
    ]
    columns = f'<table:table-column table:number-columns-repeated="3"/><table:table-column{collapsed}/>'
    hidden = '<table:table table:name="Drafts" table:style-name="ta2">' + row(cell("secret")) + "</table:table>"
    styles = '<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>'
    result = parsed(
        "spreadsheet", f'<table:table table:name="Fares">{columns}{"".join(rows)}</table:table>{hidden}', styles
    )
    assert rows_of(result) == [
        *("Fares", ["Line", "Adult"], ["Line", "Single", "Return"]),
        {"Line": "Coast", "Adult Single": "4.00 €", "Adult Return": "7.00 €"},
        "Comment by Rosa (Coast): Too dear.",
        {"Line": "Coast", "Adult Single": "5.00 €", "Adult Return": "8.00 €"},
    ]
    assert result.blocks[3].place == "sheet Fares, row 3"
    assert set(result.notes) == {
        "sheet Fares: 1 hidden rows and 1 hidden columns were left out",
        "hidden sheets were left out: Drafts",
    }


def test_text_boxes_of_a_sheet_are_read() -> None:
    floating = f"<table:shapes><draw:frame>{BOX}</draw:frame></table:shapes>"
    boxed = cell("12").replace("<text:p>", "<draw:custom-shape><text:p>at noon</text:p></draw:custom-shape><text:p>")
    sheet = f'<table:table table:name="Fares">{floating}{row(cell("Coast"), boxed)}</table:table>'
    assert rows_of(parsed("spreadsheet", sheet)) == ["Fares", ["Coast", "12"], "Text box (Coast): at noon", "boxed"]


def test_a_cell_without_a_text_has_the_value_that_it_stores() -> None:
    stored = ('office:string-value="Coast"', 'office:date-value="2024-03-05"', 'office:value="12.5"', "")
    sheet = f"<table:table>{row(*(f'<table:table-cell {value}/>' for value in stored))}</table:table>"
    assert rows_of(parsed("spreadsheet", sheet)) == [["Coast", "2024-03-05", "12.5"]]


def frame(text: str, left: float, top: float, kind: str = "") -> str:
    written = f' presentation:class="{kind}"' if kind else ""
    place = f'svg:x="{left}cm" svg:y="{top}cm" svg:width="5cm" svg:height="1cm"'
    return f"<draw:frame{written} {place}><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"


def test_slides_are_read_in_order_with_notes_and_comments() -> None:
    notes = f"<presentation:notes>{frame('Speak slowly.', 0, 0, 'notes')}</presentation:notes>"
    comment = "<office:annotation><dc:creator>Bo</dc:creator><text:p>Why?</text:p></office:annotation>"
    first = (
        frame("Second.", 1, 9) + frame("First.", 1, 5) + frame("Fares", 1, 1, "title") + frame("3", 9, 9, "page-number")
    )
    body = (
        f'<draw:page>{comment}{first}{notes}</draw:page><draw:page draw:style-name="dp2">{frame("Secret.", 1, 1)}</draw:page>'
        f"<draw:page>{frame('No title.', 1, 1)}</draw:page>"
    )
    styles = (
        '<style:style style:name="dp2" style:family="drawing-page">'
        '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    result = parsed("presentation", body, styles)
    assert result.title == "Fares"
    assert result.notes == ("1 hidden slides were left out",)
    assert [(block.place, block.path, result.text[block.start : block.end].strip()) for block in result.blocks] == [
        ("slide 1", (), "Fares"),
        ("slide 1", ("Fares",), "First."),
        ("slide 1", ("Fares",), "Second."),
        ("slide 1, comment", ("Fares",), "Comment by Bo: Why?"),
        ("slide 1, notes", ("Fares",), "Speak slowly."),
        ("slide 3", (), "No title."),
    ]


def test_macros_and_formulas_that_declare_a_document_type_cost_only_themselves() -> None:
    macro = dict.fromkeys(("Basic__Standard__a.xml", "Object 2__content.xml"), "<!DOCTYPE x><x/>")
    formula = '<draw:frame><draw:object xlink:href="./Object 2"/></draw:frame>'
    result = parsed("text", f"<text:p>The key is here.{formula}</text:p>", **macro)
    assert result.text == "The key is here."
    assert result.notes == ("Object 2/content.xml is damaged and was left out",)
    with pytest.raises(Unreadable, match="declares an XML document type"):
        parsed("text", "", **{"styles.xml": macro["Object 2__content.xml"]})


@pytest.mark.parametrize(("kind", "ending"), [("text", "odt"), ("spreadsheet", "ods"), ("presentation", "odp")])
def test_files_are_known_by_their_content_and_refused_with_a_reason(kind: str, ending: str) -> None:
    data = archive(kind, "")
    form = true_form(None, data)
    assert form is not None
    assert form.name == ending
    protected = archive(kind, "", **{"META-INF__manifest.xml": "<m><encryption-data/></m>"})
    others = {"": "is not an OpenDocument file", "PK\x03\x04": "is not an OpenDocument file"}
    for refused, reason in [
        *((one.encode(), why) for one, why in others.items()),
        (protected, "protected by a password"),
    ]:
        with pytest.raises(Unreadable, match=reason):
            PARSERS[kind](refused, DEFAULT_LIMITS)
    with pytest.raises(Unreadable, match="unpacks to"):
        PARSERS[kind](data, ReadingLimits(unpacked=100))
    with pytest.raises(Unreadable, match="is not an OpenDocument"):
        PARSERS[kind](archive("drawing", ""), DEFAULT_LIMITS)
