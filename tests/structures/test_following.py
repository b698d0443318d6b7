"""Following documents that come and go comes to what looking at everything comes to, and looks at little."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pytest

from hoptrail.corpus.passage_graph import NAMES
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.structures import title_mentions
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Row, Structure
from hoptrail.structures.extractions import Extractions, Facts
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions, affected_sentences, changed_names, title_index
from hoptrail.text import title_scanning
from hoptrail.types import Document, Kind
from hoptrail_papers.comprag.triples import Triples
from hoptrail_papers.hirag.profiles import Profiles
from structures.site import Site, names_of
from world import make_document, make_passage

ALL = (Extractions(), Facts(), Profiles(), Sentences(), Triples(), TitleMentions())
SMALL = (Extractions(), Sentences(), TitleMentions())
TITLES = [
    "Grey",
    "Grey Hills",
    "Grey (novel)",
    "The",
    "Élan Vale",
    "Elan Vale",
    "1984",
    "Orla Finch",
    "Straße",
    "Москва",
]
SAID = [*TITLES, "Dunmere", "strasse", "grey  hills", "Finch", "The Grey-Hills", "ELAN_VALE", "Hills"]
LIMITS = PassageLimits(words=14)


def some_document(lot: random.Random) -> Document:
    said = [f"{lot.choice(SAID)} {lot.choice(('met', 'saw'))} {lot.choice(SAID)}." for _ in range(lot.randint(1, 6))]
    return make_document(lot.choice(TITLES), " ".join(said))


def contents(snapshot: Snapshot) -> dict[str, object]:
    """A slot's source may be any of the triples that it stands in."""
    return {
        "units": sorted(
            str(unit) for kind in snapshot.table.kinds if kind is not Kind.SLOT for unit in snapshot.units(kind)
        ),
        "slots": sorted(snapshot.table.ids(Kind.SLOT)),
        "extractions": dict(snapshot.extractions()),
        "names": sorted(names_of(snapshot, NAMES)),
    }


def looked_at_all(
    looked: list[str],
    site: Site,
    *structures: Structure,
    add: Sequence[Document] = (),
    remove: Sequence[Document] = (),
) -> bool:
    """One run that is told what has happened; whether it looked at every sentence."""
    looked.clear()
    site.build(*structures, add=add, remove=remove, language=OfflineLanguage(), follow=True)
    return bool(looked)


def anew(folder: Path, documents: Sequence[Document], structures: Sequence[Structure]) -> dict[str, object]:
    site = Site(folder, limits=LIMITS)
    site.build(*structures, add=documents, language=OfflineLanguage())
    return contents(site.snapshot)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Marks of the runs that looked at everything; bounds are as low as a small world needs to pass them."""
    looked: list[str] = []

    rows = TitleMentions.rows

    def counting(mentions: TitleMentions, context: BuildContext, documents: Collection[str] | None) -> Iterator[Row]:
        if documents is None:
            looked.append(mentions.name)
        return rows(mentions, context, documents)

    monkeypatch.setattr(TitleMentions, "rows", counting)
    monkeypatch.setattr(title_mentions, "SHARE", 1.0)
    monkeypatch.setattr(title_scanning, "MOST_NAMESAKES", 3)
    return looked


@pytest.mark.parametrize("structures", [ALL, SMALL])
def test_following_comes_to_what_building_anew_comes_to(
    tmp_path: Path, structures: Sequence[Structure], counted: list[str]
) -> None:
    lot = random.Random(5)
    site = Site(tmp_path / "followed", limits=LIMITS)
    documents = [some_document(lot) for _ in range(8)]
    site.build(*structures, add=documents, language=OfflineLanguage())
    for turn in range(4):
        went = lot.sample(documents, lot.randint(0, 3))
        come = {document.id: document for document in (some_document(lot) for _ in range(lot.randint(0, 3)))}
        new = [document for id_, document in come.items() if id_ not in {one.id for one in documents}]
        new += went[:1] if turn % 3 == 0 else []  # goes and comes again
        assert not looked_at_all(counted, site, *structures, add=new, remove=went)
        documents = [one for one in documents if one not in went] + new
        assert contents(site.snapshot) == anew(tmp_path / str(turn), documents, structures)


@pytest.mark.parametrize(
    ("bound", "value"), [("MOST_NAMES", 0), ("SHARE", 0.0), ("MOST_SENTENCES", 0), ("MOST_PASSAGES", 0)]
)
def test_where_too_much_is_renamed_all_is_looked_at(
    tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    monkeypatch.setattr(title_mentions, bound, value)
    hills, walk = make_document("Grey Hills", "Hills."), make_document("Walk", "She saw Grey Hills.")
    site = Site(tmp_path / "followed", limits=LIMITS)
    site.build(*SMALL, add=[walk], language=OfflineLanguage())
    assert looked_at_all(counted, site, *SMALL, add=[hills])
    assert contents(site.snapshot) == anew(tmp_path / "anew", [walk, hills], SMALL)


def test_titles_that_no_text_is_looked_through_for_are_followed_too(tmp_path: Path, counted: list[str]) -> None:
    walk, long = make_document("Walk", "The walk. It was long."), " ".join(f"word{number}" for number in range(13))
    titled = [make_document("The", "A word."), make_document(long, "Long."), make_document("A (b) [c", "Signs.")]
    site = Site(tmp_path / "followed", limits=LIMITS)
    site.build(*SMALL, add=[walk], language=OfflineLanguage())
    assert not looked_at_all(counted, site, *SMALL, add=titled)
    assert contents(site.snapshot) == anew(tmp_path / "anew", [walk, *titled], SMALL)


def test_only_sentences_that_say_a_renamed_name_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(title_mentions, "SHARE", 1.0)
    site = Site(tmp_path, limits=LIMITS)
    walk = make_document("Walk", "She saw Grey Hills. She saw Élan. Greyhills rise. The grey hills rise.")
    site.build(*SMALL, add=[walk], language=OfflineLanguage())
    with writing_to(tmp_path, site.encoder.identity) as writer:
        hills = make_document("Grey Hills", "Hills.")
        writer.put_documents([hills])
        passage = make_passage(hills)
        writer.put_units([passage], site.encoder.encode([passage.text]))
        now, change = writer.snapshot(), writer.change
        assert change is not None
        assert changed_names(now, change, title_index(now)) == frozenset({"grey hills"})
        naming = affected_sentences(now, change, title_index(now))
        assert naming is not None
        assert [unit.text for unit in naming] == ["She saw Grey Hills."]
