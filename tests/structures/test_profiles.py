"""Profiles: made from a file or from facts, every line with its place, brought up to date and taken away with documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.structures.extractions import Extractions
from hoptrail.types import Document, Kind, Unit
from hoptrail_papers.hirag import profiles
from hoptrail_papers.hirag.profiles import Profiles, ProfileSettings, profile_id
from structures.site import Rules, Site
from world import make_document

BRIDGE = make_document("Tallow Bridge", "The Tallow Bridge spans a harbour.\n\nDesigner: Orla Finch\nOpened: 1871\n")
ISK = make_document("Isk", "The Isk is a river. It is long.\nLength: 90 km")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "index")


def line(title: str, *pairs: tuple[str, str], **other: object) -> str:
    return json.dumps({"title": title, "profile": pairs} | other)


def written(folder: Path, *lines: str | bytes, characters: int = 6000) -> Profiles:
    file = folder / "profiles.jsonl"
    file.write_bytes(b"\n".join(one if isinstance(one, bytes) else one.encode() for one in lines))
    return Profiles(ProfileSettings(str(file), characters))


def check_sources(units: dict[str, Unit], snapshot: Snapshot, *, exact: bool) -> None:
    """One source a line, inside the document; where lines come from a file, they are what stands there."""
    texts = {document.id: document.text for document in snapshot.documents()}
    for unit in units.values():
        lines = unit.text.split("\n")
        assert len(lines) == len(unit.sources)
        for text, span in zip(lines, unit.sources, strict=True):
            said = texts[span.document][span.start : span.end]
            assert said == text if exact else said.split()[-2:] == text.split()[-2:]


def test_every_pair_is_a_line_with_its_place(site: Site, tmp_path: Path) -> None:
    profiles = written(tmp_path, line("tallow  bridge", ("Designer", "Orla  Finch"), ("Opened", "1871")))
    account = site.build(profiles, add=[BRIDGE, ISK])
    units = site.units(Kind.PROFILE)
    assert {name: (unit.title, unit.text) for name, unit in units.items()} == {
        profile_id(BRIDGE.id): ("Tallow Bridge", "Designer: Orla Finch\nOpened: 1871")
    }
    check_sources(units, site.snapshot, exact=True)
    assert account.notes == []


def test_a_pair_that_stands_nowhere_is_noted_and_left_out(site: Site, tmp_path: Path) -> None:
    """`Length: 9` is the beginning of a line, not a line."""
    profiles = written(tmp_path, line("Isk", ("Length", "9"), ("Length", "90 km"), ("Mouth", "Dunmere")))
    account = site.build(profiles, add=[ISK])
    assert site.texts(Kind.PROFILE) == {"Isk": "Length: 90 km"}
    assert len(account.notes) == 2
    assert "'Mouth: Dunmere', which stands in no document called 'Isk'" in account.notes[1]


def test_documents_of_one_title_have_what_stands_in_them(site: Site, tmp_path: Path) -> None:
    other = make_document("Isk", "A song.\nLength: 3 minutes")
    profiles = written(tmp_path, line("Isk", ("Length", "90 km"), ("Length", "3 minutes")))
    account = site.build(profiles, add=[ISK, other])
    assert {unit.document: unit.text for unit in site.units(Kind.PROFILE).values()} == {
        ISK.id: "Length: 90 km",
        other.id: "Length: 3 minutes",
    }
    assert account.notes == []


def test_further_names_are_units_of_their_own(site: Site, tmp_path: Path) -> None:
    also = ["River Isk", "River  Isk", "isk", ""]
    site.build(written(tmp_path, line("Isk", also=also, ambiguous=True)), add=[ISK])
    units = site.units(Kind.PROFILE)
    assert {unit.title for unit in units.values()} == {"River Isk", "Isk (disambiguation)"}
    assert {unit.text for unit in units.values()} == {"The Isk is a river."}
    assert {unit.document for unit in units.values()} == {ISK.id}
    check_sources(units, site.snapshot, exact=True)


def test_names_of_an_empty_document_rest_on_nothing_in_it(site: Site, tmp_path: Path) -> None:
    empty = make_document("Nothing", "")
    site.build(written(tmp_path, line("Nothing", ("a", "b"), also=["Void"])), add=[empty])
    (unit,) = site.units(Kind.PROFILE).values()
    assert (unit.title, unit.text, unit.sources[0].end) == ("Void", "", 0)


@pytest.mark.parametrize(
    "bad",
    ["{", "[]", '{"profile": []}', '{"title": "Isk", "profile": [["a"]]}', '{"title": 3}', b'{"title": "\xff"}'],
)
def test_a_line_that_cannot_be_used_costs_itself_only(bad: str | bytes, site: Site, tmp_path: Path) -> None:
    account = site.build(written(tmp_path, bad, "", line("Isk", ("Length", "90 km"))), add=[ISK])
    assert site.texts(Kind.PROFILE) == {"Isk": "Length: 90 km"}
    (note,) = account.notes
    assert "line 1 is left out" in note


def test_what_a_file_says_is_the_same_however_little_is_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = [make_document("Isk", f"Isk\nlength: {number} km") for number in range(3)]
    documents = [*twins, make_document("Alba", "Alba\nheight: 9 m"), make_document("", "No title.\nlength: 1 km")]
    structure = written(
        tmp_path,
        line("Isk", ("length", "7 km")),
        line("Alba", ("height", "9 m"), ("age", "3"), also=["The Alb"]),
        "{",
        line("isk ", ("length", "1 km"), ("length", "2 km"), ("length", "5 km")),
        line("", ("length", "1 km")),
    )
    made = []
    for folder, few in (("whole", 1 << 20), ("parts", 1)):
        monkeypatch.setattr(profiles, "READ", few)
        site = Site(tmp_path / folder)
        account = site.build(structure, add=documents)
        made.append((account.notes, site.units(Kind.PROFILE)))
    notes, units = made[0]
    assert made[1] == made[0]
    texts = sorted(unit.text for unit in units.values())
    assert texts == ["Alba\nheight: 9 m", "height: 9 m", "length: 1 km", "length: 2 km"]
    faults = [note.partition(", line ")[2] for note in notes]
    for fault, told in zip(faults, ("2 says 'age: 3'", "3 is left out", "4 says 'length: 5 km'"), strict=True):
        assert fault.startswith(told)


def test_titles_that_no_document_has_are_passed_over(site: Site, tmp_path: Path) -> None:
    account = site.build(written(tmp_path, line("Elsewhere", ("a", "b"))), add=[ISK, make_document("", "Untitled.")])
    assert site.units(Kind.PROFILE) == {}
    assert account.notes == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    profiles = Profiles(ProfileSettings(str(tmp_path / "none.jsonl")))
    with pytest.raises(UsageError, match=r"none\.jsonl cannot be read.*structures\.profiles"):
        _ = profiles.fingerprint


def test_the_fingerprint_is_that_of_the_file_and_of_the_cap(tmp_path: Path) -> None:
    first = written(tmp_path, line("Isk")).fingerprint
    assert written(tmp_path, line("Isk"), characters=5).fingerprint != first
    assert written(tmp_path, line("Isk", ("a", "b"))).fingerprint != first
    assert written(tmp_path, line("Isk")).fingerprint == first
    assert Profiles().built_from == ("extractions",)
    assert written(tmp_path).built_from == ("passages",)


@pytest.mark.parametrize(("characters", "kept"), [(6000, 2), (33, 2), (32, 1), (20, 1), (19, 0)])
def test_a_profile_is_capped_at_whole_lines(characters: int, kept: int, site: Site, tmp_path: Path) -> None:
    profiles = written(
        tmp_path, line("Tallow Bridge", ("Designer", "Orla Finch"), ("Opened", "1871")), characters=characters
    )
    site.build(profiles, add=[BRIDGE])
    lines = [text for unit in site.units(Kind.PROFILE).values() for text in unit.text.split("\n")]
    assert len(lines) == kept


def test_facts_about_the_title_make_a_profile(site: Site, documents: list[Document]) -> None:
    """`Its harbour freezes` is about Dunmere, `The river Isk flows through Wrenmouth` is not about Wrenmouth."""
    site.build(Extractions(), Profiles(), add=documents, language=Rules())
    texts = site.texts(Kind.PROFILE)
    assert texts["Orla Finch"].split("\n") == [
        "Orla Finch was born in Wrenmouth.",
        "Orla Finch designed the Tallow Bridge in 1871.",
    ]
    assert texts["Dunmere"].split("\n")[1] == "Dunmere's harbour freezes in winter."
    assert texts["Wrenmouth"] == "Wrenmouth is a market town."
    check_sources(site.units(Kind.PROFILE), site.snapshot, exact=False)


def test_a_short_form_of_the_title_is_the_title(site: Site) -> None:
    text = "Finch was a designer. The Finch family left. Orlando Finch was no kin. Born in Lund, Finch died there."
    page = make_document("Orla Finch (designer)", text)
    site.build(Extractions(), Profiles(), add=[page], language=Rules())
    assert site.texts(Kind.PROFILE) == {"Orla Finch (designer)": "Finch was a designer.\nThe Finch family left."}


def test_only_what_changed_is_encoded_and_nothing_of_a_removed_document_stays(
    site: Site, documents: list[Document]
) -> None:
    structures = (Extractions(), Profiles())
    site.build(*structures, add=documents, language=Rules())
    before, encoded, head = site.units(Kind.PROFILE), len(site.encoder.texts), site.snapshot.commit
    site.build(*structures, language=Rules())
    assert site.snapshot.commit == head, "a run that finds nothing new writes nothing"
    lake = make_document("Mere", "Mere is a lake.")
    site.build(*structures, add=[lake], language=Rules())
    assert len(site.encoder.texts) == encoded + 2, "the passage and the profile"
    site.build(*structures, remove=[lake])
    assert site.units(Kind.PROFILE) == before
    assert len(site.encoder.texts) == encoded + 2


def test_removing_needs_no_file(site: Site, tmp_path: Path) -> None:
    profiles = written(
        tmp_path, line("Isk", ("Length", "90 km"), also=["River Isk"]), line("Tallow Bridge", ("Opened", "1871"))
    )
    site.build(profiles, add=[BRIDGE, ISK])
    (tmp_path / "profiles.jsonl").unlink()
    site.build(profiles, remove=[ISK])
    assert site.texts(Kind.PROFILE) == {"Tallow Bridge": "Opened: 1871"}


def test_what_a_file_no_longer_says_goes(site: Site, tmp_path: Path) -> None:
    site.build(written(tmp_path, line("Isk", ("Length", "90 km"), also=["River Isk"])), add=[ISK])
    site.build(written(tmp_path, line("Isk", also=["The Isk river"])))
    assert {unit.title for unit in site.units(Kind.PROFILE).values()} == {"The Isk river"}
