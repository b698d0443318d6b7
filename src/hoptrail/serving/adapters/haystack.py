"""hoptrail as a component of Haystack. Retrieval only: answers are `Index.ask`'s.

    retriever = HoptrailRetriever("my-index", top_k=5)
    documents = retriever.run(query="Who designed the Tallow Bridge?")["documents"]

Haystack reports how its pipelines are used to its makers unless HAYSTACK_TELEMETRY_ENABLED is `false`; hoptrail does not.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hoptrail.index import Index
from hoptrail.serving.adapters.metadata import metadata_of
from hoptrail.settings import settings_from, to_toml

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise ImportError(f"haystack-ai is missing ({error}): `pip install hoptrail[haystack]`") from error


@component
class HoptrailRetriever:
    """What a recipe finds, as documents; `recipe` and `top_k` are those of the index's settings where not given.

    `settings` is TOML, as a settings file has it, for an index that is named by its folder; that is how a pipeline is
    stored: the folder, not what is in it.
    """

    def __init__(
        self, index: Index | str | Path, recipe: str | None = None, top_k: int | None = None, settings: str = ""
    ) -> None:
        """Raises: UsageError: the settings cannot be used."""
        if not isinstance(index, Index):
            index = Index(index, settings_from(tomllib.loads(settings), "the component"))
        self.index = index
        self.recipe = recipe
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Raises: UsageError: the question is empty, there is no such recipe, or `top_k` is less than one."""
        ranking = self.index.search(query, self.recipe, self.top_k if top_k is None else top_k)
        documents = [
            Document(id=hit.unit.id, content=hit.unit.text, meta=metadata_of(hit), score=hit.score) for hit in ranking
        ]
        return {"documents": documents}

    def to_dict(self) -> dict[str, Any]:
        stored: dict[str, Any] = default_to_dict(
            self,
            index=str(self.index.folder),
            recipe=self.recipe,
            top_k=self.top_k,
            settings=to_toml(self.index.settings),
        )
        return stored

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HoptrailRetriever:
        """Raises: UsageError: the settings cannot be used."""
        made: HoptrailRetriever = default_from_dict(cls, data)
        return made
