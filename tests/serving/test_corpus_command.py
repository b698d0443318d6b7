"""`hoptrail corpus wikipedia`, and its output: indexed, with profiles, and queried."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from command import Hoptrail
from documents.wikipedia.small_wiki import PAGES, dump_of, page


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("dump") / "tallow.xml.bz2"
    file.write_bytes(bz2.compress(dump_of(PAGES)))
    return file


def test_from_a_dump_to_an_answer(hoptrail: Hoptrail, dump: Path, tmp_path: Path, tiny: Path) -> None:
    corpus, folder = tmp_path / "corpus", tmp_path / "index"
    ended = hoptrail("corpus", "wikipedia", dump, "--out", corpus)
    assert (ended.code, ended.out) == (0, "")
    assert "5 documents of 17 pages" in ended.err
    settings = tmp_path / "settings.toml"
    named = f'[structures.profiles]\nfrom_file = "{corpus / "profiles.jsonl"}"\n'
    settings.write_text(tiny.read_text(encoding="utf-8") + named, encoding="utf-8")
    options = ["--index", folder, "--settings", settings]
    indexed = hoptrail("index", corpus / "documents.jsonl", "--for", "hirag", *options)
    assert indexed.code == 0
    assert "left out" not in indexed.err
    # profiles of four pages, further names of Tallow Bridge (2), Orla Finch (1), and two pages with a shared name
    assert hoptrail("show", "--json", *options).json["units"]["profile"] == 4 + 3 + 2
    for question, answer in (
        ("When was Orla Finch born?", "1840"),
        ("Who designed Tallow Bridge?", "Orla Finch"),
        ("Who designed The Crossing?", "Orla Finch"),
    ):
        told = hoptrail("ask", question, "--recipe", "hirag", "--json", *options).json
        assert answer in (told["answer"] or ""), told
        assert told["evidence"]
    found = hoptrail("search", "Where does Isk rise?", "--recipe", "hirag", "--json", *options).json["hits"]
    assert found


def test_an_incomplete_corpus_ends_with_code_4(hoptrail: Hoptrail, tmp_path: Path) -> None:
    pages = [page("A", "One."), *(page(f"B{number}", "x").replace("</text>", "") for number in range(12))]
    file = tmp_path / "wiki.xml"
    file.write_bytes(dump_of(pages, end="  <page><title>Cut</title>"))
    for _ in range(2):  # the second time it is read off the manifest
        ended = hoptrail("corpus", "wikipedia", file, "--out", tmp_path / "out")
        assert ended.code == 4
        assert "not read: B0: is not well-formed XML" in ended.err
        assert "2 more pages" in ended.err
        assert "cut off after page 13 ('B11')" in ended.err
        assert "in the middle of the page 'Cut'" in ended.err


def test_other_codes(hoptrail: Hoptrail, dump: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Just text.", encoding="utf-8")
    ended = hoptrail("corpus", "wikipedia", tmp_path / "notes.txt", "--out", tmp_path / "out")
    assert (ended.code, "is not a MediaWiki XML dump" in ended.err) == (1, True)
    assert hoptrail("corpus", "wikipedia", dump).code == 2
    assert hoptrail("corpus", "wikipedia", dump, "--out", tmp_path / "out", "--workers", "0").code == 2
    assert "Traceback" not in ended.err


def test_templates_are_counted_and_can_be_said(hoptrail: Hoptrail, tmp_path: Path) -> None:
    file, templates = tmp_path / "wiki.xml", tmp_path / "templates.toml"
    file.write_bytes(dump_of([page("Isk", "It carries {{Peso|3|carga=coal}} and {{odd}}.")]))
    message = hoptrail("corpus", "wikipedia", file, "--out", tmp_path / "bare").err
    assert "produced no text, the most frequent first: odd (1), peso (1)" in message
    templates.write_text('"peso" = "$1 kg of ${carga}"\n', encoding="utf-8")
    command = ["corpus", "wikipedia", file, "--out", tmp_path / "out", "--templates", templates]
    assert "first: odd (1);" in hoptrail(*command).err
    assert "It carries 3 kg of coal and." in (tmp_path / "out" / "documents.jsonl").read_text(encoding="utf-8")
    for wrong, reason in (
        ("peso = 3", "is not a string"),
        ("peso", "cannot be read"),
        ('peso = "$"', "first argument"),
    ):
        templates.write_text(wrong, encoding="utf-8")
        ended = hoptrail(*command)
        assert (ended.code, reason in ended.err) == (2, True), ended.err


def test_options_reach_the_settings(hoptrail: Hoptrail, tmp_path: Path) -> None:
    file = tmp_path / "wiki.xml"
    file.write_bytes(dump_of([page("Isk", "{{Ficha de río|nombre=Isk}}x"), page("Fin", "y{{homonimia larga}}")]))
    options = ["--infoboxes", "ficha de", "--disambiguation", "homonimia larga, otra", "--with-disambiguation"]
    assert hoptrail("corpus", "wikipedia", file, "--out", tmp_path / "out", *options).code == 0
    documents = (tmp_path / "out" / "documents.jsonl").read_text(encoding="utf-8")
    assert "Nombre: Isk" in documents
    assert '"title": "Fin"' in documents
