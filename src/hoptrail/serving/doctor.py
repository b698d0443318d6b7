"""Tests what the settings name: the chat endpoint, its model, each form of structured reply, and the embeddings.

Sends a few tiny questions to the real endpoint, as `ask` does, and enters them in the ledger of the index, if one is named. The
form that works best is remembered there for this server and model, and so are the parameters that the server refuses, replacing
what was known of them. Nothing else is changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import EndpointRefused, EndpointUnreached, HoptrailError, Interrupted, UsageError
from hoptrail.index.settings import Settings
from hoptrail.language.chat.estimating import estimate_asking
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.factory import LanguageContext
from hoptrail.language.tasks import CHAT, Decompose, Read, Task
from hoptrail.models.billing import PaidChat
from hoptrail.models.chat import ChatSettings, Rung
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.ledger import FILE
from hoptrail.recipes.catalogue import recipe_settings
from hoptrail.serving.options import FAILED, console_of
from hoptrail.serving.render import plain
from hoptrail.types import Kind, Span, Unit

QUESTIONS = 100  # number of questions in the estimate
_ENDPOINT_ERRORS = (EndpointUnreached, EndpointRefused, Interrupted)
"""Errors that do not depend on the form of the reply."""

_OTHERS = "not needed as long as another form works: `ask` uses the first that does"
_NONE = "if no form works, the model is too small for this, or it is not a chat model: name another one"
_STORY = "Ada Lunt was an engineer. She was born in Wrenmouth and built bridges."
_UNIT = Unit("doctor", Kind.PASSAGE, "Ada Lunt", _STORY, (Span("doctor", 0, len(_STORY)),))
_TRIAL_TASKS: tuple[Task[Any], ...] = (
    Decompose("Which river flows through the birthplace of Ada Lunt?"),
    Read("Where was Ada Lunt born?", (_UNIT,)),
)
"""The tasks tried in each form: a plan, and an answer from evidence."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: whether it works, what was observed, and what to do if it does not work. A check that is not
    `needed` may fail without harm.
    """

    what: str
    works: bool
    says: str
    advice: str = ""
    needed: bool = True


def examine(settings: Settings, folder: Path | None) -> Iterator[Check]:
    """Check all that the settings name, the chat endpoint first; enter the calls in the ledger of the index in `folder`. If
    `folder` is named but holds neither an index nor replies, nothing is called: the ledger would create the folder.
    """
    if folder and not Snapshot.exists(folder) and not (folder / FILE).exists():
        says = f"there is no index at {folder}, and no reply is stored there"
        yield Check("index", works=False, says=says, advice="check --index, or leave it out: then no ledger is kept")
        return
    with tempfile.TemporaryDirectory() as temporary:
        context = LanguageContext(None, folder or Path(temporary), settings.chat)
        building = [settings.chat.of("build")] if settings.builder == CHAT else []
        for own in dict.fromkeys((*settings.chat.asking, *building)):
            try:
                chat = context.paid_chat(own)
            except UsageError as error:
                yield Check("endpoint", works=False, says=str(error))
            else:
                yield from _chat_checks(chat, own)
    try:
        vectors = open_encoder(settings.encoder).encode(["Does it work?"])
    except HoptrailError as error:
        yield Check("embeddings", works=False, says=str(error))
    else:
        yield Check("embeddings", works=True, says=f"{settings.encoder}, {vectors.shape[1]} dimensions")
    used, reading = recipe_settings(settings.recipe, settings.recipes), settings.chat.of("read")
    estimate = estimate_asking(QUESTIONS, reading, evidence_tokens=used.evidence_tokens, effort=used.effort)
    yield Check(f"{QUESTIONS} questions", works=True, says=f"by recipe {settings.recipe}: {estimate}")


def _chat_checks(chat: PaidChat, settings: ChatSettings) -> Iterator[Check]:
    rungs = list(Rung) if settings.structured == "auto" else [Rung(settings.structured)]
    try:
        faults_by_rung = {rung: _faults(chat.anew(), settings, rung) for rung in rungs}
    except _ENDPOINT_ERRORS as error:
        advice = "check the address and whether the server runs" if isinstance(error, EndpointUnreached) else ""
        yield Check("endpoint", works=False, says=str(error), advice=advice)
        return
    yield Check("endpoint", works=True, says=f"{chat.model} at {chat.place}")
    best = min(rungs, key=lambda rung: len(faults_by_rung[rung]))  # the strictest of those with the fewest faults
    any_works = len(faults_by_rung[best]) < len(_TRIAL_TASKS)
    for rung, faults in faults_by_rung.items():
        works = not faults or (rung is best and any_works)
        usable = f"{len(_TRIAL_TASKS) - len(faults)} of {len(_TRIAL_TASKS)} replies usable"
        says = "; ".join([usable, *faults]) if faults else "works"
        advice = _OTHERS if any_works and not works else "" if works or "under [chat]" in says else _NONE
        yield Check(f"replies by {rung}", works, says, advice, needed=not any_works)
    if any_works:
        if settings.structured == "auto":
            chat.working_rung = best
        yield Check("questions", works=True, says=f"will be asked by {best}")


def _faults(chat: PaidChat, settings: ChatSettings, rung: Rung) -> list[str]:
    """The faults of the trial tasks in this form, sent as `ask` sends them; empty if each reply is usable.
    Raises: EndpointUnreached, EndpointRefused, EndpointBusy, BudgetExhausted: no other form would work either.
    """
    language = ChatLanguage(chat, replace(settings, structured=rung.value))
    faults = []
    for task in _TRIAL_TASKS:
        try:
            language.perform(task)
        except _ENDPOINT_ERRORS:
            raise
        except HoptrailError as error:
            faults.append(str(error))
    return faults


def report(settings: Settings, folder: Path | None) -> None:
    """Print the results of `examine`. Raises: typer.Exit: something that is needed fails."""
    failed = False
    for check in examine(settings, folder):
        failed = failed or (check.needed and not check.works)
        state = ("works  ", "green") if check.works else ("fails  ", "red" if check.needed else "yellow")
        advice = ("\n       ", plain(check.advice)) if check.advice else ()
        line = Text.assemble(state, (f"{check.what}: ", "bold"), plain(check.says), *advice)
        console_of().print(line, soft_wrap=True)
    if failed:
        raise typer.Exit(FAILED)
