"""The sentence graph of an index: what is linked, and that it stays true through additions, removals, stops and corrections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.errors import Interrupted
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.progress_tracker import ignore
from hoptrail.structures.sentences import Sentences, sentence_units
from hoptrail.types import Document, Extraction, Fact, Kind, Link, Usage
from hoptrail_papers import nearest
from hoptrail_papers.chainrag import linking, sentence_graph
from hoptrail_papers.chainrag.sentence_graph import EC, KINDS, SA, SS, SentenceGraphSettings, SentenceLinks
from structures.site import Site
from world import FACTS, Counting, HashingEncoder, make_document, make_passage

ENCODER = HashingEncoder()
WORLD = [make_document(title, text) for title, text in FACTS.items()]
ISLANDS = [
    make_document(
        f"Island {number}",
        f"Island {number} has a lighthouse. Its keeper is Keeper {number % 7}. "
        f"Ships sail to Port {number % 5}. It is so. It is so.",
    )
    for number in range(40)
]


def put(writer: Writer, documents: Sequence[Document]) -> None:
    """Documents with whole-document passages."""
    passages = [make_passage(document) for document in documents if document.text]
    writer.put_documents(documents)
    writer.put_units(passages, ENCODER.encode([passage.searchable for passage in passages]))


def update(
    folder: Path,
    documents: Sequence[Document] = (),
    settings: SentenceGraphSettings | None = None,
    pause: Callable[[Writer], None] | None = None,
    change: Callable[[Writer], object] = lambda _: None,
) -> bool:
    """Add documents, change what `change` changes, bring everything up to date; whether links were written."""
    with writing_to(folder, ENCODER.identity) as writer:
        put(writer, documents)
        change(writer)
        plain = BuildContext(writer, ENCODER, ignore, writer.checkpoint, OfflineLanguage())
        Extractions().update(plain)
        Sentences().update(plain)
        writer.publish(Usage())
        stop = pause or Writer.checkpoint
        with suppress(Interrupted):
            SentenceLinks(settings or SentenceGraphSettings()).update(
                BuildContext(writer, ENCODER, ignore, lambda: stop(writer))
            )
        changed = writer.changed
        writer.publish(Usage())
    return changed


def links(folder: Path) -> set[Link]:
    found = list(Snapshot.open(folder).links())
    assert len({(link.source, link.target, link.kind) for link in found}) == len(found)
    return set(found)


def ends(found: set[Link]) -> set[tuple[str, str, str]]:
    """Links without their weights, which depend on what else was there."""
    return {(link.source, link.target, link.kind) for link in found}


def texts(folder: Path, kind: str) -> set[frozenset[str]]:
    units = {unit.id: unit.text for unit in Snapshot.open(folder).units(Kind.SENTENCE)}
    return {frozenset((units[link.source], units[link.target])) for link in links(folder) if link.kind == kind}


def test_links_are_typed_weighted_parallel_and_without_direction(tmp_path: Path) -> None:
    update(tmp_path, WORLD)
    found = links(tmp_path)
    sentences = {unit.id: unit for unit in Snapshot.open(tmp_path).units(Kind.SENTENCE)}
    assert {link.kind for link in found} == set(KINDS)
    assert all(link.source < link.target and 0 < link.weight <= 1.00001 for link in found)
    assert {link.source for link in found} | {link.target for link in found} <= sentences.keys()
    pairs = [(link.source, link.target) for link in found]
    assert len(set(pairs)) < len(pairs)
    adjacent = {(link.source, link.target) for link in found if link.kind == SA}
    assert all(sentences[a].document == sentences[b].document for a, b in adjacent)
    assert len(adjacent) == sum(text.count(". ") for text in FACTS.values())
    assert frozenset((FACTS["Wrenmouth"].split(". ")[0] + ".", FACTS["Orla Finch"].split(". ")[0] + ".")) in texts(
        tmp_path, EC
    )


def test_a_second_update_writes_nothing(tmp_path: Path) -> None:
    lonely = make_document("Nowhere", "Zqx.")
    assert update(tmp_path, [*WORLD, lonely])
    before = links(tmp_path)
    assert not update(tmp_path)
    assert links(tmp_path) == before


def test_the_order_of_documents_changes_nothing(tmp_path: Path) -> None:
    update(tmp_path / "one", ISLANDS)
    update(tmp_path / "two", ISLANDS[::-1])
    assert links(tmp_path / "one") == links(tmp_path / "two")


def test_a_stopped_build_comes_to_the_same_end(tmp_path: Path) -> None:
    update(tmp_path / "whole", ISLANDS)

    def stop(writer: Writer) -> None:
        writer.checkpoint()
        raise Interrupted("enough")

    update(tmp_path / "parts", ISLANDS, pause=stop)
    assert not links(tmp_path / "parts")
    update(tmp_path / "parts")
    assert links(tmp_path / "parts") == links(tmp_path / "whole")


def test_a_graph_that_is_made_in_parts_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is brought up to date, and where neighbours are sought in cells."""
    settings = SentenceGraphSettings(exact_up_to=20)
    monkeypatch.setattr(nearest, "CELL", 20)
    monkeypatch.setattr(sentence_graph, "PROBES", 3)
    for folder, together in (("whole", 1 << 16), ("parts", 50)):
        monkeypatch.setattr(linking, "TOGETHER", together)
        for some in (ISLANDS[:30], ISLANDS[30:]):
            update(tmp_path / folder, some, settings)
    assert links(tmp_path / "parts") == links(tmp_path / "whole")
    assert {link.kind for link in links(tmp_path / "parts")} == set(KINDS)
    assert not update(tmp_path / "parts", settings=settings)


def test_a_new_document_brings_its_own_links_and_leaves_the_others(tmp_path: Path) -> None:
    update(tmp_path, ISLANDS[:30])
    before = links(tmp_path)
    update(tmp_path, ISLANDS[30:31])
    new = {unit.id for unit in sentence_units(ISLANDS[30])}
    after = links(tmp_path)
    assert before < after
    assert all({link.source, link.target} & new for link in after - before)
    assert {link.kind for link in after - before} == set(KINDS)


def test_what_more_sentences_name_than_the_settings_allow_links_none(tmp_path: Path) -> None:
    update(tmp_path / "all", WORLD)
    update(tmp_path / "none", WORLD, SentenceGraphSettings(entity_most=1))
    assert {link for link in links(tmp_path / "all") if link.kind != EC} == links(tmp_path / "none")
    assert any(link.kind == EC for link in links(tmp_path / "all"))


def test_entities_of_little_importance_link_none_where_a_share_of_them_is_chosen(tmp_path: Path) -> None:
    """Only links by entities go, the others stay."""
    settings = SentenceGraphSettings(entity_floor=1000, entity_most=1000, entity_links=1000)
    for share in (1.0, 0.6, 0.1):
        update(tmp_path / str(share), ISLANDS, replace(settings, key_share=share))
    every, some, few = (links(tmp_path / share) for share in ("1.0", "0.6", "0.1"))
    shared = [sum(link.kind == EC for link in found) for found in (every, some, few)]
    assert shared[0] > shared[1] >= shared[2]
    assert {link for link in every if link.kind != EC} == {link for link in some if link.kind != EC}


def test_a_removed_document_takes_its_links_and_no_others(tmp_path: Path) -> None:
    update(tmp_path, ISLANDS)
    before = links(tmp_path)
    gone = {unit.id for unit in sentence_units(ISLANDS[3])}
    update(tmp_path, change=lambda writer: writer.remove_documents([ISLANDS[3].id]))
    assert links(tmp_path) == {link for link in before if not {link.source, link.target} & gone}


def test_sentences_that_lose_a_like_one_get_the_next(tmp_path: Path) -> None:
    """As if what was removed had never been there, for the sentences that were linked with it."""
    settings, alike = (
        SentenceGraphSettings(neighbours=1),
        [make_document(f"D{at}", f"Boats sail {at}.") for at in range(3)],
    )
    site = Site(tmp_path / "index", encoder=Counting(dimension=256))
    parts: list[Structure] = [Extractions(), Sentences(), SentenceLinks(settings)]
    site.build(*parts, add=alike, language=OfflineLanguage())
    (pair,) = (link for link in links(site.folder) if link.kind == SS)
    ours = {unit.id: document for document in alike for unit in sentence_units(document)}
    site.build(*parts, remove=[ours[pair.source]], language=OfflineLanguage(), follow=True)
    left = {id_ for id_, document in ours.items() if document is not ours[pair.source]}
    (after,) = (link for link in links(site.folder) if link.kind == SS)
    assert {after.source, after.target} == left


def test_repeated_sentences_are_linked_one_by_one(tmp_path: Path) -> None:
    echo = make_document("Echo", "It is so. It is so. It is so.")
    update(tmp_path, [echo])
    assert sum(link.kind == SS for link in links(tmp_path)) == 3
    assert {round(link.weight, 5) for link in links(tmp_path) if link.kind == SS} == {1.0}


@pytest.mark.parametrize("documents", [[], [make_document("One", "One.")], [make_document("Nothing", "")]])
def test_nothing_to_link_is_fine(tmp_path: Path, documents: list[Document]) -> None:
    assert not update(tmp_path, documents)
    assert links(tmp_path) == set()


def test_text_without_entities_is_linked_by_place_and_likeness(tmp_path: Path) -> None:
    update(tmp_path, [make_document("", "it rains and rains. it rains again."), make_document("", "again it rains.")])
    assert {link.kind for link in links(tmp_path)} == {SA, SS}


def test_dates_and_numbers_link_only_when_asked_to(tmp_path: Path) -> None:
    documents = [make_document("", f"it was {verb} in 1871.") for verb in ("built", "burnt", "sold")]
    update(tmp_path / "without", documents)
    update(tmp_path / "with", documents, SentenceGraphSettings(dates=True))
    assert texts(tmp_path / "without", EC) == set()
    assert len(texts(tmp_path / "with", EC)) == 3


def test_links_of_entities_that_are_found_later_are_made_then(tmp_path: Path) -> None:
    update(tmp_path / "whole", WORLD)
    late = make_passage(WORLD[0])

    def forget(writer: Writer) -> None:
        writer.put_extractions({late.id: Extraction((), ())})

    update(tmp_path / "late", WORLD, change=forget)
    assert ends(links(tmp_path / "late")) < ends(links(tmp_path / "whole"))
    found = dict(Snapshot.open(tmp_path / "whole").extractions())[late.id]
    update(tmp_path / "late", change=lambda writer: writer.put_extractions({late.id: found}))
    assert ends(links(tmp_path / "late")) == ends(links(tmp_path / "whole"))


def test_links_of_entities_that_nobody_finds_any_more_go(tmp_path: Path) -> None:
    update(tmp_path, WORLD)
    others = {link for link in links(tmp_path) if link.kind != EC}
    named = [make_passage(WORLD[at]) for at in (0, 3)]
    found = {passage.id: Extraction(("Somebody",), (Fact("", ("Somebody",), passage.sources[0]),)) for passage in named}

    def replace(writer: Writer) -> None:
        writer.drop_extractions()
        writer.put_extractions({make_passage(document).id: Extraction((), ()) for document in WORLD} | found)

    update(tmp_path, change=replace)
    assert {link for link in links(tmp_path) if link.kind != EC} == others
    ids = {unit.id for at in (0, 3) for unit in sentence_units(WORLD[at])}
    by_entity = [link for link in links(tmp_path) if link.kind == EC]
    assert len(by_entity) == 6
    assert all({link.source, link.target} <= ids for link in by_entity)


def test_passages_that_were_cut_anew_are_adjacent_anew(tmp_path: Path) -> None:
    document = WORLD[4]
    update(tmp_path, [document])
    (first, second) = sentence_units(document)
    whole = make_passage(document)

    def cut(writer: Writer) -> None:
        writer.remove_units(Kind.PASSAGE, [whole.id])
        halves = [
            type(whole)(f"p{unit.id}", Kind.PASSAGE, unit.title, unit.text, unit.sources) for unit in (first, second)
        ]
        writer.put_units(halves, ENCODER.encode([half.searchable for half in halves]))

    assert any(link.kind == SA for link in links(tmp_path))
    update(tmp_path, change=cut)
    assert {link.kind for link in links(tmp_path)} == {SS, EC}


def test_adjacent_sentences_that_lost_their_links_get_them_again(tmp_path: Path) -> None:
    update(tmp_path, WORLD)
    before = links(tmp_path)
    update(tmp_path, change=lambda writer: writer.links.drop(SA))
    assert links(tmp_path) == before
    assert {link.kind for link in before} == {SA, SS, EC}


def test_settings_make_the_fingerprint() -> None:
    prints = {
        SentenceLinks(SentenceGraphSettings(neighbours=5)).fingerprint,
        SentenceLinks(SentenceGraphSettings(dates=True)).fingerprint,
        SentenceLinks().fingerprint,
    }
    assert len(prints) == 3
