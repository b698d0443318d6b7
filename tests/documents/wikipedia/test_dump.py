"""Reading a dump: every compression, truncation and damage, and no expanding entity."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from documents.wikipedia.small_wiki import END, HEADER, PAGES, dump_of, page, redirect
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.wikipedia import dump as dumps
from hoptrail.documents.wikipedia.dump import RawPage, open_dump
from hoptrail.documents.wikipedia.page import Site, read_page, read_site
from hoptrail.errors import DocumentError

SMALL = dump_of(PAGES)


def read(file: Path, content: bytes, longest: int = dumps.LONGEST_PAGE) -> tuple[list[RawPage], str]:
    """The pages, and why the dump is cut off."""
    file.write_bytes(content)
    with open_dump(file) as opened:
        pages = list(opened.pages(longest))
        return pages, opened.ended


def multistream(content: bytes) -> bytes:
    """Consecutive streams of a few bytes each, as in the dumps of Wikipedia."""
    return b"".join(bz2.compress(content[start : start + 700]) for start in range(0, len(content), 700))


@pytest.mark.parametrize("packing", [bytes, bz2.compress, multistream, gzip.compress])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_every_packing_gives_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: Callable[[bytes], bytes], block: int
) -> None:
    monkeypatch.setattr(dumps, "MIB", block)
    pages, ended = read(tmp_path / "wiki", packing(SMALL))
    assert ended == ""
    assert [(raw_page.data.decode(), raw_page.fault) for raw_page in pages] == [
        (written.strip(), "") for written in PAGES
    ]


@pytest.mark.parametrize("packing", [partial(bz2.compress, compresslevel=1), gzip.compress, bytes])
def test_a_truncated_dump_gives_the_pages_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(dumps, "MIB", 1000)
    random = Random(2)
    many = dump_of(page(f"Page {number}", random.randbytes(2000).hex(), number) for number in range(300))
    packed = packing(many)
    pages, ended = read(tmp_path / "wiki", packed[: len(packed) // 2])
    assert ended
    assert [raw_page.title for raw_page in pages] == [f"Page {number}" for number in range(len(pages))]
    assert packing is not bytes or 100 < len(pages) < 300
    assert not any(raw_page.fault for raw_page in pages)


def test_damage_in_the_middle_of_a_packed_file_ends_the_reading(tmp_path: Path) -> None:
    count = 60
    random = Random(1)
    texts = (" ".join(str(random.random()) for _ in range(2500)) for _ in range(count))
    packed = bytearray(bz2.compress(dump_of(page("A", text) for text in texts), 1))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\0" * 40
    pages, ended = read(tmp_path / "wiki", bytes(packed))
    assert 0 < len(pages) < count
    assert "damaged" in ended


def test_the_end_of_a_truncated_dump_is_reported(tmp_path: Path) -> None:
    assert read(tmp_path / "wiki", dump_of(PAGES, end=""))[1] == "the end tag `</mediawiki>` is missing"
    pages, ended = read(tmp_path / "wiki", dump_of(PAGES[:2], end="<page><title>Q &amp; A</title><text>Half"))
    assert (len(pages), "in the middle of the page 'Q & A'" in ended) == (2, True)


def test_a_page_without_an_end_tag_does_not_affect_others(tmp_path: Path) -> None:
    broken = page("Broken", "x").replace("</page>", "")
    pages, ended = read(tmp_path / "wiki", dump_of([redirect("A", "B"), broken, page("C", "y")]))
    assert [(raw_page.title, bool(raw_page.fault)) for raw_page in pages] == [
        ("A", False),
        ("Broken", True),
        ("C", False),
    ]
    assert ended == ""


def test_a_page_that_is_too_long_is_reported_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MIB", 1000)
    monkeypatch.setattr(dumps, "_KEPT", 300)
    content = dump_of([page("A", "x"), page("Long", "y" * 50_000), page("C", "z")])
    file = tmp_path / "wiki"
    file.write_bytes(content)
    longest_rest = 0
    with open_dump(file) as opened:
        pages = []
        for raw_page in opened.pages(2000):
            pages.append(raw_page)
            longest_rest = max(longest_rest, len(raw_page.data))
        assert opened.unpacked == content.rindex(b"</page>") + len(b"</page>")
    assert [(raw_page.title, raw_page.fault) for raw_page in pages] == [
        ("A", ""),
        ("Long", "is longer than 2000 bytes"),
        ("C", ""),
    ]
    assert longest_rest < 4000


class Searched(bytearray):
    """Counts the bytes searched."""

    bytes = 0

    def find(self, *arguments: Any) -> int:
        part, start = arguments
        Searched.bytes += len(self) - start
        return super().find(part, start)


def test_a_long_page_in_many_blocks_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MIB", 50)
    monkeypatch.setattr(dumps, "bytearray", Searched, raising=False)
    Searched.bytes = 0
    pages, ended = read(tmp_path / "wiki", dump_of([page("A", "x"), page("Long", "y" * 200_000), page("C", "z")]))
    assert 200_000 < Searched.bytes < 400_000, "every byte once, and the last few of each block again"
    assert [(raw_page.title, raw_page.fault) for raw_page in pages] == [("A", ""), ("Long", ""), ("C", "")]
    assert len(pages[1].data) > 200_000
    assert ended == ""


@pytest.mark.parametrize(
    "content", [b"", b"Just text.", b"<html><body></body></html>", b"\x89PNG\r\n", b"7z\xbc\xaf\x27\x1c"]
)
def test_files_that_are_no_dump_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DocumentError, match=r"wiki: (is not a MediaWiki|has an unsupported compression)"):
        read(tmp_path / "wiki", content)
    with pytest.raises(DocumentError, match="holds no page that can be read: the packed file is damaged or cut off"):
        read(tmp_path / "wiki", bz2.compress(SMALL)[:100])
    with pytest.raises(DocumentError, match="could not be read"), open_dump(tmp_path / "missing"):
        pass


# --- one page


def test_the_namespaces_of_a_site() -> None:
    site = read_site(HEADER.encode())
    assert [site.namespace_of(title) for title in ("Datei:x", "File:x", "kategorie: x", "2001: A film", "A")] == [
        6,
        6,
        14,
        0,
        0,
    ]
    assert site.title("tallow_Bridge#History") == "Tallow Bridge"
    assert read_site(HEADER.replace("first-letter</case>", "case-sensitive</case>").encode()).title("iPod") == "iPod"
    assert read_site(b"<mediawiki>") == Site()


def test_a_page_of_an_old_dump() -> None:
    """It has no namespace number, and only its text marks it as a redirect."""
    old = page("Talk:Isk", "#redirect:[[isk_(river)#Course|the Isk]]", namespace=None)
    site = read_site(HEADER.encode())
    result = read_page(old.encode(), site)
    assert (result.namespace, result.redirect) == (1, "Isk (river)")
    assert read_page(page("List", "#One [[Isk]]", namespace=None).encode(), site).redirect == ""


def test_of_several_revisions_the_last_counts() -> None:
    twice = page("Isk", "Old.").replace("  </page>", "<revision><text>New.</text></revision></page>")
    assert read_page(twice.encode(), Site()).text == "New."
    assert read_page(b"<page><title>Isk</title></page>", Site()).text == ""


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (page("A", "x").replace("</text>", "").encode(), "mismatched tag"),
        (page("A", "x").replace("x</text>", "&laugh;</text>").encode(), "undefined entity"),
        ((LAUGHS + page("A", "&b;")).encode(), "not well-formed"),
        (page("A", "x").replace("x</text>", "\x01</text>").encode(), "invalid token"),
        (page("A", "é").encode("latin-1"), "invalid token"),
        (page("", "x").encode(), "has no title"),
    ],
)
def test_broken_xml_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_page(data, Site())


def test_entities_of_a_document_type_are_never_expanded(tmp_path: Path) -> None:
    """No parser receives the whole head of a file."""
    pages, _ = read(
        tmp_path / "wiki", (LAUGHS + HEADER).encode() + b"<page><title>A</title><text>&b;</text></page>" + END.encode()
    )
    with pytest.raises(Unreadable, match="undefined entity"):
        read_page(pages[0].data, Site())
