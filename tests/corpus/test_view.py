"""Views of an index: what is hidden is as if it had never been indexed, for every query and every score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoptrail import Index, Settings
from hoptrail.corpus.keywords import keyword_words
from hoptrail.corpus.passage_graph import NAMES
from hoptrail.corpus.snapshot import SharedSnapshot, Snapshot
from hoptrail.corpus.view import EVERYTHING, View, checked_date, is_later
from hoptrail.errors import UsageError
from hoptrail.recipes.registry import recipe_names
from hoptrail.types import Document, Kind
from world import FACTS, HashingEncoder

SECRET = {
    "Vault": "The zanzibar vault is in Wrenmouth. Orla Finch designed the zanzibar vault in 1871.",
    "Isk mill": "The mill on the river Isk grinds zanzibar pepper.",
}
LABELS = ("public=*/public/*", "secret=*/secret/*")
QUESTIONS = ("Which river flows through Wrenmouth?", "What did Orla Finch design?", "zanzibar")
LOG = """# Log

The club meets on Mondays.

## 2024-03-05

The deposit is 20 euros.

## Fire of 2025-02-01

The deposit is 35 euros.
"""


def index_of(folder: Path, *groups: tuple[str, dict[str, str]], recipes: tuple[str, ...] = ("bm25", "dense")) -> Index:
    for group, facts in groups:
        (folder / group).mkdir(parents=True)
        for title, text in facts.items():
            (folder / group / f"{title}.txt").write_text(text, encoding="utf-8")
    index = Index(folder / "index", Settings(labels=LABELS))
    index.encoder = HashingEncoder()
    index.add([folder / group for group, _ in groups], recipes)
    return index


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """With everything that any recipe searches."""
    groups = (("public", FACTS), ("secret", SECRET))
    return index_of(tmp_path_factory.mktemp("whole"), *groups, recipes=tuple(recipe_names()))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The public documents by themselves."""
    return index_of(tmp_path_factory.mktemp("alone"), ("public", FACTS), recipes=tuple(recipe_names()))


@pytest.mark.parametrize("recipe", ["bm25", "dense", "hybrid", "trail"])
def test_what_is_hidden_changes_no_rank_and_no_score(whole: Index, alone: Index, recipe: str) -> None:
    for question in QUESTIONS:
        seen = whole.search(question, recipe, labels=["public"])
        expected = alone.search(question, recipe)
        assert [hit.unit.id for hit in seen] == [hit.unit.id for hit in expected]
        assert [hit.score for hit in seen] == pytest.approx([hit.score for hit in expected], abs=1e-6)


@pytest.mark.parametrize("recipe", recipe_names())
def test_no_recipe_tells_anything_of_what_is_hidden(whole: Index, recipe: str) -> None:
    for question in QUESTIONS[::2]:
        answer = whole.ask(question, recipe, labels=["public"])
        told = [hit.unit.searchable for hit in answer.ranking]
        told += [hit.unit.searchable for hop in answer.trail for hit in hop.hits if hit.channel != "memory"]
        told += [one.text for one in (*answer.evidence, *answer.closest)]
        assert not [text for text in told if "zanzibar" in text.lower()]


def test_every_query_object_leaves_it_out(whole: Index, alone: Index) -> None:
    seen = whole.corpus(whole.view(labels=["public"])).snapshot
    assert {entry.title for entry in seen.register.entries} == set(FACTS)
    assert {document.title for document in seen.documents()} == set(FACTS)
    assert len(seen.register) == len(FACTS)
    assert seen.count(Kind.PASSAGE) == alone.corpus().snapshot.count(Kind.PASSAGE)
    shown = set()
    for kind in seen.table.kinds:
        units = list(seen.units(kind))
        assert len(units) == seen.count(kind) == len(seen.search.matrix(kind)) == len(list(seen.table.ids(kind)))
        assert not [unit for unit in units if "zanzibar" in unit.searchable.lower()]
        shown |= {unit.id for unit in units}
    hidden = set().union(*(whole.corpus().snapshot.table.ids(kind) for kind in Kind)) - shown
    assert hidden
    for kind in Kind:
        assert not seen.table.stored(kind, hidden)
    for link in seen.links():
        assert not {link.source, link.target} & hidden
    assert not list(seen.extractions(hidden))
    assert seen.keywords.frequencies(["zanzibar"]).tolist() == [0]
    words = sorted({word for text in (*FACTS.values(), *SECRET.values()) for word in keyword_words(text)})
    expected = alone.corpus().snapshot.keywords.frequencies(words)
    assert seen.keywords.frequencies(words).tolist() == expected.tolist()
    assert not [key for key in seen.names.of(NAMES) if b"zanzibar" in key or b"vault" in key]


def test_views_follow_commits_and_are_let_go(tmp_path: Path) -> None:
    index = index_of(tmp_path, ("public", FACTS), ("secret", SECRET))
    view = index.view(labels=["public"])
    assert len(index.corpus(view).snapshot.register) == len(FACTS)
    (tmp_path / "public" / "New.txt").write_text("Heron Weir is new.", encoding="utf-8")
    index.add(tmp_path / "public")
    assert len(index.corpus(view).snapshot.register) == len(FACTS) + 1
    for year in range(1950, 1990):  # more than are kept
        assert index.search("Wrenmouth", "bm25", as_of=str(year))
    index.remove("New")
    assert len(index.corpus(view).snapshot.register) == len(FACTS)
    assert index.clean(), "no view keeps a removed text from being cleared"


def test_labels_that_there_are_not_are_refused(whole: Index) -> None:
    with pytest.raises(UsageError, match="no label unknown"):
        whole.ask("Who?", labels=["public", "unknown"])
    assert whole.search("Wrenmouth", "bm25", labels=[]) == ()


def test_a_document_read_in_two_places_has_the_labels_of_both_and_shows_one_place(tmp_path: Path) -> None:
    index = index_of(tmp_path, ("public", {"Both": "The pier is long."}), ("secret", {"Both": "The pier is long."}))
    for label in ("public", "secret"):
        (entry,) = index.corpus(index.view(labels=[label])).snapshot.register.entries
        assert [f"/{label}/" in source for source in entry.sources] == [True]


def test_an_upload_has_a_label_by_its_name_wherever_the_index_lies(tmp_path: Path) -> None:
    uploads = tmp_path / "public" / "index" / "uploads" / f"n{'0' * 20}.jsonl"
    uploads.parent.mkdir(parents=True)
    lines = [{"id": name, "title": name, "text": f"It is about {name}."} for name in ("news.txt", "private.txt")]
    uploads.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    index = Index(tmp_path / "index", Settings(labels=(*LABELS, "uploaded=#news*")))
    index.encoder = HashingEncoder()
    index.add(uploads, ["bm25"])
    found = {label: index.search("about", "bm25", labels=[label]) for label in ("public", "uploaded")}
    assert [[hit.unit.title for hit in hits] for hits in found.values()] == [[], ["news.txt"]]


# --- dates


@pytest.mark.parametrize(
    ("one", "than", "later"),
    [
        ("2024-03-06", "2024-03-05", True),
        ("2024-03-05", "2024-03-05", False),
        ("2024-03", "2024-03-05", False),
        ("2024-04", "2024-03-05", True),
        ("2024-03-05", "2024", False),
        ("2025", "2024-12-31", True),
        ("", "2024", False),
    ],
)
def test_dates_are_compared_as_far_as_both_say(one: str, than: str, later: bool) -> None:
    assert is_later(one, than) is later


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2024-13", "2024-02-30", "24", "2024-3-5", "2024-03-05T10:00", "٢٠٢٤"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a date"):
        checked_date(text)


def test_what_was_said_later_is_not_seen_and_what_has_no_date_is(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "log.md").write_text(LOG, encoding="utf-8")
    (folder / "2026-01-01 leaflet.md").write_text("The deposit is 50 euros.", encoding="utf-8")
    (folder / "rules.txt").write_text("The deposit is paid in cash.", encoding="utf-8")
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add(folder, ["bm25", "trail"])
    said = {
        "2023": {"cash", "Mondays"},
        "2024-03-04": {"cash", "Mondays"},
        "2024-03": {"cash", "Mondays", "20 euros"},
        "2025-12-31": {"cash", "Mondays", "20 euros", "Fire", "35 euros"},
        "2026": {"cash", "Mondays", "20 euros", "Fire", "35 euros", "50 euros"},
    }
    texts: dict[str, Document] = {document.id: document for document in index.corpus().snapshot.documents()}
    for as_of, expected in said.items():
        snapshot = index.corpus(View(as_of)).snapshot
        units = [unit for kind in snapshot.table.kinds for unit in snapshot.units(kind)]
        told = " ".join(unit.searchable for unit in units)
        assert {word for word in said["2026"] if word in told} == expected, as_of
        for unit in units:
            if unit.kind in {Kind.PASSAGE, Kind.SENTENCE}:
                assert texts[unit.document].slice(unit.sources[0]) == unit.text
                assert not unit.sentence_ends or unit.sentence_ends[-1] == len(unit.text)
        hits = index.search("deposit", "bm25", as_of=as_of)
        assert hits
        assert not [hit for hit in hits if is_later("2025", as_of) and "35 euros" in hit.unit.text]


def test_without_a_view_nothing_is_put_before_the_tables(whole: Index) -> None:
    with Snapshot.open(whole.folder) as snapshot, Snapshot.open(whole.folder, EVERYTHING) as same:
        assert snapshot.count(Kind.PASSAGE) == same.count(Kind.PASSAGE)
        assert not snapshot._database.rows("SELECT name FROM temp.sqlite_schema")


def test_what_is_hidden_is_looked_up_by_an_index(whole: Index) -> None:
    with Snapshot.open(whole.folder, View(documents=frozenset())) as snapshot:
        plans = [
            " ".join(map(str, row))
            for table in ("units", "documents", "sources")
            for row in snapshot._database.rows(f"EXPLAIN QUERY PLAN SELECT 1 FROM {table}")
        ]
    assert not [plan for plan in plans if "SCAN temp" in plan or "SUBQUERY" in plan], plans


def test_what_the_garbage_collector_gives_back_waits_for_nothing(whole: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may do so in the very thread that is about to read."""
    shared = SharedSnapshot(whole.folder)
    _, give_back = shared.lease()
    is_current = Snapshot.is_current

    def collecting(self: Snapshot) -> bool:
        give_back()
        return is_current(self)

    monkeypatch.setattr(Snapshot, "is_current", collecting)
    snapshot, give_back_again = shared.lease()
    monkeypatch.undo()
    assert list(snapshot.documents())
    give_back_again()
    with shared.reading() as again:
        assert again is snapshot
    shared.move_to(whole.folder)
