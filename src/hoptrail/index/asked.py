"""Asking an index: recipes over the visible part of its last committed state. `index` adds what changes it.

Modules that a search does not need are imported where they are used, so that a search starts quickly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from hoptrail.corpus.locations import index_folder
from hoptrail.corpus.snapshot import SharedSnapshot, Snapshot
from hoptrail.corpus.view import EVERYTHING, View, patterns_of
from hoptrail.errors import UsageError
from hoptrail.language.listener import LazyLanguage
from hoptrail.models.encoder import Encoder
from hoptrail.recipes.catalogue import DEFAULT, needed_structures, open_recipe, usable
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus, check_question
from hoptrail.types import Answer, Hop, Ranking

if TYPE_CHECKING:
    from hoptrail.index.conversation import AskOptions, Conversation, SearchOptions
    from hoptrail.index.settings import Settings
    from hoptrail.language.factory import LanguageContext
    from hoptrail.language.tasks import Language


class AskedIndex:
    """An index and its settings, for questions and searches."""

    def __init__(self, where: str | Path, settings: Settings | None = None) -> None:
        self.folder = index_folder(where)
        self._given = settings
        self._shared = SharedSnapshot(self.folder)

    @cached_property
    def settings(self) -> Settings:
        """The settings that were passed in, else the defaults, which are gathered at the first use."""
        from hoptrail.index.settings import Settings

        return self._given or Settings()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever committed here."""
        return not Snapshot.exists(self.folder)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings, opened at the first use. Raises: UsageError, ModelUnavailable: it cannot be opened."""
        from hoptrail.models.encoder_factory import DEFAULT_ENCODER, open_encoder

        # Without settings, they need not be gathered, which takes a quarter of a second.
        return open_encoder(self._given.encoder if self._given else DEFAULT_ENCODER)

    def recipe(
        self,
        name: str | None = None,
        language: Language | str | None = None,
        limit: int | None = None,
        view: View = EVERYTHING,
    ) -> Recipe:
        """Open a recipe over the current state of the index, restricted to `view`; keep it to ask many questions.

        `limit` replaces the recipe's setting `k`. Until the first indexing run for the recipe has ended, `hybrid` or `bm25`
        answers in its place from what is there so far (`contents().reached`).

        Raises: UsageError: there is no such recipe or language, the index lacks a structure that the recipe needs, or the limit
        is not a positive whole number.
        """
        if limit is not None and not (hasattr(limit, "__index__") and limit >= 1):
            raise UsageError(f"limit must be a whole number of at least 1, not {limit!r}.")
        own = self._given.recipes if self._given else None
        name = name or (self._given.recipe if self._given else DEFAULT)
        corpus = self.corpus(view)
        used = usable(name, corpus.snapshot, own)
        if not used:
            missing = sorted(needed_structures([name], own) - set(corpus.snapshot.head.structures))
            raise UsageError(
                f"recipe {name} needs {', '.join(missing)}, which {self.folder} does not hold. Build it with "
                f"`hoptrail index SOURCE... --index {self.folder} --for {name}`."
            )
        return open_recipe(used, corpus, self.language(language), own, limit)

    def corpus(self, view: View = EVERYTHING) -> Corpus:
        """What recipes search: the last committed state, restricted to `view`. It stays the same while it is referenced.
        Raises: IndexUnavailable: there is no index here.
        """
        snapshot, give_back = self._shared.seen(view).lease()
        structures = self._given.structures if self._given else None
        return Corpus(snapshot, lambda: self.encoder, structures, give_back)

    def reading(self, view: View = EVERYTHING) -> AbstractContextManager[Snapshot]:
        """The last commit as far as `view` shows it, until the end of `with`. Raises: IndexUnavailable: there is none."""
        return self._shared.seen(view).reading()

    def language(self, name: Language | str | None = None, *, fully_priced: bool = False) -> Language:
        """Open the language that performs the tasks; one that is open is returned as it is. `chat` keeps its replies and its
        ledger in this folder, and all callers of this index share it. The usage of a task counts what is paid now; with
        `fully_priced`, also what remembered replies cost when they were made.
        Raises: UsageError: there is no such language, or it cannot be used.
        """
        if name is not None and not isinstance(name, str):
            return name
        from hoptrail.language.factory import open_language

        context = self.language_context
        return open_language(
            name or self.settings.language, replace(context, fully_priced=True) if fully_priced else context
        )

    def ask(
        self,
        question: str,
        recipe: str | None = None,
        language: Language | str | None = None,
        **choice: Unpack[SearchOptions],
    ) -> Answer:
        """Answer a message, or abstain, with evidence and trail. It may ask several questions, follow up the answers `before`, or
        ask nothing (`AnswerKind.REPLY`). See `conversation.SearchOptions` for what may be searched.
        Raises: UsageError: the question is empty or far too long, `as_of` is no date, there is no such label or document.
        """
        from hoptrail.index.conversation import answer_message, earlier

        check_question(question)
        language = self.language(language)
        used = self.recipe(recipe, language, view=_chosen(self, choice))
        return answer_message(question, earlier(choice.get("before")), used, language)

    async def aask(self, question: str, **asking: Unpack[AskOptions]) -> Answer:
        """`ask` in a thread, for servers: the event loop goes on meanwhile."""
        return await asyncio.to_thread(self.ask, question, **asking)

    def stream(
        self,
        question: str,
        recipe: str | None = None,
        language: Language | str | None = None,
        **choice: Unpack[SearchOptions],
    ) -> Generator[Hop | Answer, None, None]:
        """The hops as they are found, then the answer, whose trail has those that count. Ending the iteration early stops the
        work before its next task. Raises: as `ask`.
        """
        from hoptrail.index.conversation import streamed

        return streamed(lambda observed: self.ask(question, recipe, observed, **choice), self.language(language))

    def conversation(self, **asking: Unpack[AskOptions]) -> Conversation:
        """A conversation, in which a question may follow up the answers before it. Answers `before` begin it."""
        from hoptrail.index.conversation import Conversation

        return Conversation(self.ask, asking)

    def search(
        self, question: str, recipe: str | None = None, limit: int | None = None, **choice: Unpack[SearchOptions]
    ) -> Ranking:
        """Retrieval only: at most `limit` hits of the recipe, best first. See `conversation.SearchOptions` for what may be
        searched; with `before`, a follow-up is completed first.
        """
        question = check_question(question)
        language = LazyLanguage(self.language)
        if before := choice.get("before"):
            from hoptrail.index.conversation import completed, earlier

            question = completed(question, earlier(before), language)
        return self.recipe(recipe, language, limit, _chosen(self, choice)).retrieve(question)

    def view(self, as_of: str = "", labels: Collection[str] | None = None) -> View:
        """The view up to a date, of documents that have one of `labels` (None: of all documents).
        Raises: UsageError: `as_of` is not a date, or there is no such label.
        """
        return View(as_of, None if labels is None else patterns_of(labels, self.settings.labels))

    @cached_property
    def language_context(self) -> LanguageContext:
        from hoptrail.language.factory import LanguageContext

        return LanguageContext(self.encoder, self.folder, self.settings.chat, self.settings.offline)


def _chosen(index: AskedIndex, choice: SearchOptions) -> View:
    """The view of what was chosen. Raises: UsageError: one of the documents is not here."""
    view, documents = index.view(choice.get("as_of", ""), choice.get("labels")), choice.get("documents")
    if documents is None:
        return view
    ids = frozenset([documents] if isinstance(documents, str) else documents)
    with index.reading(view) as snapshot:
        missing = sorted(ids - {entry.id for entry in snapshot.register.of(ids)})
    if missing:
        raise UsageError(f"there is no document {missing[0]!r} here; `contents().documents` has the ids.")
    return replace(view, documents=ids)
