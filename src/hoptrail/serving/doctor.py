"""Whether what the settings name is there and works: the chat endpoint, its model, each way of asking for a form, embeddings.

Asks a handful of tiny questions, for real, and enters them in the ledger of the index where one is named. Changes nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.errors import EndpointRefused, EndpointUnreached, HoptrailError, Interrupted, UsageError
from hoptrail.language.chat.estimating import estimate_asking
from hoptrail.language.chat.ladder import Draft, Ladder
from hoptrail.language.chat.prompting import load_prompt
from hoptrail.language.chat.schemas import DecomposeReply
from hoptrail.language.opening import LanguageContext
from hoptrail.models.chat import ChatSettings, Rung
from hoptrail.models.opening import open_encoder
from hoptrail.models.paying import PaidChat, Unremembering
from hoptrail.models.remembered import FILE
from hoptrail.recipes.catalogue import recipe_settings
from hoptrail.settings import Settings
from hoptrail.store.head import ever_committed, read_head
from hoptrail.store.place import Place
from hoptrail.store.tables import connect, reading

QUESTIONS = 100
"""How many questions the estimate is for."""
_NOT_SERVED = (EndpointUnreached, EndpointRefused, Interrupted)
"""What says nothing of the way of asking."""
_HINTS = {
    Rung.SCHEMA: "without it replies are asked for as plain JSON, which works nearly as well",
    Rung.JSON: "without it the form of replies is asked for in the prompt, and some more replies need a repair",
    Rung.PROMPT: "if no way works, the model is too small for this, or it is not a chat model: name another one",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: whether it works, what was seen, and what to do if it does not.

    A check that is not `needed` may fail without harm.
    """

    what: str
    works: bool
    says: str
    advice: str = ""
    needed: bool = True


def examine(settings: Settings, place: Place | None) -> Iterator[Check]:
    """Look at everything that the settings name, the chat endpoint first. At `place` is the index whose ledger is used; where
    none is, nothing is asked: what is asked would be entered in a folder made for it.
    """
    if place and place.is_local and not ever_committed(place) and not (place.beside / FILE).exists():
        says = f"there is no index at {place}, and no reply is kept there"
        yield Check("index", works=False, says=says, advice="check --index, or leave it out: nothing is entered then")
        return
    with tempfile.TemporaryDirectory() as temporary:
        context = LanguageContext(None, place.beside if place else Path(temporary), settings.chat)
        try:
            chat = context.paid_chat
        except UsageError as error:
            yield Check("endpoint", works=False, says=str(error))
        else:
            yield from _chat_checks(chat, settings.chat)
    yield _embeddings(settings.encoder)
    if place and not place.is_local:
        yield _index(place)
    yield _estimate(settings)


def _chat_checks(chat: PaidChat, settings: ChatSettings) -> Iterator[Check]:
    rungs = list(Rung) if settings.structured == "auto" else [Rung(settings.structured)]
    try:
        results = [_rung(chat, settings, rung) for rung in rungs]
    except _NOT_SERVED as error:
        advice = "check the address and whether the server runs" if isinstance(error, EndpointUnreached) else ""
        yield Check("endpoint", works=False, says=str(error), advice=advice)
        return
    yield Check("endpoint", works=True, says=f"{chat.model} at {chat.place}")
    any_works = any(result.works for result in results)
    for result in results:
        yield replace(result, needed=not any_works)


def _rung(chat: PaidChat, settings: ChatSettings, rung: Rung) -> Check:
    """Ask for a decomposition in this one way.

    Raises:
        EndpointUnreached, EndpointRefused, EndpointBusy, BudgetExhausted: no other way would work either.
    """
    only = replace(settings, structured=rung.value)
    messages = load_prompt("decompose").fill(
        {"question": "Which river flows through the birthplace of Ada Lunt?", "findings": "(nothing yet)"}
    )
    what = f"replies by {rung}"
    try:
        Ladder(Unremembering(chat), only).climb("decompose", lambda _: Draft(messages), DecomposeReply)
    except _NOT_SERVED:
        raise
    except HoptrailError as error:
        return Check(what, works=False, says=str(error), advice=_HINTS[rung])
    return Check(what, works=True, says="works")


def _embeddings(name: str) -> Check:
    try:
        vectors = open_encoder(name).encode(["Does it work?"])
    except HoptrailError as error:
        return Check("embeddings", works=False, says=str(error))
    return Check("embeddings", works=True, says=f"{name}, {vectors.shape[1]} dimensions")


def _index(place: Place) -> Check:
    """Whether an object store can be reached and read, with the environment's credentials."""
    try:
        with reading(place):
            there = ever_committed(place) and read_head(connect(place), place) is not None
    except HoptrailError as error:
        return Check("index", works=False, says=str(error))
    return Check(
        "index", works=True, says=f"{place} can be read; {'an index is there' if there else 'nothing is there yet'}"
    )


def _estimate(settings: Settings) -> Check:
    own = recipe_settings(settings.recipe, settings.recipes)
    if own.effort is None:
        estimate = "how many calls cannot be told before; limit_calls and limit_money under [chat] bound them"
    else:
        tokens = own.evidence_tokens
        estimate = str(estimate_asking(QUESTIONS, settings.chat, evidence_tokens=tokens, effort=own.effort))
    return Check(f"{QUESTIONS} questions", works=True, says=f"by recipe {settings.recipe}: {estimate}")
