"""What a person sees in a terminal: the answer first, places to search for, and what happens when something is mistyped."""

from __future__ import annotations

import io
import re
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from rich.console import Console

from command import Hoptrail
from hoptrail.serving import options
from hoptrail.serving.render import DISAGREE, render_answer, sources_of
from hoptrail.types import Answer, AnswerKind, Evidence, Guess, Hop, Kind, Statement, Trail, Verdict

UNASKED = ("recipe", "hop", "unit", "channel", "offline", "structure")
"""Words that say how something was found."""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hoptrail: Hoptrail, tiny: Path) -> Path:
    """The current folder, indexed: three documents in two folders."""
    folder = tmp_path / "notes"
    (folder / "house").mkdir(parents=True)
    boiler = (
        "# Boiler\n\nPat Lowe fitted the boiler.\n\nIt is blue.\n\n## Reset\n\nTurn the dial of the boiler to zero.\n"
    )
    (folder / "house" / "boiler.md").write_text(boiler, encoding="utf-8")
    (folder / "house" / "gate.txt").write_text("The barrier code is 4471.\n", encoding="utf-8")
    (folder / "boats.csv").write_text("Boat,Price\nDinghy,12\nPunt,14\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(tiny))
    assert hoptrail("index", ".", "--for", "bm25", "-q").err == ""
    return folder


def cited(text: str, document: str = "d1", **further: Any) -> dict[str, Any]:
    place = {
        "title": f"Title {document}",
        "start": 0,
        "end": len(text),
        "unit": "p1",
        "source": f"{document}.md",
        "said": text,
    }
    return {"document": document, "text": text, **place, **further}


def evidence(text: str, document: str = "d1", **further: Any) -> Evidence:
    return Evidence(**{**cited(text, document), "kind": Kind.PASSAGE, "hop": 0, **further})


def answer(text: str | None, *cites: Evidence, **further: Any) -> Answer:
    hop = Hop("Which code is it?", "Which code is it?", (), text, Verdict.ANSWERED)
    return Answer("Which code is it?", text, "trail", "offline", cites, Trail((hop,)), **further)


def shown(what: Answer, *, folded: bool = True) -> list[str]:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_answer(what, folded=folded))
    return [line.rstrip() for line in console.export_text().splitlines()]


# --- the answer first


def test_the_answer_comes_first_and_its_statement_once() -> None:
    found = answer("4471", evidence("The code is 4471.", place="line 3"), confidence=0.91)
    assert shown(found) == ["Answer: 4471", "Sure (0.91).", "  The code is 4471.", "  d1.md, line 3"]
    assert any("hop 1" in line for line in shown(found, folded=False))


@pytest.mark.parametrize(
    ("confidence", "line"),
    [(0.6, "Likely (0.60): check what it rests on."), (0.3, "Unsure (0.30): check what it rests on.")],
)
def test_how_sure_it_is_stands_in_plain_words(confidence: float, line: str) -> None:
    assert shown(answer("4471", evidence("The code is 4471."), confidence=confidence))[1] == line


def test_an_answer_that_is_its_statement_is_not_repeated() -> None:
    why = "Because the fitter is accredited."
    assert shown(answer(why, evidence(why), confidence=0.9)) == [f"Answer: {why}", "Sure (0.90).", "  d1.md"]


def test_each_step_has_its_place() -> None:
    steps = ("Turn it off.", "Wait.")
    cites = [evidence(step, place=f"line {number}", start=number, end=9) for number, step in enumerate(steps, 4)]
    found = answer("; ".join(steps), *cites, kind=AnswerKind.STEPS, items=steps, confidence=0.9)
    assert shown(found) == [
        "Answer: 2 steps",
        "  1. Turn it off.  d1.md, line 4",
        "  2. Wait.  d1.md, line 5",
        "Sure (0.90).",
    ]


def test_documents_that_disagree_are_said_to() -> None:
    both = evidence("The code is 4471."), evidence("The code is 9.", "d2")
    items = ("4471 (Title d1)", "9 (Title d2)")
    found = shown(answer("; ".join(items), *both, kind=AnswerKind.LIST, items=items, confidence=0.9))
    assert found[0] == f"Answer: {DISAGREE}"
    assert "  - 9 (Title d2)  d2.md" in found
    assert not any("Sure" in line for line in found)
    guess = shown(answer(None, guess=Guess("; ".join(items), 0.4, both)))
    assert guess[0] == f"Not settled. Perhaps: {DISAGREE}"
    listed = answer("4471; 9", *both, kind=AnswerKind.LIST, items=("4471", "9"), confidence=0.9)
    assert shown(listed)[0] == "Answer: 2 items"


def test_a_guess_is_marked_and_its_statement_stands_once() -> None:
    said = "The code is 4471."
    closest = (Statement(**cited(said)), Statement(**cited("Ask Pip.", "d2")))
    found = shown(answer(None, guess=Guess("4471", 0.4, (evidence(said),)), closest=closest))
    assert found[:2] == ["Not settled. Perhaps: 4471", "A guess (0.40) from 1 below, not sure enough to be the answer."]
    assert [line.strip() for line in found].count(said) == 1
    assert any(line.startswith("Ask for one thing at a time") for line in found)
    both = (evidence(said), evidence("Ask Pip.", "d2", replaced=True))
    assert " from 1 below," in shown(answer(None, guess=Guess("4471", 0.4, both), closest=closest))[1]
    elsewhere = shown(answer(None, guess=Guess("4471", 0.4, (evidence(said),)), closest=closest[1:]))
    assert elsewhere[1:3] == ["A guess (0.40), not sure enough to be the answer.", f"  {said}"]
    later = shown(answer(None, guess=Guess("4471", 0.4, both), closest=closest[1:]))
    assert later[1:3] == elsewhere[1:3]
    assert sources_of(answer(None, closest=closest)) == list(closest)


@pytest.mark.usefixtures("notes")
def test_nothing_says_how_it_was_found_before_somebody_asks(hoptrail: Hoptrail) -> None:
    for command in (["ask", "What is the barrier code?", "--recipe", "bm25"], ["ask", "zebras?", "--recipe", "bm25"]):
        folded = hoptrail(*command).out.lower()
        assert [word for word in UNASKED if re.search(rf"\b{word}s?\b", folded)] == []
        assert "hop 1" in hoptrail(*command, "--trail").out


# --- places


@pytest.mark.usefixtures("notes")
def test_a_search_shows_file_place_lines_and_the_share_of_the_words(hoptrail: Hoptrail) -> None:
    lines = hoptrail("search", "boiler dial", "--recipe", "bm25").out.splitlines()
    assert lines[0].startswith("100 %  ")
    assert "house/boiler.md, line 3" in lines[0]
    assert [line.strip() for line in lines[1:]] == [
        "Pat Lowe fitted the boiler.",
        "Turn the dial of the boiler to zero.",
    ]
    assert hoptrail("search", "boiler zebra", "--recipe", "bm25").out.split()[0] not in ("0", "100")


@pytest.mark.usefixtures("notes")
def test_contents_are_listed_by_folder(hoptrail: Hoptrail) -> None:
    rows = [line.split() for line in hoptrail("show").out.splitlines()]
    assert rows[0] == ["3", "documents"]
    at = rows.index(["house/", "2", "documents"])
    assert rows[at + 1 : at + 3] == [["Boiler", "boiler.md"], ["gate", "gate.txt"]]


# --- what is mistyped


@pytest.mark.usefixtures("notes")
def test_what_people_type_is_done(hoptrail: Hoptrail) -> None:
    shown = hoptrail("show").out
    assert hoptrail("list").out == hoptrail("status").out == shown
    assert "removed: gate" in hoptrail("delete", "gate").err
    assert "Every day" in hoptrail("help").out
    assert hoptrail("help", "ask").out == hoptrail("ask", "--help").out
    ended = hoptrail("who is it")
    assert (ended.code, 'Did you mean `hoptrail ask "who is it"`?' in ended.err) == (2, True)


@pytest.mark.parametrize("options_given", [[], ["--index", "new"]])
def test_no_index_is_made_for_a_path_that_does_not_exist(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options_given: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = hoptrail("index", "mistyped", *options_given)
    assert (ended.code, list(tmp_path.iterdir())) == (1, [])
    assert "mistyped: does not exist" in ended.err


def test_nothing_is_served_from_a_path_that_does_not_exist(hoptrail: Hoptrail, tmp_path: Path) -> None:
    ended = hoptrail("serve", tmp_path / "mistyped")
    assert (ended.code, "check the path" in ended.err) == (2, True)
    assert not (tmp_path / "mistyped").exists()


def test_a_port_in_use_is_refused_before_anything_is_read(hoptrail: Hoptrail, notes: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = hoptrail("serve", notes, "--port", taken.getsockname()[1])
    assert (ended.code, "--port N" in ended.err, "Open http" in ended.err) == (2, True, False)


@pytest.mark.usefixtures("notes")
def test_an_empty_index_says_what_to_do(hoptrail: Hoptrail) -> None:
    hoptrail("remove", ".")
    for command in (["ask", "Who?"], ["search", "Who?"], ["ask"]):
        ended = hoptrail(*command, "--recipe", "bm25")
        assert (ended.code, "hoptrail index FOLDER" in ended.err, ended.out) == (1, True, "")
    assert hoptrail("ask", "Who?", "--recipe", "bm25", "--json").json["abstained"]


@pytest.mark.usefixtures("notes")
def test_a_removed_document_whose_file_stays_is_told_of(hoptrail: Hoptrail) -> None:
    assert "reads it again: house/gate.txt" in hoptrail("remove", "gate").err
    assert "1 document added" in hoptrail("index", ".").err
    Path("house/gate.txt").unlink()
    assert hoptrail("remove", "gate").err.splitlines() == ["removed: gate"]
    assert hoptrail("remove", "Boiler", "-q").err == ""


@pytest.mark.usefixtures("notes")
def test_quiet_says_only_what_failed(hoptrail: Hoptrail) -> None:
    Path("broken.pdf").write_bytes(b"%PDF-1.4 broken")
    assert [line.partition(":")[0] for line in hoptrail("index", ".", "-q").err.splitlines()] == ["not read"]
    assert "unchanged" in hoptrail("index", ".", "-v").err


# --- the dialogue, completion, waiting


def test_a_dialogue_obeys_its_commands(hoptrail: Hoptrail, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(typer, "launch", opened.append)
    typed = ["/trail", "help", "What is the barrier code?", "/sources", "/open 1", "/open 7", "/trail", "/quit", "Who?"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(typed)))
    ended = hoptrail("ask", "--recipe", "bm25")
    assert ended.code == 0
    assert "there is none yet" in ended.err
    assert any(line.startswith("/open N") for line in ended.err.splitlines())
    assert "/open takes a number from 1 to" in ended.err
    assert opened == [f"{notes}/house/gate.txt"]
    assert ended.out.count("hop 1") == 1


@pytest.mark.usefixtures("notes")
def test_recipes_and_documents_are_completed() -> None:
    assert options.recipes_beginning("bm") == ["bm25"]
    context: Any = SimpleNamespace(params={})
    assert options.documents_beginning(context, "Bo") == ["Boiler"]
    assert options.documents_beginning(context, "house/") == ["house/boiler.md", "house/gate.txt"]


@pytest.mark.parametrize(("terminal", "patience"), [(True, 0.0), (True, 60.0), (False, 0.0)])
def test_a_spinner_appears_on_a_terminal_after_a_while(
    terminal: bool, patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "PATIENCE", patience)
    written, begun = io.StringIO(), time.monotonic()
    seen, console = terminal and not patience, Console(file=written, force_terminal=terminal)
    monkeypatch.setattr(options, "console_of", lambda **_: console)
    with options.waiting("searching"):
        while seen and "searching" not in written.getvalue() and time.monotonic() < begun + 20:
            time.sleep(0.01)
    assert ("searching" in written.getvalue()) is seen
