"""An index of version 0.1 is carried over with all that was paid for (`old_index/README.md` says how that one was made)."""

from __future__ import annotations

import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from fakeai.server import FakeAI, serving
from hoptrail import upgrading
from hoptrail.corpus.places import refuse_old_index
from hoptrail.errors import IndexDamaged, IndexMismatch, IndexUnavailable, Interrupted, UsageError
from hoptrail.index import Index
from hoptrail.indexing import Watcher
from hoptrail.models.chat import ChatSettings
from hoptrail.settings import Settings
from hoptrail.types import Kind

PACKED = Path(__file__).parent / "old_index" / "index.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "index"


@pytest.fixture
def readable(old: Path) -> Path:
    pytest.importorskip(
        "lancedb", reason="reading tables of version 0.1 needs the extra `upgrade`", exc_type=ImportError
    )
    return old


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def requests_of_building(folder: Path) -> int:
    """How often a model is asked when the structures of the old index are built again."""
    with serving(FakeAI(lambda _: "{}")) as fake:
        chat = ChatSettings(base_url=fake.address, model="scripted")
        report = Index(folder, Settings(language="chat", chat=chat)).add((), ("trail", "sirerag"))
    assert not report.notes
    return len(fake.log)


def test_all_that_was_paid_for_is_carried_over(readable: Path, tmp_path: Path) -> None:
    before, new = contents(readable), tmp_path / "new"
    lines = upgrading.upgrade(readable, new, Watcher())
    assert lines[0] == "carried over: 6 of 6 documents, 6 of 6 passages, 2 of 2 summaries, 6 of 6 extractions"
    assert contents(readable) == before
    assert (new / "replies.sqlite").read_bytes() == (readable / "replies.sqlite").read_bytes()
    assert requests_of_building(new) == 0
    index = Index(new)
    held = index.contents()
    assert held.units == Counter({Kind.PASSAGE: 6, Kind.SENTENCE: 17, Kind.AGGREGATE: 9, Kind.SUMMARY: 2})
    assert held.usage.calls == 8
    assert {source.rpartition("/")[2] for document in held.documents for source in document.sources} == {
        *(
            "Tallow Bridge.txt",
            "Orla Finch.txt",
            "River Isk.txt",
            "Wrenmouth.md",
            "people.jsonl#lark",
            "people.jsonl#college",
        )
    }
    assert index.verify()
    assert not index.unfinished()
    answer = index.ask("Where was the designer of the Tallow Bridge born?")
    assert answer.text == "Hallow Cross"


@pytest.mark.parametrize("step", ["_carry", "_build"])
def test_a_stopped_run_goes_on(step: str, readable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, whole = tmp_path / "new", getattr(upgrading, step)

    def stopped(*arguments: object) -> None:
        whole(*arguments)
        raise Interrupted("as if it was killed")

    with monkeypatch.context() as patched:
        patched.setattr(upgrading, step, stopped)
        with pytest.raises(Interrupted):
            upgrading.upgrade(readable, new, Watcher())
    assert upgrading.upgrade(readable, new, Watcher())[0].startswith("carried over: 6 of 6 documents")
    assert requests_of_building(new) == 0
    assert Index(new).contents().usage.calls == 8
    assert not (new / upgrading.MARK).exists()


@pytest.mark.parametrize("lost", ["head.lance/_versions", "documents.lance/data", "extractions.lance"])
def test_a_damaged_index_is_named(lost: str, readable: Path, tmp_path: Path) -> None:
    for path in contents(readable / lost):
        Path(path).unlink()
    with pytest.raises(IndexDamaged, match=r"index cannot be read as an index of hoptrail 0\.1"):
        upgrading.upgrade(readable, tmp_path / "new", Watcher())


def test_without_the_extra_the_error_says_how_to_install_it(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    assert upgrading.main([str(old), str(tmp_path / "new")]) == 2
    assert "`pip install 'hoptrail[upgrade]'`" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_folder_without_an_old_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"no index of hoptrail 0\.1"):
        upgrading.upgrade(tmp_path / "nothing", tmp_path / "new", Watcher())


def test_a_new_folder_that_is_not_empty_is_refused(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "upgraded-from").write_text("/elsewhere", encoding="utf-8")
    with pytest.raises(UsageError, match="is not empty, and holds no begun upgrade"):
        upgrading.upgrade(old, new, Watcher())
    with pytest.raises(UsageError, match="cannot be within"):
        upgrading.upgrade(old, old / "new", Watcher())


def test_the_refusal_of_an_old_index_names_the_command(old: Path) -> None:
    with pytest.raises(IndexMismatch, match=r"python -m hoptrail\.upgrading .*index NEW"):
        refuse_old_index(old)
