"""HiRAG's corpora from a dump: what a reader sees, in bounded memory, the same after a kill, whatever the markup is."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from hoptrail.errors import DocumentError, Interrupted, UsageError
from hoptrail.index.index import Index
from hoptrail.index.settings import settings_from
from hoptrail.text.words import words_in
from hoptrail.types import Kind
from hoptrail_papers.hirag.wikipedia import corpora
from hoptrail_papers.hirag.wikipedia.converting import Child, PageForm, convert, convert_all
from hoptrail_papers.hirag.wikipedia.corpora import build_corpora
from hoptrail_papers.hirag.wikipedia.dump import LONGEST_TEXT, Dump, DumpPlace, WikiPage
from hoptrail_papers.hirag.wikipedia.wikitext import converted, without_unseen
from small_wiki import BRIDGE, BRIDGE_TEXT, HEADER, HOSTILE, PAGES, dump_of, made_pages, packed, page
from world import HashingEncoder


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def page_of(text: str, title: str = "A page") -> WikiPage:
    return WikiPage(DumpPlace(0, 1), "1", title, "0", "wikitext", "", text)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# --- the dump


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lambda _: packed(PAGES)])
def test_every_packing_gives_the_same_pages(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "dump").write_bytes(pack(dump_of(PAGES)))
    dump = Dump(tmp_path / "dump")
    found = list(dump.pages())
    assert [one.title for one in found][:3] == ["Tallow Crossing", "The Crossing", "Tallow Bridge"]
    assert (len(found), found[2].text, found[0].redirect) == (len(PAGES), BRIDGE, "Tallow Bridge")
    assert (dump.names, dump.faults) == (["Datei", "Kategorie"], [])


@pytest.mark.parametrize("pack", [bytes, bz2.compress, lambda _: packed(PAGES)])
def test_reading_goes_on_after_any_page(tmp_path: Path, pack: Any) -> None:
    (tmp_path / "dump").write_bytes(pack(dump_of(PAGES)))
    whole = list(Dump(tmp_path / "dump").pages())
    for number, one in enumerate(whole, 1):
        assert list(Dump(tmp_path / "dump", one.place).pages()) == whole[number:], one.title


def test_a_stream_that_begins_within_a_page_is_no_place_to_go_on_from(tmp_path: Path) -> None:
    data = dump_of(PAGES)
    parts = [data[start : start + 700] for start in range(0, len(data), 700)]
    (tmp_path / "dump").write_bytes(b"".join(map(bz2.compress, parts)))
    whole = list(Dump(tmp_path / "dump").pages())
    assert [one.title for one in whole] == [one.title for one in Dump(tmp_path / "dump").pages()]
    assert len(whole) == len(PAGES)
    for number, one in enumerate(whole, 1):
        assert [page.title for page in Dump(tmp_path / "dump", one.place).pages()] == [
            page.title for page in whole[number:]
        ]


BOMB = f'<!DOCTYPE mediawiki [<!ENTITY a "{"b" * 1000}"><!ENTITY c "{"&a;" * 1000}">]>'


def test_growing_entities_are_refused(tmp_path: Path) -> None:
    text = dump_of([page("Bomb", "x").replace(">x<", ">&c;<")], BOMB + HEADER)
    (tmp_path / "dump").write_bytes(text)
    with pytest.raises(DocumentError, match="declares a document type"):
        list(Dump(tmp_path / "dump").pages())


def test_damage_costs_its_stream_only(tmp_path: Path) -> None:
    pages = [page(f"WikiPage {number}", f"Text {number}.", number) for number in range(12)]
    pages[4] = pages[4].replace("Text 4", "Text \x01 & <no")
    (tmp_path / "dump").write_bytes(packed(pages))
    dump = Dump(tmp_path / "dump")
    assert [one.title for one in dump.pages()] == [f"WikiPage {number}" for number in (0, 1, 2, 3, 6, 7, 8, 9, 10, 11)]
    assert len(dump.faults) == 1
    assert dump.faults[0].startswith("after the page 'WikiPage 3': not well-formed")


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9, 0.999])
def test_of_a_cut_dump_all_before_the_cut_is_kept(tmp_path: Path, keep: float) -> None:
    for data in (packed(PAGES), dump_of(PAGES)):
        (tmp_path / "dump").write_bytes(data[: int(len(data) * keep)])
        dump = Dump(tmp_path / "dump")
        found = list(dump.pages())
        assert [one.id for one in found] == [str(number) for number in range(1, len(found) + 1)]
        assert dump.faults


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<html></html>", b"7z\xbc\xaf", b"PK\x03\x04", bz2.compress(b"<rss/>")]
)
def test_what_is_no_dump_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "dump").write_bytes(data)
    with pytest.raises(DocumentError):
        list(Dump(tmp_path / "dump").pages())


# --- the markup


def test_a_page_is_what_a_reader_sees() -> None:
    text, pairs = converted(without_unseen(BRIDGE), ["Datei", "Kategorie"])
    assert text == BRIDGE_TEXT
    assert pairs[0] == ("Bridge name", "Tallow Bridge")
    assert [f"{key}: {value}" for key, value in pairs] == text.split("\n\n")[-len(pairs) :], "each stands as a line"


def test_hostile_markup_costs_itself_alone() -> None:
    """Each in its own batch and between harmless pages; a parser that would take minutes is ended."""
    pages = [page_of(f"'''{name}''' is harmless. {text}", name) for name, text in HOSTILE.items()]
    batches = [[page_of("Before."), one, page_of("After.")] for one in pages]
    found = list(convert_all(batches, [Child((), seconds=1)]))
    for before, one, after in found:
        assert (before.text, after.text) == ("Before.", "After."), one.page.title
        assert one.form is PageForm.FAULT or one.text.startswith(f"{one.page.title} is harmless."), one
    faults = [one for _, one, _ in found if one.form is PageForm.FAULT]
    assert any("takes more than 1 seconds" in one.detail for one in faults), "else this proves nothing"


def test_any_mixture_of_marks_is_converted() -> None:
    marks = [
        "{{",
        "}}",
        "[[",
        "]]",
        "|",
        "=",
        "\n==",
        "==\n",
        "'''",
        "{|",
        "|}",
        "<ref>",
        "</ref>",
        "<!--",
        "-->",
        "a b",
        "\n*",
    ]
    draw = random.Random(1)
    for _ in range(400):
        text = "".join(draw.choice(marks) for _ in range(30))
        one = convert(page_of("Start. " + text), ())
        assert one.form is not PageForm.FAULT, (text, one.detail)
        assert "\x1e" not in one.text


def test_kinds_of_pages(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(dump_of(PAGES))
    forms = {one.title: convert(one, ()).form.value for one in Dump(tmp_path / "dump").pages()}
    assert {title: form for title, form in forms.items() if form != "entity"} == {
        **dict.fromkeys(["Tallow Crossing", "The Crossing", "O. Finch", "Nowhere", "Round", "And round"], "redirect"),
        **dict.fromkeys(["Isk", "Finch", "Wrenmouth (disambiguation)"], "disambiguation"),
        **dict.fromkeys(["Talk:Tallow Bridge", "Data", "Blank"], "left out"),
    }


# --- the corpora


def test_the_corpora_of_a_small_wiki(tmp_path: Path) -> None:
    (tmp_path / "dump.xml.bz2").write_bytes(packed(PAGES))
    counts = build_corpora(tmp_path / "dump.xml.bz2", tmp_path / "out")
    corpus, profiles = lines(tmp_path / "out" / "corpus.jsonl"), lines(tmp_path / "out" / "profiles.jsonl")
    assert [line["title"] for line in corpus] == [
        "Tallow Bridge",
        "Isk (river)",
        "Isk (song)",
        "Orla Finch",
        "Wrenmouth",
    ]
    assert (counts.pages, counts.entities, counts.redirects, counts.redirects_unused) == (17, 5, 6, 3)
    assert (counts.disambiguations, counts.profiles, counts.faults_in_all, counts.damage) == (3, 4, 0, [])
    assert counts.words == sum(words_in(line["text"]) for line in corpus)
    by_title = {line["title"]: line for line in profiles}
    assert by_title["Tallow Bridge"]["also"] == ["Tallow Crossing", "The Crossing"], "also through another redirect"
    assert by_title["Orla Finch"]["also"] == ["O. Finch"]
    assert {title: line["ambiguous"] for title, line in by_title.items()} == {
        "Isk (river)": True,
        "Isk (song)": True,
        "Orla Finch": False,
        "Tallow Bridge": False,
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "corpus.jsonl",
        "counts.json",
        "profiles.jsonl",
    ]
    assert build_corpora(tmp_path / "dump.xml.bz2", tmp_path / "out") == counts, "finished ones are left as they are"
    (tmp_path / "other.xml").write_bytes(dump_of(PAGES[:5]))
    with pytest.raises(UsageError, match="corpora of another dump"):
        build_corpora(tmp_path / "other.xml", tmp_path / "out")


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    """Killed as a process at several moments, stopped as a user would, and then left to end."""
    dump = tmp_path / "dump.xml.bz2"
    dump.write_bytes(packed(made_pages(1500), 100))
    code = (
        "import sys; from pathlib import Path; from hoptrail_papers.hirag.wikipedia import corpora\n"
        "corpora.CHECKPOINT = 100\n"
        "if __name__ == '__main__': corpora.build_corpora(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    (tmp_path / "build.py").write_text(code, encoding="utf-8")
    kills = 0
    for _ in range(3):
        run = subprocess.Popen([sys.executable, tmp_path / "build.py", dump, tmp_path / "killed"])
        before = _written(tmp_path / "killed")
        while run.poll() is None and _written(tmp_path / "killed") == before:
            time.sleep(0.01)
        kills += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert kills, "else no run was cut off"
    stops = iter([False, False, True])
    with pytest.raises(Interrupted, match="goes on from there"):
        build_corpora(dump, tmp_path / "killed", stopped=lambda: next(stops, True))
    counts = build_corpora(dump, tmp_path / "killed")
    assert build_corpora(dump, tmp_path / "whole", workers=2) == counts
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert (counts.pages, counts.redirects, counts.redirects_unused) == (1500, 150, 0)


def _written(folder: Path) -> int:
    part = folder / corpora.PART
    return part.stat().st_size if part.exists() else 0


def test_after_every_checkpoint_the_run_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_bytes(dump_of(made_pages(60)))
    monkeypatch.setattr(corpora, "BATCH", 13)
    build_corpora(dump, tmp_path / "whole")
    for last in range(5):
        stops = iter([False] * last + [True])
        with pytest.raises(Interrupted):
            build_corpora(dump, tmp_path / f"{last}", stopped=lambda stops=stops: next(stops, True))  # type: ignore[misc]
        with (tmp_path / f"{last}" / corpora.PART).open("ab") as part:
            part.write(b'{"half a line')
        build_corpora(dump, tmp_path / f"{last}")
        assert files_of(tmp_path / f"{last}") == files_of(tmp_path / "whole")


def test_memory_is_bounded_by_a_page_not_by_the_dump(tmp_path: Path) -> None:
    peaks = []
    for count in (2000, 8000):
        (tmp_path / "dump").write_bytes(packed(made_pages(count), 100))
        tracemalloc.start()
        assert sum(1 for _ in Dump(tmp_path / "dump").pages()) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    long = page("Long", "x" * (LONGEST_TEXT + 1))
    (tmp_path / "dump").write_bytes(packed([long, page("Short", "y")]))
    first, second = Dump(tmp_path / "dump").pages()
    assert (first.fault, second.fault) == (f"is longer than {LONGEST_TEXT} characters", "")


def test_the_command(hoptrail: Hoptrail, tmp_path: Path) -> None:
    (tmp_path / "dump.xml.bz2").write_bytes(packed(PAGES))
    ended = hoptrail("wikipedia", tmp_path / "dump.xml.bz2", "--out", tmp_path / "out")
    assert (ended.code, ended.out) == (0, "")
    assert "5 entities of 17 pages" in ended.err
    (tmp_path / "cut.xml").write_bytes(dump_of(PAGES)[:-300])
    ended = hoptrail("wikipedia", tmp_path / "cut.xml", "--out", tmp_path / "cut")
    assert ended.code == 4
    assert "the dump is damaged: the end tag </mediawiki> is missing" in ended.err


def test_profiles_are_taken_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(packed(PAGES))
    build_corpora(tmp_path / "dump", tmp_path / "out")
    profiles = tmp_path / "out" / "profiles.jsonl"
    own = settings_from({"structures": {"profiles": {"from_file": str(profiles)}}}, "here")
    index = Index(tmp_path / "index", own)
    index.encoder = HashingEncoder()
    report = index.add([tmp_path / "out" / "corpus.jsonl"], ["hirag:paper"])
    assert not [note for note in report.notes if "left out" in note], report.notes
    with index.reading() as snapshot:
        found = {unit.title: unit.text for unit in snapshot.units(Kind.PROFILE)}
    assert found["Tallow Bridge"].startswith("Bridge name: Tallow Bridge\nDesigner: Orla Finch")
    assert {"Tallow Crossing", "O. Finch", "Isk (disambiguation)"} <= set(found)


def test_two_runs_do_not_build_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(dump_of(PAGES))

    def while_it_runs() -> bool:
        with pytest.raises(UsageError, match="another process is building"):
            build_corpora(tmp_path / "dump", tmp_path / "out")
        return False

    assert build_corpora(tmp_path / "dump", tmp_path / "out", stopped=while_it_runs).entities == 5
