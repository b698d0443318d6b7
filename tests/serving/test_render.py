"""Output in a terminal: document text is never markup, and everything important is shown."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from command import Hoptrail
from hoptrail.errors import DocumentError
from hoptrail.index.syncing import IndexingReport
from hoptrail.serving.render import plain, render_answer, render_indexing
from hoptrail.serving.render_evaluation import render_evaluation
from hoptrail.types import Answer, AnswerKind, Evidence, Hop, Kind, Statement, Trail, Verdict

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
MARKUP = "[bold red]loud[/] [link=http://evil.example]here[/link] :boom:"


@given(text=st.text())
def test_plain_text_is_one_printable_line(text: str) -> None:
    shown = plain(text).plain
    assert all(character.isprintable() for character in shown)
    assert shown.split() == "".join(character if character.isprintable() else " " for character in text).split()


def test_nothing_from_a_document_reaches_the_terminal_as_a_command(
    hoptrail: Hoptrail, tmp_path: Path, tiny: Path
) -> None:
    rows = [
        {
            "id": f"{ESCAPES}x",
            "title": f"Isk {MARKUP} {ESCAPES}",
            "text": f"The river Isk rises in {MARKUP} {ESCAPES} Hallin.",
        },
        {"id": "bad", "title": f"{ESCAPES}"},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = ["--index", tmp_path / "index", "--settings", tiny]
    printed = [
        hoptrail("index", tmp_path / "all.jsonl", *options),
        hoptrail("show", *options),
        hoptrail("search", "Isk", *options),
        hoptrail("ask", f"Where does the river Isk rise {ESCAPES}?", *options),
        hoptrail("ask", "Who?", "--index", tmp_path / f"no{ESCAPES}index"),
        hoptrail("remove", f"nothing{ESCAPES}", *options),
        hoptrail("remove", tmp_path / "all.jsonl", *options),
    ]
    assert [ended.code for ended in printed] == [4, 0, 0, 0, 1, 2, 0]
    for ended in printed:
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err
    for ended in printed[1:3]:
        assert "[bold red]loud[/]" in ended.out
        assert ":boom:" in ended.out


def printed(what: Answer | IndexingReport) -> str:
    """What the terminal shows, without white space at the ends of lines."""
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_answer(what) if isinstance(what, Answer) else render_indexing(what))
    return re.sub(r" +\n", "\n", console.export_text())


def answered(text: str, kind: AnswerKind, items: tuple[str, ...] = (), **where: Any) -> Answer:
    """An answer from two rows of a table."""
    rows = ("d1", "Fees", 0, 9, "Rope\t12\nBuoy\t3", "p1")
    said = "Item: Rope; Price: 12\nItem: Buoy; Price: 3"
    evidence = Evidence(*rows, source="fees.pdf", said=said, kind=Kind.PASSAGE, hop=0, **where)
    hop = Hop("What is it?", "What is it?", (), text, Verdict.ANSWERED)
    return Answer("What is it?", text, "bm25", "offline", (evidence,), Trail((hop,)), kind=kind, items=items)


def test_an_answer_shows_every_hop_with_its_sentence_and_place(hoptrail: Hoptrail, harbour: Path) -> None:
    question = "Which river flows through the town where the designer of the Candlerock Lighthouse was born?"
    shown = hoptrail("ask", question, "--trail", "--index", harbour)
    answer = hoptrail("ask", question, "--index", harbour, "--json").json
    assert shown.err == ""
    unfolded = " ".join(shown.out.replace("│", " ").split())
    assert f"Answer: {answer['answer']}" in unfolded
    for number, hop in enumerate(answer["trail"], start=1):
        assert f"hop {number} {hop['question']}" in unfolded
    for item in answer["evidence"]:
        above = " > ".join(dict.fromkeys((item["title"], *item["heading_path"])))
        assert re.search(rf"{re.escape(above)} \S.*/{re.escape(item['file'])}, {item['place']} ", unfolded)
        assert " ".join(item["said"].split()) in unfolded
        assert item["document"] not in unfolded


def test_evidence_says_where_in_its_file_it_stands() -> None:
    shown = printed(answered("3", AnswerKind.SHORT, place="page 7", path=("Fees", "Boats"), date="2026-03"))
    assert "Fees > Boats  2026-03  fees.pdf, page 7" in shown


def test_evidence_from_a_table_shows_its_headers() -> None:
    shown = printed(answered("12", AnswerKind.SHORT))
    below = "  Item: Rope; Price: 12\n  Item: Buoy; Price: 3\n  fees.pdf\n"
    assert shown.startswith(f"Answer: 12\nHow sure this is was not estimated.\n{below}")
    assert "    │   Item: Rope; Price: 12\n    │   Item: Buoy; Price: 3\n" in shown


def test_a_comparison_shows_the_statement_of_each_side() -> None:
    answer = answered("Rope", AnswerKind.SHORT)
    (rope,) = answer.evidence
    buoy = replace(rope, text="The buoy came in 1902.", said="The buoy came in 1902.", start=90, end=112)
    last = [replace(one, hop=2) for one in (rope, buoy)]
    of_both = printed(replace(answer, evidence=(rope, replace(buoy, hop=1), *last))).partition("What is it?")[0]
    assert "Item: Rope; Price: 12" in of_both
    assert "The buoy came in 1902." in of_both
    assert "The buoy came in 1902." not in printed(replace(answer, evidence=tuple(last))).partition("What is it?")[0]


@pytest.mark.parametrize(
    ("kind", "head"),
    [(AnswerKind.LIST, "Answer: 2 items\n  - Rope\n"), (AnswerKind.STEPS, "Answer: 2 steps\n  1. Rope\n")],
)
def test_a_list_says_how_long_it_is(kind: AnswerKind, head: str) -> None:
    assert printed(answered("Rope; Buoy", kind, items=("Rope", "Buoy"))).startswith(head)


def test_an_indexing_run_says_how_many_documents_were_not_read() -> None:
    failures = [DocumentError("a.pdf", "it is encrypted")]
    report = IndexingReport(added=39, documents=39, failures=failures)
    head = "39 documents added, 0 unchanged; 39 in the index."
    assert printed(report).startswith(f"{head} 1 document was not read.\nnot read: a.pdf")
    assert printed(replace(report, failures=failures * 2)).startswith(f"{head} 2 documents were not read.\n")
    assert printed(replace(report, failures=[])).strip() == head


def test_rows_that_are_shown_as_closest_stand_on_lines_of_their_own() -> None:
    rows = Statement(
        *("d1", "Fees", 0, 9, "Rope\t12\nBuoy\t3", "p1"), said="Item: Rope; Price: 12\nItem: Buoy; Price: 3"
    )
    shown = printed(Answer("What costs 5?", None, "bm25", "offline", closest=(rows,)))
    assert "   Item: Rope; Price: 12\n   Item: Buoy; Price: 3\n" in shown


def test_a_search_shows_rows_with_their_headers(hoptrail: Hoptrail, tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "fees.csv").write_text("Item,Price\nRope,12 EUR\nBuoy,3 EUR\n", encoding="utf-8")
    options = ["--index", tmp_path / "index", "--settings", tiny]
    hoptrail("index", tmp_path / "fees.csv", "--for", "bm25", *options)
    shown = hoptrail("search", "rope", "--recipe", "bm25", *options).out
    assert "Item: Rope; Price: 12 EUR" in shown
    assert "Item Price" not in shown


def test_a_search_without_hits_says_so(hoptrail: Hoptrail, harbour: Path) -> None:
    assert "Nothing was found." in hoptrail("search", "zqxj", "--index", harbour, "--recipe", "bm25").out


def test_many_documents_are_cut_short_with_a_word_on_how_many(hoptrail: Hoptrail, tmp_path: Path, tiny: Path) -> None:
    rows = [{"id": str(number), "title": f"Stone {number}", "text": f"Stone {number}."} for number in range(60)]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = ["--index", tmp_path / "index", "--settings", tiny]
    hoptrail("index", tmp_path / "all.jsonl", *options)
    assert "and 10 more; --json lists all" in hoptrail("show", *options).out
    assert len(hoptrail("show", "--json", *options).json["documents"]) == 60


@pytest.mark.parametrize("columns", ["20", "400"])
def test_what_scripts_read_does_not_hang_on_the_window(
    hoptrail: Hoptrail, harbour: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    before = hoptrail("show", "--index", harbour).out
    monkeypatch.setenv("COLUMNS", columns)
    assert hoptrail("show", "--index", harbour).out == before


@pytest.mark.parametrize("hops", [("2",), ("2", "4")])
def test_an_evaluation_is_told_by_hops_where_questions_differ_in_them(hops: tuple[str, ...]) -> None:
    scores = {"recall@2": 0.25, "recall@5": 0.5, "recall@10": 0.75, "full@5": 0.125, "full@10": 0.375}
    result = {"n": 3, "failed": 0, "abstained": 0, "retrieval": scores, "seconds_per_question": {"retrieval": 0.5}}
    result |= {"by_hops": dict.fromkeys(hops, scores), "questions_by_hops": dict.fromkeys(hops, 3)}
    screen = io.StringIO()
    report = {"data": "small", "questions": 3, "language": "offline", "recipes": {"bm25": result}}
    Console(file=screen, width=200).print(render_evaluation(report))
    rows = [line.split() for line in screen.getvalue().splitlines()]
    counts = [row[1] for row in rows if row[:1] == ["bm25"] and row[2] == "3"]
    assert counts == (list(hops) if len(hops) > 1 else [])


def test_a_narrow_terminal_loses_no_digit_of_an_evaluation() -> None:
    scores = {"recall@2": 0.251, "recall@5": 0.512, "recall@10": 0.763, "full@5": 0.124}
    result = {"n": 1234, "failed": 0, "abstained": 0, "em": 0.335, "f1": 0.446, "retrieval": scores, "by_hops": {}}
    result |= {"seconds_per_question": {"retrieval": 0.567}}
    screen = io.StringIO()
    report = {"data": "small", "questions": 1234, "language": "offline", "recipes": {"hipporag:paper": result}}
    Console(file=screen, width=80).print(render_evaluation(report))
    cells = screen.getvalue().split()
    assert "…" not in screen.getvalue()
    assert {"1234", "0.251", "0.512", "0.763", "0.124", "0.335", "0.446", "0.567"} <= set(cells)
