"""Output in a terminal: document text is never markup, and everything important is shown."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from command import Hoptrail
from hoptrail.serving.render import plain, render_answer
from hoptrail.serving.render_evaluation import render_evaluation
from hoptrail.types import Answer, Evidence, Hop, Kind, Statement, Trail, Verdict

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


def test_an_answer_shows_every_hop_with_its_sentence_and_place(hoptrail: Hoptrail, harbour: Path) -> None:
    question = "Which river flows through the town where the designer of the Candlerock Lighthouse was born?"
    shown = hoptrail("ask", question, "--index", harbour)
    answer = hoptrail("ask", question, "--index", harbour, "--json").json
    assert shown.err == ""
    unfolded = " ".join(shown.out.replace("│", " ").split())
    assert f"Answer: {answer['answer']}" in unfolded
    for number, hop in enumerate(answer["trail"], start=1):
        assert f"hop {number} {hop['question']}" in unfolded
    for item in answer["evidence"]:
        assert f"{item['title']} {item['document']} {item['start']}–{item['end']}" in unfolded
        assert " ".join(item["text"].split()) in unfolded


def test_evidence_says_where_in_its_file_it_stands() -> None:
    evidence = Evidence("d1", "Fees", 0, 9, "It costs 3.", "p1", place="page 7", kind=Kind.PASSAGE, hop=0)
    hop = Hop("What does it cost?", "What does it cost?", (), "3", Verdict.ANSWERED)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_answer(Answer("What does it cost?", "3", "bm25", "offline", (evidence,), Trail((hop,)))))
    assert "Fees  d1 0–9, page 7" in console.export_text()


def test_an_abstention_says_so(hoptrail: Hoptrail, harbour: Path) -> None:
    shown = hoptrail("ask", "Who won the chess championship of 1850 in Peru?", "--index", harbour)
    assert "Not settled. Closest:" in shown.out
    assert "unanswered" in shown.out


def test_rows_that_are_shown_as_closest_stand_on_lines_of_their_own() -> None:
    rows = Statement(
        *("d1", "Fees", 0, 9, "Rope\t12\nBuoy\t3", "p1"), said="Item: Rope; Price: 12\nItem: Buoy; Price: 3"
    )
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_answer(Answer("What costs 5?", None, "bm25", "offline", closest=(rows,))))
    assert "  Item: Rope; Price: 12\n  Item: Buoy; Price: 3\n" in re.sub(r" +\n", "\n", console.export_text())


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
