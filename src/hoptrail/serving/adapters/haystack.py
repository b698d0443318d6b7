"""hoptrail as components of Haystack: one that retrieves, one that answers.

    retriever = HoptrailRetriever("my-index", top_k=5)
    documents = retriever.run(query="Who designed the Tallow Bridge?")["documents"]
    (answer,) = HoptrailAnswerer("my-index").run(query="Who designed the Tallow Bridge?")["answers"]

Haystack sends usage data to its makers unless HAYSTACK_TELEMETRY_ENABLED is `false`; hoptrail does not.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from hoptrail.index.index import Index
from hoptrail.index.settings import Settings, settings_from, to_toml
from hoptrail.serving.adapters.metadata import evidence_of, hits_of, text_and_json
from hoptrail.serving.answer_text import answers_in
from hoptrail.types.json_object import JsonObject

try:
    from haystack import Document, GeneratedAnswer, component, default_to_dict
    from haystack.dataclasses import ChatMessage
except ImportError as error:
    raise ImportError(f"haystack-ai is missing ({error}): `pip install hoptrail[haystack]`") from error


@component
class HoptrailRetriever:
    """Returns the hits of a recipe as documents; `recipe` and `top_k` default to the settings of the index.

    `settings` is the TOML of a settings file, for an index named by its folder. A stored pipeline contains the folder and
    the settings, not the index itself.
    """

    def __init__(
        self, index: Index | str | Path, recipe: str | None = None, top_k: int | None = None, settings: str = ""
    ) -> None:
        """Raises: UsageError: the settings cannot be used."""
        self.index = _open(index, settings)
        self.recipe = recipe
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Raises: UsageError: the question is empty, there is no such recipe, or `top_k` is less than one."""
        found = hits_of(self.index, query, self.recipe, self.top_k if top_k is None else top_k)
        return {
            "documents": [Document(id=hit.unit.id, content=text, meta=it, score=hit.score) for hit, text, it in found]
        }

    def to_dict(self) -> JsonObject:
        """The component as a pipeline stores it."""
        return _stored(self, top_k=self.top_k)


@component
class HoptrailAnswerer:
    """Answers from an index: one answer, with its evidence as documents. Its `meta` is what `hoptrail ask --json` prints, with
    `confidence` and the `closest` statements. If nothing is settled, the text says so and `meta["abstained"]` is true. With the
    earlier `messages` of a chat, a follow-up is completed from them; `meta["asked"]` is what was really asked.
    """

    def __init__(self, index: Index | str | Path, recipe: str | None = None, settings: str = "") -> None:
        """Raises: UsageError: the settings cannot be used."""
        self.index = _open(index, settings)
        self.recipe = recipe

    @component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str, messages: list[ChatMessage] | None = None) -> dict[str, list[GeneratedAnswer]]:
        """Raises: UsageError: the question is empty, or there is no such recipe."""
        before = answers_in((message.role.value, message.text or "") for message in messages or ())
        answer = self.index.ask(query, self.recipe, before=before)
        text, content = text_and_json(answer)
        documents = [Document(id=name, content=one.text, meta=meta) for name, one, meta in evidence_of(answer)]
        return {"answers": [GeneratedAnswer(answer.text or text, query, documents, content)]}

    def to_dict(self) -> JsonObject:
        """The component as a pipeline stores it."""
        return _stored(self)


def _stored(component: HoptrailRetriever | HoptrailAnswerer, **more: int | None) -> JsonObject:
    index, recipe = component.index, component.recipe
    # A default that is written down would lie over presets.
    settings = to_toml(index.settings, base=Settings(), given=index.settings.recipes.given)
    stored: JsonObject = default_to_dict(component, index=str(index.folder), recipe=recipe, **more, settings=settings)
    return stored


def _open(index: Index | str | Path, settings: str) -> Index:
    return index if isinstance(index, Index) else Index(index, settings_from(tomllib.loads(settings), "the component"))
