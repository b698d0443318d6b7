"""Maps the documents of an index to their names in the data, and restricts an index to the data's corpus.

The name of a corpus line is its id. The name of an own document is its path below `documents/`, even if the file has several
documents, such as a JSONL file.
"""

from __future__ import annotations

from collections.abc import Callable

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.decoding import cleaned
from hoptrail.documents.walking import shown
from hoptrail.evaluation.datasets import Dataset, files_below
from hoptrail.evaluation.lines import read_lines
from hoptrail.index import Index

NameOf = Callable[[str], str | None]
"""The data's name for a source; None if the source is not from the data."""


def leave_only_the_corpus(index: Index, dataset: Dataset) -> None:
    """Remove documents from a reused index that are no longer in the data: retrieval must search the data and nothing else."""
    name_of, present = _name_of(dataset), _names(dataset)
    outdated = [
        source
        for document in index.contents().documents
        for source in document.sources
        if name_of(source) not in present
    ]
    if outdated:
        index.remove(outdated)


def corpus_ids_by_document(snapshot: Snapshot, dataset: Dataset) -> dict[str, list[str]]:
    """The names in the data by document id; several if the data repeat the content of a document."""
    name_of = _name_of(dataset)
    return {
        entry.id: list(dict.fromkeys(name for source in entry.sources if (name := name_of(source)) is not None))
        for entry in snapshot.register.entries
    }


def _names(dataset: Dataset) -> frozenset[str]:
    if dataset.rule is None:
        return files_below(dataset.corpus)
    return frozenset(cleaned(line.content["id"]).text for line in read_lines(dataset.corpus))


def _name_of(dataset: Dataset) -> NameOf:
    if dataset.rule is not None:
        prefix = f"{shown(dataset.corpus.resolve())}#"
        return lambda source: source.removeprefix(prefix) if source.startswith(prefix) else None
    folder, files = f"{shown(dataset.corpus.resolve())}/", files_below(dataset.corpus)

    def file_name(source: str) -> str | None:
        name = source.removeprefix(folder) if source.startswith(folder) else ""
        while name and name not in files:
            name = name.rpartition("#")[0]  # the name of a file may itself contain `#`
        return name or None

    return file_name
