"""Tables on a PDF page: drawn ones with merged cells, ones without lines whose cells have several lines, and forms."""

from __future__ import annotations

from collections.abc import Sequence

from documents.block_lines import block_lines
from documents.file_makers import Placed, column, placed_pdf
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.pdf.parser import parse_pdf

Rule = tuple[float, float, float, float]
Line = tuple[float, Sequence[str]]


def placed(xs: Sequence[float], y: float, lines: Sequence[Line], bold: int = 1, size: float = 10) -> list[Placed]:
    """Lines of cells, each with its distance from the one before; the first ones are bold."""
    page = []
    for number, (gap, cells) in enumerate(lines):
        y -= gap
        font = "F2" if number < bold else "F1"
        page += [Placed(x, y, text, size, font) for x, text in zip(xs, cells, strict=False) if text]
    return page


def shown(page: Sequence[Placed], rules: Sequence[Rule] = ()) -> list[str]:
    lines = block_lines(parse_pdf(placed_pdf([page], rules), DEFAULT_LIMITS)).splitlines()
    return [line.split(" | ")[-1] for line in lines if not line.startswith("title: ")]


def drawn(xs: Sequence[float], ys: Sequence[float]) -> list[Rule]:
    """The lines of a grid."""
    across, down = [(xs[0], y, xs[-1], y) for y in ys], [(x, ys[0], x, ys[-1]) for x in xs]
    return [*across, *down]


def test_cells_of_several_lines_are_one_in_tables_without_lines() -> None:
    wrapped = placed(
        (60, 150, 270),
        700,
        [
            (0, ("Berth", "Holder of the berth", "Term")),
            (22, ("North quay,", "Runa Hale and her", "Yearly, until")),
            (12, ("inner side", "brother Odd Hale", "March")),
            (22, ("South quay,", "The rowing club of", "Five years,")),
            (12, ("outer side", "the lower town", "then two")),
        ],
    )
    assert shown(wrapped) == [
        "Berth ¦ Holder of the berth ¦ Term",
        "Berth=North quay, inner side ¦ Holder of the berth=Runa Hale and her brother Odd Hale ¦ Term=Yearly, until March",
        "Berth=South quay, outer side ¦ Holder of the berth=The rowing club of the lower town ¦ Term=Five years, then two",
    ]
    middle = placed(
        (60, 160, 260),
        700,
        [
            (0, ("Berth", "Holder", "Fee")),
            (20, ("North quay, the",)),
            (6, ("", "Runa Hale", "120")),
            (6, ("inner side of it",)),
            (20, ("South quay, all",)),
            (6, ("", "Otto Prem", "90")),
            (6, ("beyond the lamp",)),
            (20, ("Mole", "Odd Hale", "60")),
        ],
    )
    assert shown(middle) == [
        "Berth ¦ Holder ¦ Fee",
        "Berth=North quay, the inner side of it ¦ Holder=Runa Hale ¦ Fee=120",
        "Berth=South quay, all beyond the lamp ¦ Holder=Otto Prem ¦ Fee=90",
        "Berth=Mole ¦ Holder=Odd Hale ¦ Fee=60",
    ]
    names = placed(
        (60, 160, 280),
        700,
        [
            (0, ("Berth", "Depth of", "Largest")),
            (12, ("name", "water (m)", "ship (m)")),
            (20, ("North", "4.2", "80")),
            (14, ("South", "3.1", "45")),
            (14, ("Mole", "2.0", "12")),
        ],
        bold=0,
    )
    assert shown(names)[:2] == [
        "Berth name ¦ Depth of water (m) ¦ Largest ship (m)",
        "Berth name=North ¦ Depth of water (m)=4.2 ¦ Largest ship (m)=80",
    ]
    groups = placed(
        (60, 160, 280),
        700,
        [
            (0, ("Berth", "Holder", "Fee")),
            (24, ("North quay", "Runa Hale", "120")),
            (12, ("North bank", "Odd Hale", "90")),
            (24, ("South quay", "Otto Prem", "70")),
            (12, ("South bank", "", "45")),
        ],
    )
    assert shown(groups)[1:] == [
        "Berth=North quay ¦ Holder=Runa Hale ¦ Fee=120",
        "Berth=North bank ¦ Holder=Odd Hale ¦ Fee=90",
        "Berth=South quay ¦ Holder=Otto Prem ¦ Fee=70",
        "Berth=South bank ¦ Fee=45",
    ]


def test_labels_over_values_may_have_several_lines_and_values_may_be_empty() -> None:
    xs = (60, 200, 340)
    labels = placed(
        xs, 700, [(0, ("Name of the", "Number of", "Telephone")), (9, ("insured", "the policy", "by day"))], 2, 8
    )
    page = [*labels, *placed(xs, 679, [(0, ("Ola Lund", "POL-2022", "425 111"))], 0)]
    assert shown(page) == [
        "Name of the insured ¦ Number of the policy ¦ Telephone by day",
        "Name of the insured=Ola Lund ¦ Number of the policy=POL-2022 ¦ Telephone by day=425 111",
    ]
    page = [
        *placed(xs, 700, [(0, ("Name", "Telephone", "Born")), (35, ("Street", "Town", "Country"))], 0, 7),
        *placed(xs, 687, [(0, ("Ola Lund", "", "9 June 1979")), (35, ("Quay 4", "Bergen", ""))], 0, 11),
    ]
    assert shown(page) == [
        "Name ¦ Telephone ¦ Born",
        "Name=Ola Lund ¦ Born=9 June 1979",
        "Street ¦ Town ¦ Country",
        "Street=Quay 4 ¦ Town=Bergen",
    ]


def test_merged_cells_of_a_drawn_table() -> None:
    """A title and names across columns, a cell over two rows, and rows without upright lines."""
    xs = (60, 140, 220, 300, 380)
    across: list[Rule] = [(60, y, 380, y) for y in (700, 680, 640, 620, 600)]
    rules = [*across, (140, 660, 380, 660), (60, 600, 60, 700), (380, 600, 380, 700)]
    rules += [(140, 640, 140, 680), (220, 640, 220, 660), (300, 640, 300, 680)]
    page = placed(
        (65, 145, 225, 305),
        686,
        [
            (0, ("Table of the catches of pig fish in the two years",)),
            (20, ("", "2007", "", "2006")),
            (10, ("Country",)),
            (10, ("", "N", "% ill", "N")),
            (20, ("Austria", "109", "0.9", "93")),
            (20, ("Spain", "36", "0", "40")),
        ],
        0,
    )
    assert shown(page, rules) == [
        "Table of the catches of pig fish in the two years",
        "Country ¦ 2007 ¦ 2006",
        "Country ¦ N ¦ % ill ¦ N",
        "Country=Austria ¦ 2007 N=109 ¦ 2007 % ill=0.9 ¦ 2006 N=93",
        "Country=Spain ¦ 2007 N=36 ¦ 2007 % ill=0 ¦ 2006 N=40",
    ]
    rules = [*drawn(xs[:4], (700, 680, 640)), (140, 660, 300, 660)]
    rows: list[Line] = [(0, ("Region", "Office", "Rent")), (20, ("North", "Oslo", "310")), (20, ("", "Alta", "90"))]
    assert shown(placed((65, 145, 225), 686, rows), rules)[1:] == [
        "Region=North ¦ Office=Oslo ¦ Rent=310",
        "Region=North ¦ Office=Alta ¦ Rent=90",
    ]
    sides = (60, 130, 200, 270, 340, 410, 480, 550)
    rules = [*drawn((*sides[:6], 550), (700, 660, 640, 620)), (410, 680, 550, 680), (480, 620, 480, 680)]
    page = placed(
        [x + 5 for x in sides],
        686,
        [
            (0, ("", "", "", "", "", "Score")),
            (10, ("Pupil", "Age", "Class", "Town", "Days")),
            (10, ("", "", "", "", "", "Maths", "Art")),
            (20, ("Ida", "14", "8b", "Bergen", "180", "5", "2")),
            (20, ("Ola", "15", "9a", "Oslo", "175", "4", "6")),
        ],
    )
    assert shown(page, rules)[-1].endswith("Days=175 ¦ Score Maths=4 ¦ Score Art=6")


def test_a_list_in_a_drawn_row_gives_rows_and_a_table_may_be_open_at_its_sides() -> None:
    rows: list[Line] = [(0, ("Customer", "Data")), (20, ("Insured name", "Gabriel Diaz")), (12, ("Claim", "SF-1008"))]
    rows += [(12, ("Phone", "425 111-1111"))]
    expected = [
        "Insured name ¦ Gabriel Diaz",
        "Claim ¦ SF-1008",
        "Phone ¦ 425 111-1111",
    ]
    assert shown(placed((65, 205), 686, rows), drawn((60, 200, 340), (700, 680, 630)))[1:] == expected
    rules: list[Rule] = [
        *((60.0, y, 380.0, y) for y in (700, 680, 660, 640)),
        (160, 640, 160, 700),
        (260, 640, 260, 700),
    ]
    page = placed(
        (65, 165, 265), 686, [(0, ("Layers", "Kind", "Time")), (20, ("6", "Old", "2.7")), (20, ("4", "New", "1.9"))]
    )
    assert shown(page, rules)[1:] == ["Layers=6 ¦ Kind=Old ¦ Time=2.7", "Layers=4 ¦ Kind=New ¦ Time=1.9"]


def test_a_table_across_two_columns_of_prose_and_one_beside_none() -> None:
    left = ["The mill stands at the lower end of the", "valley, where the brook is deep enough."] * 3
    right = ["The abbey used the money for a new roof,", "which still keeps the rain out of the nave."] * 3
    rows: list[Line] = [(0, ("Mill", "Built", "Wheel", "Power")), (14, ("Lower mill", "1640", "3.2 m", "4 kW"))]
    rows += [(14, ("Upper mill", "1702", "2.8 m", "3 kW")), (14, ("Abbey mill", "1588", "4.0 m", "6 kW"))]
    above = [*column(60, 740, left), *column(320, 740, right)]
    below = [*column(60, 560, left), *column(320, 560, right)]
    text = [" ".join(left), " ".join(right)]
    assert shown([*above, *placed((60, 210, 340, 470), 640, rows), *below]) == [
        *text,
        "Mill ¦ Built ¦ Wheel ¦ Power",
        "Mill=Lower mill ¦ Built=1640 ¦ Wheel=3.2 m ¦ Power=4 kW",
        "Mill=Upper mill ¦ Built=1702 ¦ Wheel=2.8 m ¦ Power=3 kW",
        "Mill=Abbey mill ¦ Built=1588 ¦ Wheel=4.0 m ¦ Power=6 kW",
        *text,
    ]
    rows = [(0, ("Plot", "Holder", "Remarks"))]
    for number, name in enumerate(("Ada Brandt", "Tom Ekholm", "Lea Strand", "Odd Hale"), 1):
        rows += [
            (18, (f"Plot {number}", name, f"Fee {number} crowns, paid in the month")),
            (12, ("", "", "of May to the treasurer")),
        ]
    assert shown(placed((60, 130, 230), 700, rows))[1:3] == [
        "Plot=Plot 1 ¦ Holder=Ada Brandt ¦ Remarks=Fee 1 crowns, paid in the month of May to the treasurer",
        "Plot=Plot 2 ¦ Holder=Tom Ekholm ¦ Remarks=Fee 2 crowns, paid in the month of May to the treasurer",
    ]


def test_a_cell_may_reach_into_an_empty_one_and_tables_may_stand_beside_each_other_at_other_heights() -> None:
    rows: list[Line] = [(0, ("Part", "Work", "Cost")), (20, ("Bumper replacement and paint", "", "420"))]
    rows += [(20, ("Door", "Repair of all dents", "180"))]
    assert shown(placed((65, 135, 225), 686, rows), drawn((60, 130, 220, 300), (700, 680, 660, 640)))[1:] == [
        "Part=Bumper replacement and paint ¦ Cost=420",
        "Part=Door ¦ Work=Repair of all dents ¦ Cost=180",
    ]
    rows = [(0, ("Berth", "Holder")), (22, ("North quay,", "Runa Hale and")), (12, ("inner side", "her brother"))]
    rows += [(22, ("South quay,", "The rowing club")), (12, ("outer side", "of the town")), (22, ("Mole", "Odd Hale"))]
    table = [
        "Berth ¦ Holder",
        "Berth=North quay, inner side ¦ Holder=Runa Hale and her brother",
        "Berth=South quay, outer side ¦ Holder=The rowing club of the town",
        "Berth=Mole ¦ Holder=Odd Hale",
    ]
    assert shown([*placed((60, 140), 700, rows), *placed((330, 410), 694, rows)]) == [*table, *table]
