"""hoptrail as a retriever and as a tool of LangChain.

retriever = HoptrailRetriever(index=Index("my-index"), k=5)
documents = retriever.invoke("Who designed the Tallow Bridge?")
answer = HoptrailTool(index=Index("my-index")).invoke("Who designed the Tallow Bridge?")
"""

from __future__ import annotations

from typing import Literal

from hoptrail.index.index import Index
from hoptrail.serving.adapters.metadata import hits_of, text_and_json
from hoptrail.types.json_object import JsonObject

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise ImportError(f"langchain-core is missing ({error}): `pip install hoptrail[langchain]`") from error


class HoptrailRetriever(BaseRetriever):
    """Returns the hits of a recipe as documents: id and text of the unit, and its place as metadata (`metadata_of`).

    `recipe` and `k` default to the settings of the index; `invoke` accepts `k` too.
    """

    index: Index
    recipe: str | None = None
    k: int | None = Field(default=None, ge=1)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - of the interface
        k: int | None = None,
    ) -> list[Document]:
        """Raises: UsageError: the question is empty, there is no such recipe, or `k` is less than one."""
        found = hits_of(self.index, query, self.recipe, self.k if k is None else k)
        return [Document(id=hit.unit.id, page_content=text, metadata=metadata) for hit, text, metadata in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """In a thread: the core is synchronous."""
        return await run_in_executor(None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k)


class _Asked(BaseModel):
    """The arguments of the tool."""

    question: str = Field(description="A question that can be understood by itself.")


class HoptrailTool(BaseTool):
    """Answers questions from an index. The content is the answer with its citations, or the closest statements; the artifact is
    what `hoptrail ask --json` prints.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "hoptrail"
    description: str = (
        "Answers a question from the documents, combining several of them if needed, and cites the supporting sentences. "
        "If the documents do not settle the question, it says so and gives the closest statements."
    )
    args_schema: type[BaseModel] = _Asked
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    index: Index
    recipe: str | None = None

    def _run(self, question: str) -> tuple[str, JsonObject]:
        """Raises: UsageError: the question is empty, or there is no such recipe."""
        return text_and_json(self.index.ask(question, self.recipe))
