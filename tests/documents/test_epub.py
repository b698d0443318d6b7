"""EPUB books are read in the order of their spine; broken, protected and hostile ones are refused with a reason."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.epub import parse_epub
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable

CONTAINER = (
    '<?xml version="1.0"?><container><rootfiles><rootfile full-path="book/content.opf"/></rootfiles></container>'
)
PACKAGE = """<?xml version="1.0"?><package><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title/>{metadata}</metadata>
<manifest><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/><item id="b" href="../c.xhtml#top"
media-type="application/xhtml+xml"/><item id="p" href="p.png" media-type="image/png"/></manifest>
<spine><itemref idref="b"/><itemref idref="p"/><itemref idref="a"/><itemref idref="none"/></spine></package>"""
HEAD = '<head><title/><script src="x.js"/></head>'
PAGE = f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">{HEAD}<body>{{}}</body></html>'
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "book/content.opf": PACKAGE.format(metadata="<dc:date>1850</dc:date>"),
    "c.xhtml": PAGE.format('<h1 id="top"/><a id="x"/><h1>First</h1><p>One.<br/>Two.</p><div/>'),
    "book/a b.xhtml": PAGE.format("<p>Last &eacute;.</p>"),
}


def book(members: Mapping[str, str] = BOOK) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def parse_members(members: Mapping[str, str]) -> Parsed:
    return parse_epub(book(members), DEFAULT_LIMITS)


def test_parts_are_read_in_order() -> None:
    document = parse_members(BOOK)
    assert document.text == "First\n\nOne.\nTwo.\n\nLast é."
    assert [block.place for block in document.blocks] == ["part 1, line 1", "part 1, line 1", "part 2, line 1"]
    assert (document.title, document.date, document.date_from, document.notes) == ("First", "1850", "book metadata", ())


@pytest.mark.parametrize("listing", ["ncx", "nav"])
def test_a_part_without_a_heading_has_the_name_in_the_contents(listing: str) -> None:
    item = {
        "ncx": '<item href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
        "nav": '<item href="toc.ncx" properties="x nav"/>',
    }
    names = {"a%20b.xhtml": "The end", "a%20b.xhtml#late": "Late", "../c.xhtml": "No"}
    points = (
        f'<navPoint><navLabel><text>{name}</text></navLabel><content src="{page}"/></navPoint>'
        if listing == "ncx"
        else f'<li><a href="{page}">{name}</a></li>'
        for page, name in names.items()
    )
    pages = "<nav epub:type='page-list'><a href='a%20b.xhtml'>12</a></nav>" if listing == "nav" else ""
    toc = f"<?xml version='1.0'?><html>{pages}<nav epub:type='x toc'>{''.join(points)}</nav></html>"
    package = BOOK["book/content.opf"].replace("<manifest>", f"<manifest>{item[listing]}")
    document = parse_members(BOOK | {"book/content.opf": package, "book/toc.ncx": toc})
    assert document.text == "First\n\nOne.\nTwo.\n\nThe end\n\nLast é."
    assert document.blocks[-1].path == ("The end",)


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (
            "<h3>Deep</h3><p>x<sup><a href='#n'>1</a></sup></p><h1>Top</h1><aside id='n'><p>1 Note</p></aside>",
            [
                "heading 3 |  | part 1, line 1 | Deep",
                "paragraph | Deep | part 1, line 1 | x[1]",
                "heading 1 |  | part 1, line 1 | Top",
                "paragraph | Top | part 1, line 1 | 1 Note",
            ],
        ),
        (
            "\n<table><tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr></table><ol><li>i</li></ol>",
            [
                "row header |  | part 1, line 2 | a ¦ b",
                "row |  | part 1, line 3 | a=1 ¦ b=2",
                "item 1 ordered |  | part 1, line 3 | i",
            ],
        ),
        (
            "<p dir='rtl'>שלום</p><p>broken & <b>cut",
            ["paragraph |  | part 1, line 1 | שלום", "paragraph |  | part 1, line 1 | broken & cut"],
        ),
        ("", []),
    ],
    ids=["levels and notes", "table and list", "from right to left, broken", "empty"],
)
def test_pages_give_blocks_with_part_and_line(page: str, lines: list[str]) -> None:
    archive = book(BOOK | {"c.xhtml": PAGE.format(page)})
    shown = [line for line in lines_of("epub", archive) if not line.startswith(("title", "date"))]
    assert shown[: len(lines)] == lines
    assert len(shown) == len(lines) + 1, "the last part has a paragraph"


@pytest.mark.parametrize(
    ("spine", "places"),
    [
        ("ab", ["part 1, line 1", "part 2, line 1", "part 2, line 1"]),
        ("pbx", ["part 1, line 1", "part 1, line 1"]),
        ("a" * 3, ["part 1, line 1", "part 2, line 1", "part 3, line 1"]),
    ],
)
def test_only_pages_of_the_spine_are_parts_as_often_as_they_are_in_it(spine: str, places: list[str]) -> None:
    listed = "".join(f'<itemref idref="{name}" linear="no"/>' for name in spine)
    package = f"{PACKAGE.partition('<spine>')[0].format(metadata='')}<spine>{listed}</spine></package>"
    assert [block.place for block in parse_members(BOOK | {"book/content.opf": package}).blocks] == places


def test_a_missing_part_is_noted() -> None:
    document = parse_members({name: text for name, text in BOOK.items() if name != "c.xhtml"})
    assert document.text == "Last é."
    assert document.notes == ("part 1 of the book is missing (c.xhtml)",)


def test_entities_of_a_document_type_are_not_expanded() -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "haha"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    hostile = BOOK | {
        "c.xhtml": bomb + PAGE.format("<p>&a;&b;x</p>"),
        "book/content.opf": bomb + BOOK["book/content.opf"],
    }
    text = parse_members(hostile).text
    assert "haha" not in text
    assert "root:" not in text


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("META-INF/container.xml", None, "META-INF/container.xml is missing"),
        ("META-INF/container.xml", "<container/>", "its container names no package"),
        ("book/content.opf", None, "book/content.opf is missing"),
        ("book/content.opf", "<package><metadata/><manifest><item id='a' href=", "its package names no parts"),
        ("book/content.opf", PACKAGE.replace("idref", "href"), "its package names no parts"),
        (
            "META-INF/encryption.xml",
            '<encryption><EncryptedData><CipherReference URI="book/a%20b.xhtml"/></EncryptedData></encryption>',
            "protected by its publisher",
        ),
    ],
)
def test_broken_and_protected_books_are_refused(name: str, content: str | None, reason: str) -> None:
    members = {**BOOK, name: content}
    with pytest.raises(Unreadable, match=reason):
        parse_members({name: text for name, text in members.items() if text is not None})


def test_a_book_with_obfuscated_fonts_is_read() -> None:
    fonts = '<encryption><EncryptedData><CipherReference URI="book/font.otf"/></EncryptedData></encryption>'
    assert parse_members(BOOK | {"META-INF/encryption.xml": fonts}).text.endswith("Last é.")


def test_archives_beyond_a_limit_are_refused() -> None:
    with pytest.raises(Unreadable, match="unpacks to"):
        parse_epub(book(BOOK | {"x": "0" * 100_000}), ReadingLimits(unpacked=50_000))
    with pytest.raises(Unreadable, match="is not an EPUB book"):
        parse_epub(book()[:-40], DEFAULT_LIMITS)


def test_a_damaged_part_costs_that_part() -> None:
    stored = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book())) as packed, zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as copy:
        for member in packed.namelist():
            copy.writestr(member, packed.read(member))
    parsed = parse_epub(stored.getvalue().replace(b"Last", b"Lost"), DEFAULT_LIMITS)
    assert parsed.text == "First\n\nOne.\nTwo."
    assert "part 2 of the book is damaged" in parsed.notes[0]
