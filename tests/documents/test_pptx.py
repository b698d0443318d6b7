"""Slides are read in the order of a person, whole and by themselves; a part that cannot be read costs only itself."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest
from pptx import Presentation
from pptx.chart.data import BubbleChartData, CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from documents.test_sheet_rows import rows_of
from hoptrail.documents.blocks import Parsed, ends_within
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.pptx import parse_pptx
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.types import Document

DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def parsed(presentation: Any, *replacements: tuple[bytes, bytes]) -> Parsed:
    """The parsed presentation, with replacements in its parts."""
    out = io.BytesIO()
    presentation.save(out)
    if not replacements:
        return parse_pptx(out.getvalue(), DEFAULT_LIMITS)
    changed = io.BytesIO()
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            for before, after in replacements:
                data = data.replace(before, after)
            new.writestr(name, data)
    return parse_pptx(changed.getvalue(), DEFAULT_LIMITS)


def box(slide: Any, text: str, left: float, top: float, width: float = 2, height: float = 0.5) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    shape.text_frame.text = text
    return shape


def blank(presentation: Any) -> Any:
    return presentation.slides.add_slide(presentation.slide_layouts[6])


def test_boxes_are_read_from_top_to_bottom_and_left_to_right() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    for text, left, top in (("Step 3", 1, 5), ("Step 2, right", 4, 3), ("Step 2, left", 1, 3.1), ("Step 1", 1, 1)):
        box(slide, text, left, top)
    assert parsed(presentation).text.split("\n\n") == ["Step 1", "Step 2, left", "Step 2, right", "Step 3"]


def test_columns_that_are_further_apart_than_their_lines_are_read_one_by_one() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    box(slide, "Against: noise", 5, 2.1, 3, 3)
    box(slide, "Against", 5, 1.5, 3, 0.5)
    box(slide, "For: light", 1, 2.1, 3, 3)
    box(slide, "For", 1, 1.5, 3, 0.5)
    assert parsed(presentation).text.split("\n\n") == ["For", "For: light", "Against", "Against: noise"]


def test_a_slide_without_a_title_is_below_no_heading() -> None:
    presentation = Presentation()
    titled = presentation.slides.add_slide(presentation.slide_layouts[5])
    titled.shapes.title.text = "Fares"
    box(titled, "Two euros.", 1, 3)
    box(blank(presentation), "First, stop the engine.", 1, 1)
    assert [block.path for block in parsed(presentation).blocks] == [(), ("Fares",), ()]


def chart(presentation: Any, kind: Any, data: Any) -> None:
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Landings"
    slide.shapes.add_chart(kind, Inches(1), Inches(2), Inches(4), Inches(3), data)
    box(slide, "The captain is Yara Bloom.", 1, 6)


def months() -> CategoryChartData:
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["May", "June"]
    data.add_series("Boats", (12, 30.5))  # type: ignore[no-untyped-call]
    return data


@pytest.mark.parametrize(
    "plot", [b"barChart", b"bar3DChart", b"pie3DChart", b"ofPieChart", b"stockChart", b"surfaceChart"]
)
def test_charts_of_all_kinds_are_tables(plot: bytes) -> None:
    presentation = Presentation()
    chart(presentation, XL_CHART_TYPE.COLUMN_CLUSTERED, months())
    result = parsed(presentation, (b"c:barChart", b"c:" + plot))
    assert rows_of(result) == [
        "Landings",
        ["Boats"],
        {"": "May", "Boats": "12"},
        {"": "June", "Boats": "30.5"},
        "The captain is Yara Bloom.",
    ]
    assert result.notes == ()


def test_a_value_of_a_chart_that_is_no_number_stays() -> None:
    presentation = Presentation()
    chart(presentation, XL_CHART_TYPE.COLUMN_CLUSTERED, months())
    assert rows_of(parsed(presentation, (b"<c:v>12</c:v>", b"<c:v>#N/A</c:v>")))[2] == {"": "May", "Boats": "#N/A"}


@pytest.mark.parametrize(
    ("kind", "data", "points"),
    [(XL_CHART_TYPE.XY_SCATTER, XyChartData, [(1, 2), (3, 4)]), (XL_CHART_TYPE.BUBBLE, BubbleChartData, [(1, 2, 9)])],
)
def test_points_of_a_chart_are_rows(kind: Any, data: Any, points: list[tuple[float, ...]]) -> None:
    presentation = Presentation()
    values = data()
    series = values.add_series("Depth")
    for point in points:
        series.add_data_point(*point)
    chart(presentation, kind, values)
    rows = [row for row in rows_of(parsed(presentation)) if isinstance(row, dict)]
    assert [tuple(float(row[name]) for name in ("x", "y", "size") if name in row) for row in rows] == points
    assert {row[""] for row in rows} == {"Depth"}


def test_a_damaged_chart_and_an_unknown_shape_leave_the_rest() -> None:
    presentation = Presentation()
    chart(presentation, XL_CHART_TYPE.COLUMN_CLUSTERED, months())
    result = parsed(presentation, (b"</c:chartSpace>", b""))
    assert result.text == "Landings\n\nThe captain is Yara Bloom."
    assert re.fullmatch(r"ppt/charts/chart.*\.xml is damaged and was left out", result.notes[0])
    assert "slide 1: a chart or diagram was not read" in result.notes
    presentation = Presentation()
    box(box(blank(presentation), "Known.", 1, 1).part.slide, "Unknown.", 1, 3)
    unknown = parsed(presentation, (b'prst="rect"', b'prst="never"'), (b'txBox="1"', b""))
    assert unknown.text == "Known.\n\nUnknown."


def related(part: Any, name: str, kind: str, xml: str) -> str:
    new = Part(PackURI(name), "application/xml", part.package, xml.encode())
    return str(part.relate_to(new, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"))


def test_comments_on_a_slide_are_read() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    box(slide, "We sail in May.", 1, 1)
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    author = f'<p:cmAuthorLst xmlns:p="{main}"><p:cmAuthor id="0" name="Rosa Lind"/></p:cmAuthorLst>'
    text = '<p:cm authorId="0" dt="2026-02-03T10:00:00"><p:text>Not before June?</p:text></p:cm>'
    comment = f'<p:cmLst xmlns:p="{main}">{text}</p:cmLst>'
    related(presentation.part, "/ppt/commentAuthors.xml", "commentAuthors", author)
    related(slide.part, "/ppt/comments/comment1.xml", "comments", comment)
    result = parsed(presentation)
    assert result.text == "We sail in May.\n\nComment by Rosa Lind on 2026-02-03: Not before June?"
    assert result.blocks[1].place == "slide 1, comment"


def test_a_diagram_is_a_list() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    diagram = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
    texts = {"1": "", "2": "Director: Mirka Salo", "3": "Purser: Bo"}
    points = "".join(
        f'<d:pt modelId="{number}" type="{"node" if text else "doc"}"><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'
        for number, text in texts.items()
    )
    links = '<d:cxn modelId="8" srcId="1" destId="2"/><d:cxn modelId="9" srcId="2" destId="3"/>'
    lists = f"<d:ptLst>{points}</d:ptLst><d:cxnLst>{links}</d:cxnLst>"
    xml = f'<d:dataModel xmlns:d="{diagram}" xmlns:a="{DRAWING}">{lists}</d:dataModel>'
    name = related(slide.part, "/ppt/diagrams/data1.xml", "diagramData", xml)
    frame = slide.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1))._element
    data = frame.find(f".//{{{DRAWING}}}graphicData")
    data.set("uri", diagram)
    data.remove(data[0])
    ids = data.makeelement(f"{{{diagram}}}relIds", nsmap={"dgm": diagram})
    ids.set("{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm", name)
    data.append(ids)
    result = parsed(presentation)
    assert [(block.level, result.text[block.start : block.end].strip()) for block in result.blocks] == [
        (1, "Director: Mirka Salo"),
        (2, "Purser: Bo"),
    ]


def test_hidden_shapes_and_struck_out_text_are_left_out_and_told() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    box(slide, "Secret.", 1, 1)._element.nvSpPr.cNvPr.set("hidden", "1")
    paragraph = box(slide, "", 1, 3).text_frame.paragraphs[0]
    for text, name, value in (
        ("It costs ", "", ""),
        ("£45", "strike", "sngStrike"),
        ("£52 a m", "", ""),
        ("2", "baseline", "30000"),
    ):
        run = paragraph.add_run()
        run.text = text
        if name:
            run._r.get_or_add_rPr().set(name, value)
    result = parsed(presentation)
    assert result.text == "It costs £52 a m²"
    assert result.notes == (HIDDEN, STRUCK)


def test_a_formula_on_a_slide_is_part_of_its_text() -> None:
    presentation = Presentation()
    slide = blank(presentation)
    box(slide, "Load: FORMULA", 1, 1)
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    formula = (
        f'<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><m:oMath xmlns:m="{math}"><m:f><m:num><m:r>'
        "<m:t>F</m:t></m:r></m:num><m:den><m:r><m:t>m</m:t></m:r></m:den></m:f></m:oMath></a14:m>"
    )
    text = b"<a:r><a:t>Load: FORMULA</a:t></a:r>"
    assert parsed(presentation, (text, b"<a:r><a:t>a = </a:t></a:r>" + formula.encode())).text == "a = F/m"


def test_a_slide_that_fits_is_never_cut_in_two() -> None:
    presentation = Presentation()
    for number in range(4):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Slide of number {number}"
        slide.placeholders[1].text_frame.text = "\n".join(f"item {line} has five words" for line in range(14))
    result = parsed(presentation)
    ends = ends_within(result.text, result.blocks)
    document = Document("d1", "", result.text, ends, ("a.pptx",), blocks=result.blocks)
    found = [unit.text for unit in passages(document, PassageLimits(100, 0))]
    assert [text.partition("\n")[0] for text in found] == [f"Slide of number {number}" for number in range(4)]


def test_a_missing_slide_and_damaged_notes_leave_the_rest() -> None:
    deck = Presentation()
    for text in ("The captain is Yara Bloom.", "The cook is Ben Arlo."):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = text
        slide.notes_slide.notes_text_frame.text = f"Say it: {text}"
    deck.part.rels.pop(deck.slides._sldIdLst[1].rId)
    slide = deck.slides[0]
    slide.notes_slide._element.remove(slide.notes_slide._element.cSld)
    result = parsed(deck)
    assert [block.place for block in result.blocks] == ["slide 1"]
    assert result.notes[0] == "1 slides are missing"
    assert result.notes[1].startswith("slide 1: its notes were not read")
