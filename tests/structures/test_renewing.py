"""Stored units are brought to what they should be, also where they are too many to hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.errors import Interrupted
from hoptrail.store.writer import Writer, writing_to
from hoptrail.structures import renewing
from hoptrail.structures.building import Workshop, report_nothing
from hoptrail.structures.renewing import renew_units
from hoptrail.types import Kind, Link, Span, Unit
from world import Counting, make_document

ISLE = make_document("Isle", "Text.")


def unit(name: str, text: str = "", title: str = "Isle") -> Unit:
    return Unit(name, Kind.SENTENCE, title, text or f"text of {name}", (Span(ISLE.id, 0, 4),))


def renew(workshop: Workshop, wanted: list[Unit]) -> None:
    renew_units(workshop, Kind.SENTENCE, iter(wanted))


def stored(writer: Writer) -> list[Unit]:
    return sorted(writer.snapshot().units(Kind.SENTENCE), key=lambda unit: unit.id)


def test_what_is_new_or_differs_is_encoded_and_what_is_not_wanted_goes(tmp_path: Path) -> None:
    encoder = Counting()
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents([ISLE])
        workshop = Workshop(writer, encoder, report_nothing, writer.checkpoint)
        first = [unit("a"), unit("b"), unit("c"), unit("d")]
        renew(workshop, first)
        writer.put_links([Link("b", "a", "names", 1.0), Link("c", "a", "names", 1.0)])
        assert stored(writer) == first
        encoder.texts.clear()
        second = [unit("a"), unit("c", "another text"), unit("d", title="Island"), unit("e")]
        renew(workshop, second)
        assert stored(writer) == second
        assert sorted(encoder.texts) == ["Island\ntext of d", "Isle\nanother text", "Isle\ntext of e"]
        assert [link.source for link in writer.snapshot().links()] == ["c"]
        writer.checkpoint()
        commit = writer.snapshot().view.commit
        renew(workshop, second)
        writer.checkpoint()
        assert writer.snapshot().view.commit == commit


def test_a_stopped_run_goes_on_after_its_last_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewing, "BATCH", 2)
    encoder = Counting()
    wanted = [unit(name) for name in "abcdefg"]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents([ISLE])
        left = iter([None, None])

        def pause() -> None:
            writer.checkpoint()
            if next(left, "stop"):
                raise Interrupted("stopped")

        with pytest.raises(Interrupted):
            renew(Workshop(writer, encoder, report_nothing, pause), wanted)
        kept = len(stored(writer))
        assert 0 < kept < len(wanted)
        encoder.texts.clear()
        renew(Workshop(writer, encoder, report_nothing, writer.checkpoint), wanted)
        assert stored(writer) == wanted
        assert len(encoder.texts) == len(wanted) - kept
