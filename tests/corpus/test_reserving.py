"""Numbers that are kept for links: of units that are still to come, and of units that went and may come again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corpus.worlds import add, made, vectors_of
from hoptrail.corpus.columns import Directed, numbers_of
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from world import make_passage


def link(writer: Writer, source: int, target: int) -> None:
    writer.links.put_edges("tree", Directed(numbers_of([source]), numbers_of([target]), np.ones(1)))


def linked(snapshot: Snapshot) -> list[tuple[str, str]]:
    edges = snapshot.graph.edges("tree")
    names = snapshot.numbered.ids_by_number(np.concatenate([edges.sources, edges.targets]))
    return [(names[a], names[b]) for a, b in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)]


def test_a_unit_that_comes_later_has_the_number_that_links_name(tmp_path: Path) -> None:
    first, second = made(2)
    late = make_passage(second)
    with writing_to(tmp_path) as writer:
        (number,) = add(writer, [first])
        (reserved,) = writer.links.reserve([late.id]).tolist()
        assert writer.links.reserve([late.id, make_passage(first).id]).tolist() == [reserved, number]
        link(writer, number, reserved)
        writer.commit()
        assert writer.snapshot().numbered.numbers([late.id]).tolist() == [0]
        assert writer.snapshot().numbered.numbers([late.id], reserved=True).tolist() == [reserved]
        assert linked(writer.snapshot()) == [(make_passage(first).id, late.id)]
        assert add(writer, [second]) == [reserved]
        writer.commit()
        assert linked(writer.snapshot()) == [(make_passage(first).id, late.id)]
        assert writer._database.rows("SELECT * FROM reserved") == []
    assert damage(tmp_path) == []


def test_links_of_a_unit_that_went_are_kept_for_it_if_asked(tmp_path: Path) -> None:
    documents = made(2)
    passages = [make_passage(document) for document in documents]
    for keep in (True, False):
        folder = tmp_path / str(keep)
        with writing_to(folder) as writer:
            first, second = add(writer, documents)
            link(writer, first, second)
            writer.commit()
            writer.remove_rows(numbers_of([second]), keep_links=keep)
            writer.commit()
        with writing_to(folder) as writer:
            assert writer.snapshot().numbered.numbers([passages[1].id]).tolist() == [0]
            assert linked(writer.snapshot()) == [(passages[0].id, passages[1].id)] * keep
            (again,) = writer.put_units(passages[1:], vectors_of(passages[1:])).tolist()
            assert (again == second) == keep
            writer.commit()
            assert linked(writer.snapshot()) == [(passages[0].id, passages[1].id)] * keep


def test_numbers_that_no_link_names_are_released(tmp_path: Path) -> None:
    with writing_to(tmp_path) as writer:
        (number,) = add(writer, made(1))
        kept, idle = writer.links.reserve(["kept", "idle"]).tolist()
        link(writer, number, kept)
        writer.links.release()
        writer.commit()
        assert writer._database.rows("SELECT id, number FROM reserved") == [("kept", kept)]
        writer.links.forget(numbers_of([kept]))
        writer.links.release()
        writer.commit()
        assert linked(writer.snapshot()) == []
        assert writer._database.rows("SELECT id FROM reserved") == []
        assert writer.links.reserve(["new"]).tolist()[0] > idle, "a number is never given again"


def test_names_with_null_characters_are_looked_up_as_others(tmp_path: Path) -> None:
    with writing_to(tmp_path) as writer:
        add(writer, made(1))
        odd, plain = writer.links.reserve(["a\0b", "a"]).tolist()
        assert odd != plain
        assert writer.snapshot().numbered.numbers(["a\0b", "a", "b"], reserved=True).tolist() == [odd, plain, 0]
        assert writer.snapshot().register.at(["\0"]) == writer.snapshot().register.titled(["\0", "x"]) == []
