"""What a notebook shows: short, with the trail, and nothing of a document taken for markup."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hoptrail import Index
from hoptrail.errors import DocumentError
from hoptrail.index import notebook_progress
from hoptrail.index.notebook_progress import shown_progress
from hoptrail.index.syncing import IndexingReport
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Answer, AnswerKind, Evidence, Hop, Kind, Statement, Trail, Verdict

HOP = Hop("Who built it?", "Who built the bridge?", (), "Orla Finch", Verdict.ANSWERED)
CITED = Evidence(
    *("d", "The <Bridge>", 0, 30, "It was\nbuilt by orla finch & son.", "u"),
    place="line 3",
    said="It was built by orla finch & son.",
    kind=Kind.PASSAGE,
    hop=0,
)
ANSWER = Answer("Who built it?", "Orla Finch", "trail", "offline", (CITED,), Trail((HOP,)), confidence=0.9)


def test_an_answer_is_a_line_and_in_a_notebook_its_trail() -> None:
    assert repr(ANSWER) == "<Answer 'Orla Finch', sure (0.90), 1 hop, 1 citations>"
    shown = ANSWER._repr_html_()
    assert "<strong>Orla Finch</strong> (sure, confidence 0.90)" in shown
    assert "Who built the bridge? → Orla Finch" in shown
    assert "It was built by <mark>orla finch</mark> &amp; son. <em>The &lt;Bridge&gt;, line 3</em>" in shown


def test_answers_of_every_recipe_can_be_shown() -> None:
    code = "import hoptrail.recipes.recipe, hoptrail.types; print(hasattr(hoptrail.types.Answer, '_repr_html_'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


def test_what_is_not_settled_shows_the_closest() -> None:
    closest = Statement("d", "Fees", 0, 5, "It <i>costs</i> 3.", "u", said="It <i>costs</i> 3.")
    answer = Answer("What?", None, "trail", "offline", kind=AnswerKind.NONE, closest=(closest,))
    assert repr(answer) == "<Answer not settled, 0 hops, 0 citations>"
    assert "<li>It &lt;i&gt;costs&lt;/i&gt; 3. <em>Fees</em></li>" in answer._repr_html_()


def test_an_index_says_where_it_is(tmp_path: Path) -> None:
    index = Index(tmp_path / "<b>")
    assert repr(index) == f"<Index at {tmp_path / '<b>'}>"
    assert "&lt;b&gt;, empty" in index._repr_html_()


def test_a_report_says_what_was_done_and_what_was_not_read() -> None:
    report = IndexingReport(added=2, gone=1, documents=5, failures=[DocumentError("<a>.pdf", "it is encrypted")])
    assert repr(report) == "<IndexingReport 2 added, 1 gone, 1 not read; 5 in the index>"
    assert "- &lt;a&gt;.pdf: it is encrypted" in report._repr_html_()
    assert repr(IndexingReport(unchanged=3, documents=3)) == "<IndexingReport 0 added, 3 unchanged; 3 in the index>"


def test_a_notebook_shows_how_far_indexing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []
    place = SimpleNamespace(update=lambda html: shown.append(html.data))
    monkeypatch.setattr(display, "display", lambda *_, **__: place)
    monkeypatch.setattr(notebook_progress, "_SHOWN_EVERY", 0.0)
    shown_progress().progress(Progress("encoding <passages>", 5, 20, 0.25, 90.0))
    assert shown == [
        '<p><progress value="0.250"></progress> 25 %, encoding &lt;passages&gt; 5 of 20, about 2 min left</p>'
    ]
