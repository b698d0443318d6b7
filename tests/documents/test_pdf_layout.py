"""The positions of text on a PDF page determine reading order, headings, paragraphs, list items, code and tables."""

from __future__ import annotations

from collections.abc import Sequence

from documents.block_lines import block_lines
from documents.file_makers import Placed, column, pdf_of, pdf_with_contents, placed_pdf, stream, text_pdf
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.pdf.parser import parse_pdf

LEFT = [
    "The harbour was built in the years when",
    "ships came from the islands with salt and",
    "herring. Its first quay was made of wood,",
    "and it burnt down in the war. The mer-",
    "chants of the town paid for a new one,",
    "which was made of stone from the island",
]
RIGHT = [
    "and is still there. The council wants to",
    "make it longer by twenty metres, because",
    "the ferries of today need more room to",
    "turn. The work begins in the spring and",
    "will take two summers. Until then boats",
    "lie at the old pier beside the market.",
]


def lines_of(pages: list[list[Placed]], rules: list[tuple[float, float, float, float]] | None = None) -> list[str]:
    return block_lines(parse_pdf(placed_pdf(pages, rules or []), DEFAULT_LIMITS)).splitlines()


def interleaved() -> list[Placed]:
    """Two columns, drawn line by line across both, under a title across both."""
    left, right = column(60, 700, LEFT), column(320, 700, RIGHT)
    both = [piece for pair in zip(left, right, strict=True) for piece in pair]
    return [Placed(150, 740, "The harbour and its quay in the old town", 16), *both]


def test_columns_are_read_one_after_the_other_and_words_are_whole() -> None:
    title, heading, paragraph = lines_of([interleaved()])
    assert title == "title: The harbour and its quay in the old town"
    assert heading == "heading 1 |  | page 1 | The harbour and its quay in the old town"
    text = paragraph.rpartition(" | ")[2]
    assert text == " ".join([*LEFT, *RIGHT]).replace("mer- chants", "merchants")


def test_a_title_ends_where_the_first_heading_begins() -> None:
    """What the metadata or the outline names is a heading by itself, however alike and near the next one is."""
    below = column(60, 600, LEFT)
    large = [Placed(60, 740, "Survey of", 18), Placed(60, 720, "the chapel", 18), Placed(60, 700, "Roof", 18)]
    unlike = [Placed(60, 740, "Survey of the chapel", 18), Placed(60, 718, "Roof", 14)]
    for head, title, outlined in ((large, "Survey of the chapel", ""), (large, "", "Roof"), (unlike, "", "Roof")):
        data = placed_pdf([[*head, *below]], title=title, outlined=outlined)
        lines = block_lines(parse_pdf(data, DEFAULT_LIMITS)).splitlines()
        assert [line.rpartition(" | ")[2] for line in lines[:3]] == [
            "title: Survey of the chapel",
            "Survey of the chapel",
            "Roof",
        ]


def test_a_list_of_contents_in_a_column_is_read_before_the_next_column() -> None:
    entries = ["The old quay", "Its owners", "The war", "A new quay", "Its use today"]
    contents = [
        Placed(x, 700 - 12 * row, part)
        for row, entry in enumerate(entries, 1)
        for x, part in ((60, f"{row}.1"), (90, entry), (170, ". . ."), (200, ". . ."), (230, ". . ."), (270, str(row)))
    ]
    lines = lines_of(
        [[*contents, *column(60, 600, LEFT), *column(320, 688, ["north", "south", "east", "west", "sea", *RIGHT])]]
    )
    expected = [f"{row}.1 {entry} … {row}" for row, entry in enumerate(entries, 1)]
    assert [line.split(" | ")[-1] for line in lines[:5]] == expected
    assert lines[5].split(" | ")[-1].startswith(LEFT[0])


def test_a_hyphen_stays_if_the_document_has_the_hyphenated_word() -> None:
    lines = [
        "A well-known rope was sold on the market by the well-",
        "known trader of the harbour, who is a non-",
        "smoker.",
    ]
    assert lines_of([column(60, 700, lines)])[0].endswith(
        "by the well-known trader of the harbour, who is a nonsmoker."
    )


def test_running_heads_and_page_numbers_are_left_out() -> None:
    pages = [
        [
            Placed(60, 760, f"{number} Harbour report 2024" if number % 2 else f"Harbour report 2024 {number}", 9),
            *column(60, 700, [f"Page text {word} stands here.", "It ends here."]),
            Placed(300, 40, f"Page {number} of 4", 9),
        ]
        for number, word in enumerate(["one", "two", "three", "four"], 1)
    ]
    assert lines_of(pages) == [
        f"paragraph |  | page {number} | Page text {word} stands here. It ends here."
        for number, word in enumerate(["one", "two", "three", "four"], 1)
    ]


def test_what_a_browser_writes_at_the_edges_of_a_page_is_left_out() -> None:
    edges = [
        (36, 770, "11/30/26, 1:20 AM"),
        (300, 770, "Invoice"),
        (36, 20, "https://example.org/invoice"),
        (540, 20, "1/1"),
    ]
    page = [*(Placed(x, y, text, 8) for x, y, text in edges), Placed(72, 740, "Invoice 12", 24)]
    page += column(72, 700, ["The rope is paid by April.", "The sail is paid by May."])
    assert [line.split(" | ")[-1] for line in lines_of([page])] == [
        "title: Invoice 12",
        "Invoice 12",
        "The rope is paid by April. The sail is paid by May.",
    ]


def test_a_paragraph_continues_after_a_page_break_and_a_footnote() -> None:
    first = column(60, 700, [*LEFT[:3], "and it burnt down in the long war of the"])
    note = [Placed(60, 60, "1 So the chronicle says.", 7)]
    second = column(60, 700, ["northern kings.", "", "A new one was made of stone and was longer."])
    assert lines_of([[*first, *note], second]) == [
        f"paragraph |  | page 1 | {' '.join(LEFT[:3])} and it burnt down in the long war of the northern kings.",
        "paragraph |  | page 1 | 1 So the chronicle says.",
        "paragraph |  | page 2 | A new one was made of stone and was longer.",
    ]


def test_sizes_and_bold_lines_make_headings() -> None:
    page = [
        Placed(60, 740, "Harbour rules", 20),
        Placed(60, 710, "1 Berths", 14),
        *column(60, 690, LEFT[:3]),
        Placed(60, 640, "Fees", 10, "F2"),
        *column(60, 626, LEFT[3:]),
    ]
    assert [line.split(" | ")[0] + ": " + line.rpartition(" | ")[2][:12] for line in lines_of([page])[1:]] == [
        "heading 1: Harbour rule",
        "heading 2: 1 Berths",
        "paragraph: The harbour ",
        "heading 3: Fees",
        "paragraph: and it burnt",
    ]


def test_list_items_lose_their_bullets_and_know_their_depth() -> None:
    page = [
        *column(60, 700, ["Bring these things:"]),
        Placed(70, 686, "•"),
        *column(82, 686, ["rope that is long enough to reach from the deck", "to the quay"]),
        Placed(90, 662, "–"),
        Placed(102, 662, "thin rope"),
        Placed(70, 650, "•"),
        Placed(82, 650, "oil"),
        Placed(60, 626, "1. Ring the bell."),
        Placed(60, 614, "2. Close the gate."),
    ]
    assert lines_of([page]) == [
        "paragraph |  | page 1 | Bring these things:",
        "item 1 |  | page 1 | rope that is long enough to reach from the deck to the quay <- Bring these things:",
        "item 2 |  | page 1 | thin rope <- rope that is long enough to reach from the deck to the quay",
        "item 1 |  | page 1 | oil <- Bring these things:",
        "item 1 ordered |  | page 1 | 1. Ring the bell. <- Bring these things:",
        "item 1 ordered |  | page 1 | 2. Close the gate. <- Bring these things:",
    ]


def test_code_keeps_its_lines_and_indents() -> None:
    page = [
        *column(60, 700, ["Run this:"]),
        *column(60, 676, ["if bell:"], font="F3"),
        *column(84, 664, ["ring()"], font="F3"),
    ]
    page.append(Placed(150, 664, "# twice", font="F3"))
    assert lines_of([page])[1] == r"code |  | page 1 | if bell:\n    ring()     # twice"


def test_a_ruled_table_gives_rows_and_cells_of_several_lines() -> None:
    xs, ys = (60, 160, 300), (700, 680, 640, 620)
    rules = [(60.0, float(y), 300.0, float(y)) for y in ys] + [(float(x), 620.0, float(x), 700.0) for x in xs]
    cells = [(65, 686, "Ship"), (165, 686, "Fee"), (65, 666, "Ferry"), (65, 652, "Aurora"), (165, 666, "1,200 EUR")]
    page = [Placed(*cell) for cell in [*cells, (65, 626, "Tug Bruno"), (165, 626, "150 EUR")]]
    assert lines_of([[*page, Placed(60, 580, "That is all.")]], rules) == [
        "row header |  | page 1 | Ship ¦ Fee",
        "row |  | page 1 | Ship=Ferry Aurora ¦ Fee=1,200 EUR",
        "row |  | page 1 | Ship=Tug Bruno ¦ Fee=150 EUR",
        "paragraph |  | page 1 | That is all.",
    ]


def test_a_ruled_table_close_below_a_line_of_text_is_read() -> None:
    xs, ys = (60, 160, 300), (700, 680, 660)
    rules = [(60.0, float(y), 300.0, float(y)) for y in ys] + [(float(x), 660.0, float(x), 700.0) for x in xs]
    cells = [(65, 686, "Ship"), (165, 686, "Fee"), (65, 666, "Ferry"), (165, 666, "1,200 EUR")]
    page = [Placed(40, 701, "These are the fees of the year:"), *(Placed(*cell) for cell in cells)]
    assert lines_of([page], rules) == [
        "paragraph |  | page 1 | These are the fees of the year:",
        "row header |  | page 1 | Ship ¦ Fee",
        "row |  | page 1 | Ship=Ferry ¦ Fee=1,200 EUR",
    ]


def test_aligned_columns_are_a_table() -> None:
    rows = [
        ("Ship", "Length", "Fee"),
        ("Ferry", "82 m", "1,200 EUR"),
        ("Tug", "19 m", "150 EUR"),
        ("Yacht", "9 m", "40 EUR"),
    ]
    page = [
        Placed(x, 700 - 14 * y, cell) for y, row in enumerate(rows) for x, cell in zip((60, 160, 260), row, strict=True)
    ]
    assert lines_of([page])[:2] == [
        "row header |  | page 1 | Ship ¦ Length ¦ Fee",
        "row |  | page 1 | Ship=Ferry ¦ Length=82 m ¦ Fee=1,200 EUR",
    ]


def test_lines_that_begin_with_the_same_mark_are_no_table() -> None:
    page = [piece for n in range(3) for piece in (Placed(60, 700 - 12 * n, "#"), Placed(84, 700 - 12 * n, LEFT[n]))]
    assert [line.split(" | ")[0] for line in lines_of([page])] == ["paragraph"]


def test_a_cell_may_continue_below_and_a_rule_of_dashes_is_no_text() -> None:
    rows = [
        (700, "Name", "Meaning"),
        (688, "-" * 20, "-" * 30),
        (676, "Rope", "what ties a ship to the"),
        (664, "", "quay"),
    ]
    rows += [(652, "Buoy", "what floats"), (640, "Bell", "what rings")]
    page = [Placed(x, y, cell) for y, *cells in rows for x, cell in zip((60, 200), cells, strict=True) if cell]
    assert lines_of([page]) == [
        "row header |  | page 1 | Name ¦ Meaning",
        "row |  | page 1 | Name=Rope ¦ Meaning=what ties a ship to the quay",
        "row |  | page 1 | Name=Buoy ¦ Meaning=what floats",
        "row |  | page 1 | Name=Bell ¦ Meaning=what rings",
    ]


def test_the_first_cell_may_continue_below_if_the_next_row_is_further_off() -> None:
    rows = [(700, ("Berth", "Length", "Fee")), (682, ("North quay,", "82 m", "1,200 EUR")), (670, ("inner side",)),
            (652, ("South", "19 m", "150 EUR")), (634, ("Old pier,", "9 m", "40 EUR")), (622, ("by the market", "at most")),
            (604, ("East", "12 m", "70 EUR"))]  # fmt: skip
    page = [Placed(x, y, cell) for y, row in rows for x, cell in zip((60, 160, 260), row, strict=False)]
    assert [line.rpartition(" | ")[2] for line in lines_of([page])] == [
        "Berth ¦ Length ¦ Fee",
        "Berth=North quay, inner side ¦ Length=82 m ¦ Fee=1,200 EUR",
        "Berth=South ¦ Length=19 m ¦ Fee=150 EUR",
        "Berth=Old pier, by the market ¦ Length=9 m at most ¦ Fee=40 EUR",
        "Berth=East ¦ Length=12 m ¦ Fee=70 EUR",
    ]


def test_a_table_continues_on_the_next_page_with_the_same_headers() -> None:
    header = [Placed(60, 700, "Ship"), Placed(160, 700, "Fee")]
    rows = [
        [Placed(60, 686 - 14 * n, f"Boat {'abcdef'[n]}"), Placed(160, 686 - 14 * n, f"{n + 3} EUR")] for n in range(3)
    ]
    body = [piece for row in rows for piece in row]
    lines = lines_of([[*header, *body], [*header, *body]])
    assert [line.split(" | ")[0] for line in lines] == ["row header", "row", "row", "row", "row", "row", "row"]
    assert lines[-1] == "row |  | page 2 | Ship=Boat c ¦ Fee=5 EUR"


def test_numbers_of_lines_are_left_out_and_a_hyphen_joins_what_follows() -> None:
    spoken = [
        "and I was in the mill with Mr Jean-",
        "Luc Crane, who had one key to the",
        "lower store. He left it open at ten",
    ]
    first, last = [*spoken * 5, spoken[0]], [*spoken[1:], *spoken, "and went away."]
    text = " ".join(line.split(" | ")[-1] for line in lines_of([numbered(first), numbered(last)]))
    assert text == " ".join([*first, *last]).replace("Jean- ", "Jean-")
    for listed in (
        ["python", "java", "rust", "perl"] * 5,
        ["the seller shall deliver the goods", "the buyer pays"] * 9,
    ):
        rows = [line.split(" | ")[-1] for line in lines_of([numbered(listed)])]
        assert rows == [f"{number} ¦ {text}" for number, text in enumerate(listed, 1)]


def numbered(lines: Sequence[str]) -> list[Placed]:
    return [
        piece
        for number, text in enumerate(lines)
        for piece in (Placed(60, 700 - 12 * number, str(number + 1)), Placed(90, 700 - 12 * number, text))
    ]


def test_words_that_run_together_are_noted() -> None:
    glued = "Theharbourwasbuiltintheyearswhenshipscamefromtheislandswithsaltandherring"
    assert parse_pdf(text_pdf([[glued], ["This page is as it should be."]]), DEFAULT_LIMITS).notes == (
        "words run together on page 1: export the file anew",
    )


def test_a_rotated_page_is_read_like_an_upright_one() -> None:
    """Each line runs upwards, and the next line is to its right, as on a page to be rotated clockwise."""
    lines = [f"BT /F1 10 Tf 0 1 -1 0 {100 + 12 * number} 100 Tm ({line}) Tj ET" for number, line in enumerate(LEFT[:3])]
    stamp = "BT /F1 10 Tf 30 30 Td (Copy) Tj ET"
    parsed = parse_pdf(pdf_with_contents([stream(" ".join([*lines, stamp]).encode())]), DEFAULT_LIMITS)
    assert " ".join(LEFT[:3]) in " ".join(parsed.text.split())
    assert "Copy" in parsed.text


def test_raised_and_lowered_text_stays_in_its_line_and_apart_from_numbers() -> None:
    page = [
        *(Placed(60, 700, "The area is 20 m"), Placed(134, 704, "2", 6), Placed(137.5, 700, ", and 30")),
        *(Placed(175, 704, "3", 6), Placed(181, 700, "men drink H"), Placed(235, 697, "2", 6), Placed(239, 700, "O.")),
    ]
    assert lines_of([page]) == ["paragraph |  | page 1 | The area is 20 m² , and 30[3] men drink H₂O."]


def test_each_sentence_has_the_page_on_which_it_begins() -> None:
    first_lines = ["The water butt belongs to plot 18 and is", "bedded in the concrete of the old yard, which is"]
    first = column(60, 700, first_lines)
    second = column(
        60, 700, ["owned by the town. The pump is new and was", "bought by the club of the gardeners last year."]
    )
    assert lines_of([first, second]) == [
        "paragraph |  | page 1 | " + " ".join((*first_lines, "owned by the town.")),
        "paragraph |  | page 2 | The pump is new and was bought by the club of the gardeners last year.",
    ]


def test_a_notice_of_copyright_is_no_part_of_the_text_before_it() -> None:
    page = column(
        60, 700, ["The water butt belongs to plot 18 and is in the yard", "© 2024 Gannet Ltd. All rights reserved."]
    )
    assert [line.split(" | ")[-1] for line in lines_of([page])][1:] == ["© 2024 Gannet Ltd. All rights reserved."]


def test_what_was_filled_in_and_noted_is_read_beside_its_label() -> None:
    content = b"BT /F1 10 Tf 60 700 Td (Name:) Tj 0 -30 Td (    Wants a shed) Tj 0 -30 Td (    Wants a pond) Tj"
    content += b" 0 -60 Td (Town) Tj 0 -30 Td (Street) Tj 0 -30 Td (Land) Tj ET"
    widget = b"<< /Type /Annot /Subtype /Widget /FT /%s /T (%s) /Rect [%s] /F 4 %s >>"
    shown_with = b"/Annots [6 0 R 7 0 R 8 0 R 9 0 R 11 0 R 12 0 R 13 0 R 14 0 R] /Resources << /Font << /F1 3 0 R >> >>"
    boxes = b"/AP << /N << /Yes 10 0 R /Off 10 0 R >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R 7 0 R 8 0 R 12 0 R 13 0 R 14 0 R] >> >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R %s >>" % shown_with,
        stream(content),
        widget % (b"Tx", b"name", b"95 696 240 712", b"/V (Godric Pale)"),
        widget % (b"Btn", b"shed", b"55 667 67 679", b"/V /Yes /AS /Yes " + boxes),
        widget % (b"Btn", b"pond", b"55 637 67 649", b"/V /Off /AS /Off " + boxes),
        b"<< /Type /Annot /Subtype /Text /Rect [500 700 520 720] /T (Ann) /Contents (Call Mr Ott before Friday) >>",
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 12 12] /Length 0 >>\nstream\n\nendstream",
        b"<< /Type /Annot /Subtype /Highlight /Rect [60 690 90 710] /Contents (Check the name) >>",
        *(
            widget % (b"Tx", b"w%d" % y, b"160 %d 240 %d" % (y - 4, y + 12), b"/V (Oslo %d)" % y)
            for y in (580, 550, 520)
        ),
    ]
    shown = [line.split(" | ")[-1] for line in block_lines(parse_pdf(pdf_of(objects), DEFAULT_LIMITS)).splitlines()]
    assert shown[:3] == ["Name: Godric Pale", "☑ Wants a shed", "☐ Wants a pond"]
    note = "Note by Ann: Call Mr Ott before Friday"
    assert shown[3:] == ["Town ¦ Oslo 580", "Street ¦ Oslo 550", "Land ¦ Oslo 520", note, "Note: Check the name"]


def test_a_table_with_empty_cells_keeps_its_columns() -> None:
    lefts = (60, 160, 260, 360)
    rows = [("Product", "Place", "Expected", "Actual"), ("SKU-8847", "A-12", "450", ""), ("", "B-07", "", "289")]
    rows += [("SKU-9201", "", "780", "778"), ("SKU-4563", "D-22", "", "180")]
    page = [
        Placed(left, 700 - 20 * number, text, font="F1" if number else "F2")
        for number, row in enumerate(rows)
        for left, text in zip(lefts, row, strict=True)
        if text
    ]
    assert [line.split(" | ")[-1] for line in lines_of([page])] == [
        "Product ¦ Place ¦ Expected ¦ Actual",
        "Product=SKU-8847 ¦ Place=A-12 ¦ Expected=450",
        "Place=B-07 ¦ Actual=289",
        "Product=SKU-9201 ¦ Expected=780 ¦ Actual=778",
        "Product=SKU-4563 ¦ Place=D-22 ¦ Actual=180",
    ]


def grid(
    xs: tuple[float, ...], y: float, rows: Sequence[tuple[str, ...]], step: float = 14, size: float = 10
) -> list[Placed]:
    return [
        Placed(x, y - step * number, text, size)
        for number, row in enumerate(rows)
        for x, text in zip(xs, row, strict=True)
    ]


def shown(page: list[Placed]) -> list[str]:
    return [" | ".join((line.split(" | ")[0], line.split(" | ")[-1])) for line in lines_of([page])]


def test_a_table_with_narrow_gaps_has_its_columns_and_code_has_none() -> None:
    rows = [("Invoice", "Customer", "Amount"), ("INV-301", "Ada Brandt", "1,250.00")]
    rows += [("INV-302", "Tom Ekholm", "75.40"), ("INV-303", "Lea Strand", "310.00")]
    assert shown(grid((60, 104, 170), 700, rows)) == [
        "row header | Invoice ¦ Customer ¦ Amount",
        "row | Invoice=INV-301 ¦ Customer=Ada Brandt ¦ Amount=1,250.00",
        "row | Invoice=INV-302 ¦ Customer=Tom Ekholm ¦ Amount=75.40",
        "row | Invoice=INV-303 ¦ Customer=Lea Strand ¦ Amount=310.00",
    ]
    page = grid((60, 104), 700, [("Invoice", "of May"), ("Notes,", "which"), ("nobody", "reads.")])
    page[2:4] = [Placed(60, 686, "Notes, of all kinds which")]
    assert shown(page) == ["paragraph | Invoice of May Notes, of all kinds which nobody reads."]


def test_labels_of_a_form_stand_over_their_values() -> None:
    pairs = [(("Name", "Born"), ("Ola Lund", "9 June 1979")), (("Street", "Town"), ("Quay 4", "Bergen"))]
    expected = [
        "row header | Name ¦ Born",
        "row | Name=Ola Lund ¦ Born=9 June 1979",
        "row header | Street ¦ Town",
        "row | Street=Quay 4 ¦ Town=Bergen",
    ]
    by_gap = [piece for number, pair in enumerate(pairs) for piece in grid((60, 260), 700 - 40 * number, [*pair], 12)]
    by_size = [
        piece
        for number, (labels, values) in enumerate(pairs)
        for piece in (
            *grid((60, 260), 700 - 28 * number, [labels], size=8),
            *grid((60, 260), 686 - 28 * number, [values]),
        )
    ]
    assert shown(by_gap) == shown(by_size) == expected
    assert shown(by_size[:4]) == expected[:2]


def test_columns_of_labels_beside_values_are_read_one_after_the_other() -> None:
    rows = [("Name:", "Ola Lund", "Name:", "Petra Vik"), ("Town:", "Bergen", "Town:", "Oslo")]
    fields = grid((60, 120, 320, 380), 700, rows)
    assert shown([*grid((60, 320), 716, [("Seller", "Buyer")]), *fields]) == [
        "row | Seller ¦ Name: ¦ Ola Lund",
        "row | Seller ¦ Town: ¦ Bergen",
        "row | Buyer ¦ Name: ¦ Petra Vik",
        "row | Buyer ¦ Town: ¦ Oslo",
    ]
    assert [line.partition(" | ")[2] for line in shown(fields)] == [
        "Name: ¦ Ola Lund",
        "Town: ¦ Bergen",
        "Name: ¦ Petra Vik",
        "Town: ¦ Oslo",
    ]


def test_columns_whose_lines_stand_at_other_heights_are_read_one_after_the_other() -> None:
    left = [("Name:", "Ola Lund"), ("Street:", "Quay 4"), ("Town:", "Bergen")]
    right = [("Terms:", "Net 30"), ("Share:", "10 percent"), ("Agent:", "Petra Vik")]
    page = [*grid((60, 120), 700, left, 12), *grid((320, 380), 694, right, 12)]
    assert [line.partition(" | ")[2] for line in shown(page)] == [
        f"{label} ¦ {value}" for label, value in [*left, *right]
    ]
