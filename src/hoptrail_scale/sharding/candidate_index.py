"""A small index of the candidates for one question, gathered from all shards. Recipes run over it as over any index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hoptrail.corpus.head import Head
from hoptrail.corpus.keywords import WordCounts
from hoptrail.corpus.passage_graph import NAMES
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import MENTIONS
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.models.encoder import Encoder
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Name
from hoptrail.structures.progress_tracker import ignore
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Kind, Usage
from hoptrail_scale.sharding.shard import ShardContents


@contextmanager
def candidate_index(
    parts: Sequence[ShardContents], head: Head, whole: WordCounts, encoder: Encoder
) -> Iterator[Snapshot]:
    """A snapshot of the passages of all parts, until the end of `with`.

    Words count as in the `whole` corpus. `head` is that of a shard. Names are found anew, because a sentence of one shard may
    name a document of another.
    """
    with TemporaryDirectory(
        prefix="hoptrail-question-", ignore_cleanup_errors=True
    ) as temporary:  # Windows: still mapped
        folder = Path(temporary)
        with writing_to(folder, head.encoder) as writer:
            _put(parts, writer)
            writer.structures.update(head.structures)
            if MENTIONS in head.structures and any(part.extractions for part in parts):
                writer.names.renew(NAMES, _names(parts, BuildContext(writer, encoder, ignore, lambda: None)))
            writer.publish(Usage())
        with Snapshot.open(folder, whole=whole) as snapshot:
            yield snapshot


def _names(parts: Sequence[ShardContents], context: BuildContext) -> Iterator[tuple[str, str]]:
    """Names with the ids of their units. A title stays with the passage that has it in its shard: of a document the first passage
    that was gathered may be another.
    """
    titled = {name for part in parts for name in part.titled}
    passages = {unit.id for part in parts for unit in part.units if unit.kind is Kind.PASSAGE}
    for row in TitleMentions().rows(context, None):
        if isinstance(row, Name) and (row.unit in titled or row.unit not in passages):
            yield row.key, row.unit


def _put(parts: Sequence[ShardContents], writer: Writer) -> None:
    """Write all parts. A document that two shards hold is one document."""
    documents = {document.id: document for part in parts for document in part.documents}
    units = {unit.id: unit for part in parts for unit in part.units}
    vectors = {unit.id: vector for part in parts for unit, vector in zip(part.units, part.vectors, strict=True)}
    writer.put_documents([documents[name] for name in sorted(documents)])
    if units:
        names = sorted(units)
        writer.put_units([units[name] for name in names], np.stack([vectors[name] for name in names]))
    writer.put_extractions({name: extraction for part in parts for name, extraction in part.extractions.items()})
