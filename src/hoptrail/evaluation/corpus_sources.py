"""From the documents of an index to the names that the data have for them, and an index that holds the data's corpus alone.

The name of a corpus line is its id; that of somebody's own document is its path below `documents/`, also of what is inside a file
that holds several documents (a line of JSONL, say). Knows nothing of questions or recipes.
"""

from __future__ import annotations

from collections.abc import Callable

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.decoding import cleaned
from hoptrail.documents.walking import shown
from hoptrail.evaluation.data_folders import files_below
from hoptrail.evaluation.datasets import Dataset
from hoptrail.evaluation.lines import read_lines
from hoptrail.index import Index

NameOf = Callable[[str], str | None]
"""The data's name for a source; None: it is none of the data's."""


def leave_only_the_corpus(index: Index, dataset: Dataset) -> None:
    """Take out of a kept index what the data no longer hold: retrieval must choose from them and nothing else."""
    name_of, present = _name_of(dataset), _names(dataset)
    strangers = [
        source
        for document in index.contents().documents
        for source in document.sources
        if name_of(source) not in present
    ]
    if strangers:
        index.remove(strangers)


def corpus_ids_by_document(snapshot: Snapshot, dataset: Dataset) -> dict[str, list[str]]:
    """Document id to the names its content has in the data (several, if they repeat themselves)."""
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

    def of_file(source: str) -> str | None:
        name = source.removeprefix(folder) if source.startswith(folder) else ""
        while name and name not in files:
            name = name.rpartition("#")[0]  # a name may itself hold the mark before what is inside a file
        return name or None

    return of_file
