"""Building elsewhere gives what building here gives: the same rows, whoever is killed on the way, and no call beyond a limit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from command import Hoptrail
from fakeai.brains import task_of
from fakeai.clients import point_at
from fakeai.server import Body, FakeAI, serving
from far_work import DyingEncoder, FarEncoder
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import BudgetExhausted
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.index.index import Index
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import IndexingReport
from hoptrail.language import task_batches
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.ledger import FILE, RememberedReplies
from hoptrail.structures import declaration, encoding, passages
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind
from hoptrail_papers import nearest
from hoptrail_scale.on_ray import RayExecutor

pytestmark = pytest.mark.ray

PLACES = ["Wrenmouth", "Dunmere", "Lindeth", "Arrowby", "Skell", "Ister", "Corran", "Marrow", "Tolland", "Quay"]
LATER = "Marrow 27"
"""A document in the middle of the corpus."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sixty documents in a JSONL file, and three files beside it, one of which cannot be read."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = []
    for number in range(60):
        here, there = PLACES[number % 10], PLACES[(number * 7 + 3) % 10]
        text = (
            f"{here} {number} is a town near {there}. Orla Finch designed its bridge in {1800 + number}. It has a port."
        )
        lines.append(json.dumps({"id": f"{number}", "title": f"{here} {number}", "text": text}))
    (folder / "towns.jsonl").write_text("\n".join([*lines, "{broken"]), encoding="utf-8")
    (folder / "note.md").write_text("# Isk\n\nThe Isk is a river. It flows through Wrenmouth.", encoding="utf-8")
    (folder / "page.html").write_text("<title>Arrow</title><p>The Arrow is a river.</p>", encoding="utf-8")
    (folder / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    return folder


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small corpus has many."""
    monkeypatch.setattr(encoding, "TOGETHER", 4)
    monkeypatch.setattr(task_batches, "TOGETHER", 4)
    monkeypatch.setattr(passages, "SPLIT_DOCUMENTS", 8)
    monkeypatch.setattr(declaration, "BATCH", 16)
    monkeypatch.setattr(nearest, "BLOCK", 512)


def build(folder: Path, corpus: Path, encoder: FarEncoder, executor: Executor) -> IndexingReport:
    """Every structure that there is."""
    structures = list(structures_by_name(PassageLimits()).values())
    performer = BuildLanguage(OfflineLanguage(encoder))
    return update_index(folder, [corpus], encoder, structures, Watcher(), performer, executor)


def rows(folder: Path) -> dict[str, object]:
    """All that an index holds, row by row, vectors as bytes."""
    snapshot = Snapshot.open(folder)
    kinds = sorted(snapshot.table.kinds)
    mirrors = {kind: snapshot.search.vectors(kind) for kind in kinds}
    return {
        "documents": sorted(snapshot.documents(), key=lambda document: document.id),
        "units": {kind: sorted(snapshot.units(kind), key=lambda unit: unit.id) for kind in kinds},
        "vectors": {kind: (mirror.ids, mirror.matrix.tobytes()) for kind, mirror in mirrors.items()},
        "links": sorted(snapshot.links(), key=lambda link: (link.kind, link.source, link.target)),
        "extractions": sorted(snapshot.extractions()),
        "structures": snapshot.head.structures,
        "languages": snapshot.head.languages,
    }


def same(one: Path, other: Path) -> None:
    expected, found = rows(one), rows(other)
    assert found.keys() == expected.keys()
    for part, content in expected.items():
        assert found[part] == content, part


def outcome(report: IndexingReport) -> tuple[object, ...]:
    failures = [(failure.source, failure.reason) for failure in report.failures]
    return report.added, report.removed, report.documents, failures, report.notes, report.usage.calls


def test_an_index_built_on_ray_is_that_built_here(corpus: Path, tmp_path: Path, on_ray: RayExecutor) -> None:
    used = tmp_path / "used"
    used.mkdir()
    here = build(tmp_path / "here", corpus, FarEncoder(), LOCAL_EXECUTOR)
    there = build(tmp_path / "there", corpus, FarEncoder(folder=used), on_ray)
    assert outcome(there) == outcome(here)
    assert (here.added, len(here.failures)) == (62, 2)
    same(tmp_path / "here", tmp_path / "there")
    snapshot = Snapshot.open(tmp_path / "there")
    assert {Kind.PASSAGE, Kind.SENTENCE, Kind.SUMMARY, Kind.AGGREGATE, Kind.TRIPLE, Kind.SLOT} <= set(
        snapshot.table.kinds
    )
    assert {"dense-neighbours", "bm25-neighbours"} <= {link.kind for link in snapshot.links()}
    assert str(os.getpid()) not in {path.name for path in used.iterdir()}


def test_a_worker_that_is_killed_costs_nothing_but_time(corpus: Path, tmp_path: Path, on_ray: RayExecutor) -> None:
    used = tmp_path / "used"
    used.mkdir()
    here = build(tmp_path / "here", corpus, FarEncoder(), LOCAL_EXECUTOR)
    dying = DyingEncoder(folder=used, fatal=LATER, driver=os.getpid())
    there = build(tmp_path / "there", corpus, dying, on_ray)
    died = (used / "died").read_text()
    assert died != str(os.getpid())
    assert outcome(there) == outcome(here)
    same(tmp_path / "here", tmp_path / "there")


def test_the_real_encoder_gives_the_same_bytes_on_one_core_elsewhere(
    corpus: Path, tmp_path: Path, on_ray: RayExecutor
) -> None:
    index = Index(tmp_path / "here", Settings(recipe="sunar"))
    index.add([corpus])
    there = Index(tmp_path / "there", Settings(recipe="sunar"))
    there.add([corpus], on=on_ray)
    same(tmp_path / "here", tmp_path / "there")


@pytest.mark.usefixtures("on_ray")
def test_the_command_line_builds_on_ray(hoptrail: Hoptrail, world: Path, tmp_path: Path) -> None:
    built = hoptrail("index", world, "--index", tmp_path / "there", "--on", "ray")
    assert (built.code, hoptrail("index", world, "--index", tmp_path / "here").code) == (0, 0), built.err
    same(tmp_path / "here", tmp_path / "there")


# --- spending


def note_taker(body: Body) -> str:
    assert task_of(body) == "extract"
    return json.dumps({"entities": ["Finch"], "facts": []})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(note_taker)) as running:
        point_at(running, monkeypatch)
        yield running


def test_a_limit_on_spending_holds_whoever_works(
    corpus: Path, tmp_path: Path, on_ray: RayExecutor, fake: FakeAI
) -> None:
    """Chat tasks are asked by the process that holds the ledger, and by no worker."""
    plain = Settings(language="chat")
    settings = replace(plain, chat=replace(plain.chat, limit_calls=5, concurrency=3))
    index = Index(tmp_path / "index", settings)
    with pytest.raises(BudgetExhausted):
        index.add([corpus], ["sirerag"], on=on_ray)
    assert fake.bill.calls == 5
    replies = RememberedReplies(tmp_path / "index" / FILE)
    assert replies.ledger().calls == 5
    replies.close()
