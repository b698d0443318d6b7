"""Example questions: made of titles and headings, tried, and kept if they are answered.

No model is called, whatever the language of the settings: suggestions cost nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.language.lazy import OFFLINE
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.serving.server.question_threads import WorkDeadline
from hoptrail.text.normal_forms import base_title
from hoptrail.types import LIKELY, BlockKind, Document

if TYPE_CHECKING:
    from hoptrail.recipes.recipe import Recipe
    from hoptrail.serving.server.workspaces import Workspace

SUGGESTIONS = 4
MOST_TRIED = 16
SECONDS = 15.0
"""Computing time after which the search ends. Not clock time, which would leave no suggestions on a busy machine."""
TURN_SECONDS = 2.0
"""How long to wait for another thread that searches for the same suggestions; a waiting thread answers no question."""
SAMPLED_DOCUMENTS = 60
"""Number of documents examined, spread evenly over all."""
_HOW = re.compile(r"how to (\w.*?)[?:.]?", re.IGNORECASE)


@dataclass(slots=True)
class _Suggestions:
    """The suggestions for one state of an index; None until they have been searched for."""

    questions: tuple[str, ...] | None = None
    turn: Lock = field(default_factory=Lock)


@cached_per_snapshot
def _suggestions_of(_: Snapshot) -> _Suggestions:
    return _Suggestions()


def suggested(workspace: Workspace, patience: WorkDeadline) -> tuple[str, ...]:
    """The suggestions for the current state, searched for once per state; none while another thread searches.
    Raises: Interrupted: nobody is waiting for them any more.
    """
    corpus = workspace.corpus()
    suggestions = _suggestions_of(corpus.snapshot)
    if not suggestions.turn.acquire(timeout=TURN_SECONDS):
        return ()
    try:
        if suggestions.questions is None:
            step = max(1, len(workspace.by_title()) // SAMPLED_DOCUMENTS)
            sample = {one.id for one in workspace.by_title()[::step][:SAMPLED_DOCUMENTS]}
            documents = sorted(corpus.documents(sample).values(), key=lambda one: (one.title, one.id))
            language = ObservedLanguage(workspace.language(OFFLINE), Listener(stopped=patience))
            recipe = workspace.recipe(None, language)
            suggestions.questions = tuple(_answered(candidates(documents), recipe))
        return suggestions.questions
    finally:
        suggestions.turn.release()


def _answered(questions: Iterable[str], recipe: Recipe) -> Iterator[str]:
    """The first of the questions whose answer is likely and has evidence."""
    end, count = time.thread_time() + SECONDS, 0
    for place, question in enumerate(questions):
        if count == SUGGESTIONS or place == MOST_TRIED or time.thread_time() > end:
            return
        answer = recipe.answer(question)
        if answer.text is not None and answer.evidence and (answer.confidence is None or answer.confidence >= LIKELY):
            count += 1
            yield question


def candidates(documents: Sequence[Document]) -> Iterator[str]:
    """One of each document: `How do I X?` from its first heading `How to X`, else `What is X?` from its title."""
    for document in documents:
        headings = (document.text[one.start : one.end] for one in document.blocks if one.kind is BlockKind.HEADING)
        found = next(filter(None, (_HOW.fullmatch(heading.strip()) for heading in headings)), None)
        yield f"How do I {found[1]}?" if found else f"What is {base_title(document.title)}?"
