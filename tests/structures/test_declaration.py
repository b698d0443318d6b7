"""Adding a structure takes one class and one line: everything else is done for all."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from hoptrail.corpus.structure_names import EXTRACTIONS, PASSAGES
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted, UsageError
from hoptrail.setting_limits import _limits_of
from hoptrail.structures import catalogue, declaration
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.catalogue import StructureSettings, structures_by_name, with_foundations
from hoptrail.structures.declaration import Derived, Name, Row
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Kind, Unit, content_id
from structures.site import Rules, Site, names_of
from world import Counting, make_document


@dataclass(frozen=True, slots=True)
class OpeningSettings:
    words: int = 2


@dataclass(frozen=True, slots=True)
class FirstWords(Derived):
    """The first words of each passage, which it is named by: all that a new structure has to say."""

    settings: OpeningSettings = field(default_factory=OpeningSettings)
    name = "openings"
    built_from = (PASSAGES,)
    units = (Kind.FACT,)
    names = ("opening",)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Row]:
        snapshot = context.writer.snapshot()
        every = snapshot.table.within(Kind.PASSAGE, documents)
        for passage in every:
            text = " ".join(passage.text.split()[: self.settings.words])
            unit = Unit(content_id("f", passage.id, text), Kind.FACT, passage.title, text, passage.sources)
            yield unit
            yield Name("opening", text, passage.id)


def said(site: Site) -> dict[str, str]:
    return {unit.title: unit.text for unit in site.units(Kind.FACT).values()}


def named(site: Site) -> dict[str, str]:
    passages = site.units(Kind.PASSAGE)
    return {passages[id_].title: key for key, id_ in names_of(site.snapshot, "opening")}


@pytest.mark.parametrize("follow", [True, False])
def test_rows_come_go_and_stay_with_their_documents(
    tmp_path: Path, documents: list[Document], follow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "_RUN", 2)
    site = Site(tmp_path)
    site.build(FirstWords(), add=documents[1:])
    assert said(site) == {one.title: " ".join(one.text.split()[:2]) for one in documents[1:]}
    assert named(site) == said(site)
    site.encoder.texts.clear()
    site.build(FirstWords(), add=documents[:1], remove=documents[-1:], follow=follow)
    assert said(site).keys() == {one.title for one in documents[:-1]}
    assert named(site) == said(site)
    assert [text for text in site.encoder.texts if len(text.split("\n")[1].split()) <= 2] == [
        f"{documents[0].title}\n{said(site)[documents[0].title]}"
    ]
    commit = site.snapshot.commit
    site.build(FirstWords(), follow=follow)
    assert site.snapshot.commit == commit


def test_what_is_out_of_date_goes_and_a_stopped_build_goes_on(
    tmp_path: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    site = Site(tmp_path)
    site.build(FirstWords(), add=documents)
    site.encoder.texts.clear()
    with writing_to(tmp_path, site.encoder.identity) as writer:
        left = iter([None, None])

        def pause() -> None:
            writer.checkpoint()
            if next(left, "stop"):
                raise Interrupted("stopped")

        with pytest.raises(Interrupted):
            FirstWords(OpeningSettings(3)).update(BuildContext(writer, site.encoder, ignore, pause))
    done = len(site.encoder.texts)
    assert 0 < done < len(documents)
    site.build(FirstWords(OpeningSettings(3)))
    assert len(site.encoder.texts) == len(documents)
    assert said(site) == {one.title: " ".join(one.text.split()[:3]) for one in documents}
    assert named(site) == said(site)


def test_of_a_document_all_units_are_kept_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "BATCH", 1)
    encoder, counts = Counting(), set[int]()
    documents = [make_document(f"Page {number}", "One word here. " * 30) for number in range(3)]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        structure = structures_by_name(PassageLimits(words=9, short_document_words=0))[PASSAGES]

        def pause() -> None:
            counts.update(writer.snapshot().table.passages_by_document().values())

        structure.update(BuildContext(writer, encoder, ignore, pause))
        assert counts == {writer.snapshot().count(Kind.PASSAGE) // 3}


def test_every_structure_writes_nothing_twice_and_discards_what_is_its_own(
    tmp_path: Path, documents: list[Document]
) -> None:
    site, structures = Site(tmp_path), list(structures_by_name(PassageLimits()).values())
    site.build(*structures, add=documents, language=Rules())
    commit, encoded = site.snapshot.commit, len(site.encoder.texts)
    site.build(*structures, language=Rules())
    assert (site.snapshot.commit, len(site.encoder.texts)) == (commit, encoded)
    before = site.snapshot.numbered.count()
    assert all(before[kind] for structure in structures for kind in structure.units)
    for structure in structures:
        with writing_to(tmp_path, site.encoder.identity) as writer:
            structure.discard(writer)
            left = writer.snapshot()
            assert not [link for link in structure.links if left.graph.count()[link]]
            assert not [name for name in structure.names if left.names.of(name)]
            assert len(left.register) == len(documents)
            assert (not set(left.table.extracted())) == (structure.name in {PASSAGES, EXTRACTIONS})
            expected = {kind: count for kind, count in before.items() if kind not in structure.units}
            assert {**left.numbered.count(), Kind.SUMMARY: 0} == {**expected, Kind.SUMMARY: 0}, structure.name


@pytest.mark.parametrize("structure", [one.name for one in fields(StructureSettings)])
def test_every_limit_of_a_setting_is_heeded(structure: str) -> None:
    settings: Any = getattr(StructureSettings(), structure)
    kind: Any = type(settings)
    for name, limit in _limits_of(kind):
        for beyond in (value for value in (-1, 0, 0.0, 1.0, 1.5) if not limit.holds(value)):
            with pytest.raises(UsageError, match=f"{name} {limit.said}, not {beyond}"):
                replace(settings, **{name: beyond})


def test_one_line_in_the_catalogue_is_all_that_a_new_structure_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = (*catalogue.structure_classes(), FirstWords)
    monkeypatch.setattr(catalogue, "structure_classes", lambda: classes)
    assert ("openings", OpeningSettings) in [(name, kind) for name, kind, _ in catalogue._settings_fields()]
    known = structures_by_name(PassageLimits())
    assert known["openings"] == FirstWords()
    assert [structure.name for structure in with_foundations(["openings"], known)] == ["passages", "openings"]


def test_every_structure_declares_what_it_alone_holds() -> None:
    held = [kind for one in catalogue.structure_classes() for kind in (*one.units, *one.links)]
    assert len(held) == len(set(held))
    names = [one.name for one in catalogue.structure_classes()]
    for place, one in enumerate(structures_by_name(PassageLimits()).values()):
        assert set(one.built_from) <= set(names[:place])
