"""Extractions from a file: placed in the right passage at the right sentence, and every unusable line named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from counting import steps
from hoptrail.corpus.writer import Writer
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.errors import UsageError
from hoptrail.structures import extractions, imported, json_lines
from hoptrail.structures.extractions import Extractions, ExtractionSettings, stored_in_order
from hoptrail.structures.json_lines import LinesFile
from hoptrail.types import Document, Extraction, Kind, Triple
from structures.site import Rules, Site
from world import FACTS, make_document

FINCH = "Orla Finch"
BRIDGE = "Tallow Bridge"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "index")


@pytest.fixture
def world() -> list[Document]:
    """The documents, read from the lines of one JSONL file under the ids 0, 1, 2."""
    return [
        make_document(title, text, f"/data/a#b/corpus.jsonl#{number}")
        for number, (title, text) in enumerate(FACTS.items())
    ]


def written(folder: Path, *lines: object) -> Extractions:
    """A structure that imports these lines: objects as JSON, text and bytes as they are."""
    file = folder / "found.jsonl"
    raw = [line if isinstance(line, bytes) else str(line).encode() for line in map(as_line, lines)]
    file.write_bytes(b"\n".join(raw))
    return Extractions(ExtractionSettings(str(file)))


def as_line(line: object) -> object:
    return line if isinstance(line, str | bytes) else json.dumps(line)


def found(site: Site) -> Mapping[str, Extraction]:
    """Extractions by the title of their passage's document."""
    return {unit.title: extraction for unit, extraction in stored_in_order(site.snapshot)}


def placed(site: Site) -> list[tuple[str, tuple[str, ...], str]]:
    """Every fact: its text, its entities, the words of its source."""
    documents = {document.id: document for document in site.snapshot.documents()}
    facts = [fact for _, extraction in stored_in_order(site.snapshot) for fact in extraction.facts]
    return [(fact.text, fact.entities, documents[fact.source.document].slice(fact.source)) for fact in facts]


def line(name: str | int, **content: Any) -> dict[str, Any]:
    return {"id": name, "entities": [], **content}


def test_a_triple_becomes_a_fact_at_the_sentence_that_shares_most_words_with_it(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    triples = [[FINCH, "designed", BRIDGE], [FINCH, "was born in", "Wrenmouth"]]
    structure = written(tmp_path, line("0", entities=[BRIDGE, "orla  finch", "Wrenmouth"], triples=triples))
    account = site.build(structure, add=world[:1])
    assert account.notes == []
    assert placed(site) == [
        ("Orla Finch designed Tallow Bridge", (FINCH, BRIDGE), "She designed the Tallow Bridge in 1871."),
        ("Orla Finch was born in Wrenmouth", (FINCH, "Wrenmouth"), "Orla Finch was born in Wrenmouth."),
    ]
    assert found(site)[FINCH].entities == ("orla finch", "Wrenmouth", BRIDGE)
    assert [fact.triple for fact in found(site)[FINCH].facts] == [
        Triple(FINCH, "designed", BRIDGE),
        Triple(FINCH, "was born in", "Wrenmouth"),
    ]


def test_a_triple_with_an_empty_slot_is_a_fact_only(site: Site, world: list[Document], tmp_path: Path) -> None:
    structure = written(tmp_path, line("0", triples=[[FINCH, " ", "Wrenmouth"]]))
    site.build(structure, add=world[:1])
    assert [(fact.text, fact.triple) for fact in found(site)[FINCH].facts] == [("Orla Finch Wrenmouth", None)]


def test_entities_stand_in_the_order_of_the_text_and_only_those_of_it(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    names = ["1871", "Wrenmouth", "Atlantis", FINCH, "  ", "wrenmouth "]
    site.build(written(tmp_path, line("0", entities=names, triples=[])), add=world[:1])
    assert found(site)[FINCH] == Extraction((FINCH, "Wrenmouth", "1871"), ())


def test_of_a_triple_only_named_entities_count_and_both_ends_where_none_is_named(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    triple = [FINCH, "was", "a designer"]
    site.build(
        written(tmp_path, line("0", entities=["ORLA FINCH"], triples=[triple]), line("2", triples=[triple])),
        add=[world[0], world[2]],
    )
    assert found(site)[FINCH].facts[0].entities == (FINCH,)
    assert found(site)[BRIDGE].facts[0].entities == (FINCH, "a designer")


def test_a_fact_stands_where_its_offsets_say(site: Site, world: list[Document], tmp_path: Path) -> None:
    facts = [
        {"text": "Orla  Finch\nmade a bridge.", "entities": [FINCH, FINCH], "start": 38, "end": 55},
        {"text": "Wrenmouth bore her.", "entities": []},
    ]
    site.build(written(tmp_path, line("0", facts=facts)), add=world[:1])
    assert placed(site) == [
        ("Orla Finch made a bridge.", (FINCH,), FACTS[FINCH][38:55]),
        ("Wrenmouth bore her.", (), "Orla Finch was born in Wrenmouth."),
    ]


def test_what_shares_no_word_with_any_sentence_stands_at_the_first(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    site.build(written(tmp_path, line("0", triples=[["火", "は", "水"]])), add=world[:1])
    assert placed(site) == [("火 は 水", ("火", "水"), "Orla Finch was born in Wrenmouth.")]


def test_of_several_passages_each_gets_its_own_facts_and_entities(site: Site, tmp_path: Path) -> None:
    text = "The Isk is a river. It rises in the Grey Hills. Wrenmouth stands on the Isk."
    site.limits = PassageLimits(words=6, short_document_words=0)
    triples = [["Wrenmouth", "stands on", "Isk"], ["Isk", "rises in", "Grey Hills"]]
    names = ["Isk", "Grey Hills", "Wrenmouth"]
    spanning = {"text": "Twice", "entities": ["Isk"], "start": 23, "end": 70}
    structure = written(tmp_path, line("Isk", entities=names, triples=triples, facts=[spanning]))
    site.build(structure, add=[make_document("Isk", text)])
    passages = sorted(site.units(Kind.PASSAGE).values(), key=lambda unit: unit.sources)
    extractions = dict(site.snapshot.extractions())
    assert [extractions[unit.id].entities for unit in passages] == [
        ("Isk",),
        ("Isk", "Grey Hills"),
        ("Isk", "Wrenmouth"),
    ]
    for unit in passages:
        assert all(unit.sources[0].covers(fact.source) for fact in extractions[unit.id].facts)
    assert [[fact.text for fact in extractions[unit.id].facts] for unit in passages] == [
        [],
        ["Twice", "Isk rises in Grey Hills"],
        ["Wrenmouth stands on Isk"],
    ]


def test_a_long_document_takes_time_by_its_length() -> None:
    def work(sentences: int) -> int:
        text = " ".join(f"Sentence number {number} is here." for number in range(1, sentences + 1))
        document = make_document("Long", text)
        units = passages(document, PassageLimits(words=6, short_document_words=0))
        starts = [unit.sources[0].start for unit in units]
        facts = tuple(imported.FactLine(f"x{start}", (), start, start + 5) for start in starts)
        made = []

        def place() -> None:
            places = imported._Places(units)
            places.put(imported.ExtractionLine("Long", (), facts))
            made.append(places)

        taken = steps(place)
        found = made[0].extractions()
        assert [fact.source.start for unit in units for fact in found[unit.id].facts] == starts
        return taken

    work(800)  # words are stemmed once a process
    assert work(800) < 10 * work(100), "eight times as much, not sixty-four times"


def test_a_line_may_name_its_document_by_line_id_own_id_or_title(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    structure = written(
        tmp_path,
        *(line(name, triples=[["a", "b", "c"]]) for name in (0, world[1].id, BRIDGE, "b/corpus.jsonl#3", "corpus")),
    )
    account = site.build(structure, add=world)
    assert set(found(site)) == {FINCH, "Wrenmouth", BRIDGE, "Dunmere"}
    assert "line 5" in account.notes[0]
    assert "no document of this index has the id or the title 'corpus'" in account.notes[0]
    assert "no line for 2 passages" in account.notes[1]
    assert "Isk" in account.notes[1]


def test_several_lines_for_one_document_are_put_together(site: Site, world: list[Document], tmp_path: Path) -> None:
    one, other = [FINCH, "designed", BRIDGE], [FINCH, "was born in", "Wrenmouth"]
    lines = [line("0", triples=[one]), line(FINCH, triples=[one, other])]
    site.build(written(tmp_path, *lines), add=world[:1])
    assert [text for text, _, _ in placed(site)] == [
        "Orla Finch designed Tallow Bridge",
        "Orla Finch was born in Wrenmouth",
    ]


def test_a_name_of_several_documents_is_refused_with_their_ids(site: Site, tmp_path: Path) -> None:
    twins = [make_document("Twin", f"Twin {number}.", f"/data/{number}.jsonl#t") for number in range(2)]
    account = site.build(written(tmp_path, line("t", triples=[]), line("Twin", triples=[])), add=twins)
    for note in account.notes[:2]:
        assert all(twin.id in note for twin in twins)
    assert set(site.snapshot.table.extracted()) == set()


BROKEN = [
    (b"{", "EOF"),
    (b'{"id": "0", "entities": ["\xff"], "triples": []}', "JSON"),
    (b'{"id": "0", "entities": ["\\ud800"], "triples": []}', "JSON"),
    (b"[" * 100_000, "recursion"),
    ("null", "an object"),
    ("[1, 2]", "should be an object"),
    ({"entities": [], "triples": []}, "id: Field required"),
    ({"id": "0", "triples": []}, "entities: Field required"),
    ({"id": ["0"], "entities": [], "triples": []}, "id.str"),
    (line("0"), "neither facts nor triples"),
    (line("0", entities="Orla Finch", triples=[]), "entities"),
    (line("0", entities=[1871], triples=[]), "entities.0"),
    (line("0", triples=[["a", "b"]]), "triples.0"),
    (line("0", triples=[["a", "b", None]]), "triples.0.2"),
    (line("0", facts=[{"text": "a"}]), "facts.0.entities"),
    (line("0", facts=[{"text": "a", "entities": [], "start": "0", "end": 3}]), "facts.0.start"),
    (line("0", facts=[{"text": "a", "entities": [], "start": 3}]), "characters 3 to None"),
    (line("0", facts=[{"text": "a", "entities": [], "start": -3, "end": 2}]), "characters -3 to 2"),
    (line("0", facts=[{"text": "a", "entities": [], "start": 9, "end": 9}]), "characters 9 to 9"),
    (line("0", facts=[{"text": "a", "entities": [], "start": 900, "end": 999}]), "characters 900 to 999"),
]


def test_a_line_that_cannot_be_used_is_named_and_costs_only_itself(
    site: Site, world: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "NAMED", len(BROKEN))
    good = "\ufeff" + json.dumps(line("1", triples=[["Wrenmouth", "is", "a town"]]))
    account = site.build(written(tmp_path, good, "", *(broken for broken, _ in BROKEN)), add=world[:2])
    assert [text for text, _, _ in placed(site)] == ["Wrenmouth is a town"]
    assert set(found(site)) == {"Wrenmouth"}
    for number, ((_, reason), note) in enumerate(zip(BROKEN, account.notes, strict=False), 3):
        assert f"found.jsonl, line {number} is left out: " in note
        assert reason.lower() in note.lower()
        assert len(note) < 400
    assert "no line for 1 passages" in account.notes[len(BROKEN)]


def test_of_very_many_faults_the_first_are_told_and_all_are_numbered(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    account = site.build(written(tmp_path, *("{" for _ in range(50))), add=world[:1])
    assert sum("is left out" in note for note in account.notes) == 20
    assert "30 more faults, in lines 21, 22," in account.notes[20]
    assert "50." in account.notes[20]


def test_of_more_faults_than_are_numbered_the_lowest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "NUMBERED", 30)
    file = LinesFile(tmp_path / "found.jsonl", "extractions")
    for number in reversed(range(1, 1001)):
        file.add_fault(number, f"fault {number}")
    *named, more = file.described
    assert [note.rpartition(" ")[2] for note in named] == [f"{number}." for number in range(1, 21)]
    assert more.endswith("980 more faults, in lines 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, ....")


def test_of_very_many_documents_of_one_name_the_first_are_told(site: Site, tmp_path: Path) -> None:
    twins = [make_document("Twin", f"Twin {number}.") for number in range(12)]
    (note, _) = site.build(written(tmp_path, line("Twin", triples=[])), add=twins).notes
    assert "12 documents are called 'Twin'" in note
    assert note.count(" or ") == 10
    assert sum(twin.id in note for twin in twins) == 10


def test_documents_without_a_line_get_theirs_when_the_file_has_it(
    site: Site, world: list[Document], tmp_path: Path
) -> None:
    lines = [line(str(number), triples=[["a", "b", f"{number}"]]) for number in range(3)]
    first = written(tmp_path, *lines[:1])
    account = site.build(first, add=world[:1])
    before = site.snapshot.commit
    assert account.notes == []
    assert site.build(first).notes == []
    assert site.snapshot.commit == before
    second = written(tmp_path, *lines)
    assert first.fingerprint == second.fingerprint  # the same path, whose content has changed
    site.build(second, add=world[:3])
    assert len(placed(site)) == 3


def test_what_is_imported_is_the_same_however_little_is_read_at_a_time(
    world: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(str(number), triples=[["a", "b", f"{number}"]]) for number in (4, 0, 2, 9, 2)]
    structure = written(tmp_path, *lines, line(FINCH, triples=[[FINCH, "designed", BRIDGE]]), "{")
    made = []
    for folder, few in (("whole", 1 << 20), ("parts", 1)):
        monkeypatch.setattr(extractions, "READ", few)
        site = Site(tmp_path / folder)
        account = site.build(structure, add=world)
        made.append((account.notes, dict(site.snapshot.extractions())))
    assert len(made[0][1]) == 3
    assert len(made[0][0]) == 3
    assert made[0] == made[1]


def test_a_stopped_import_goes_on_where_it_was(
    site: Site, world: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractions, "kept_at_once", lambda *_: 2)
    kept: list[int] = []
    add = Writer.put_extractions

    def stopping(writer: Writer, found: Mapping[str, Extraction]) -> None:
        if len(kept) == 1:
            kept.append(0)
            raise KeyboardInterrupt
        kept.append(len(found))
        add(writer, found)

    monkeypatch.setattr(Writer, "put_extractions", stopping)
    misplaced = line(
        min(document.id for document in world), facts=[{"text": "a", "entities": [], "start": 900, "end": 999}]
    )
    lines = [misplaced, *(line(document.id, triples=[["a", "b", "c"]]) for document in world)]
    structure = written(tmp_path, *lines)
    with pytest.raises(KeyboardInterrupt):
        site.build(structure, add=world)
    notes = site.build(structure).notes
    assert [note.partition(" is left out")[0] for note in notes] == [f"{structure.settings.from_file}, line 1"]
    assert set(found(site)) == {document.title for document in world}
    assert sum(kept) == len(world)


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    first = written(tmp_path, line("0", triples=[]))
    before = first.fingerprint
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(Path(first.settings.from_file).read_bytes())
    assert Extractions(ExtractionSettings(str(moved))).fingerprint == before
    moved.write_bytes(moved.read_bytes() + b"\n")
    assert Extractions(ExtractionSettings(str(moved))).fingerprint != before
    assert Extractions().fingerprint != before


@pytest.mark.parametrize("place", ["nowhere.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(
    site: Site, world: list[Document], tmp_path: Path, place: str
) -> None:
    structure = Extractions(ExtractionSettings(str(tmp_path / place)))
    with pytest.raises(UsageError, match=r"cannot be read: .*change from_file under \[structures\.extractions\]"):
        assert structure.fingerprint
    with pytest.raises(UsageError, match="cannot be read"):
        site.build(structure, add=world)


def test_no_language_is_asked_where_there_is_a_file(site: Site, world: list[Document], tmp_path: Path) -> None:
    language = Rules()
    site.build(written(tmp_path, line("0", triples=[])), add=world, language=language)
    assert language.asked == []
