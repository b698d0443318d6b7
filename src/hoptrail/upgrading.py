"""Carrying an index of version 0.1 over: `python -m hoptrail.upgrading OLD NEW`.

Documents, passages, and what a model was paid for (extractions, topics, summaries with their groups) keep their ids and the name
of the model, so that their structures find them finished and ask for nothing again. All else is made again by rules. The file of
paid replies is copied. OLD is only read.

One commit carries everything over. A run that is killed before it begins again; one that is killed after it goes on.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hoptrail.corpus.held_documents import BATCH_CHARACTERS, BATCH_DOCUMENTS
from hoptrail.corpus.old_index import OldIndex, unit_table
from hoptrail.corpus.places import index_folder
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.errors import HoptrailError, IndexDamaged, Interrupted, UsageError
from hoptrail.execution.executor import batched
from hoptrail.indexing import Performer, Watcher, update_index
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.lazy import OFFLINE
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.remembered import FILE
from hoptrail.recipes.catalogue import needed_structures
from hoptrail.serving.options import FAILED, STOPPED, WRONG_USAGE, say, watching
from hoptrail.settings import Settings, load_settings
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from hoptrail.structures.declaration import Structure
from hoptrail.structures.structure_names import EXTRACTIONS, PASSAGES, TOPICS
from hoptrail.structures.tree_store import TREES
from hoptrail.syncing import ReadingOptions
from hoptrail.types import Kind, Unit

DESCRIPTION = "Make an index of the present version from one of version 0.1, which is not changed; resumable."

MARK = "upgraded-from"
"""A file of NEW with the path of OLD, until the upgrade is complete."""


def upgrade(old: Path, new: Path, watcher: Watcher, settings: Settings | None = None) -> list[str]:
    """Make an index of the present version in the folder `new` from one of version 0.1 in `old`. Returns lines for the user.

    Without settings, the encoder is that of `old`.

    Raises:
        UsageError: `new` is not empty, or lancedb is not installed.
        IndexUnavailable: there is no index of version 0.1 in `old`, or it is damaged.
        Interrupted: the watcher asked to stop; the same call goes on.
    """
    old, new = old.expanduser().resolve(), index_folder(new).resolve()
    _check(old, new)
    source = OldIndex(old)
    settings = settings or Settings(encoder=source.encoder.name)
    encoder = open_encoder(settings.encoder)
    known = structures_by_name(settings.passages, settings.structures)
    new.mkdir(parents=True, exist_ok=True)
    (new / MARK).write_text(str(old), encoding="utf-8")
    if not Snapshot.exists(new):
        for name in (FILE, f"{FILE}-wal"):
            if (old / name).exists():
                shutil.copyfile(old / name, new / name)
    with writing_to(new, encoder.identity) as writer:
        if not writer.committed:
            try:
                _carry(source, writer, encoder, known)
            except KeyError as error:
                raise IndexDamaged(f"{old} is not consistent: {error}. Repair it with hoptrail 0.1.") from error
    notes = _build(source, new, settings, encoder, known, watcher)
    (new / MARK).unlink()
    return [*_report(source, new), *notes]


def _check(old: Path, new: Path) -> None:
    if old == new or old in new.parents:
        raise UsageError(f"the new index cannot be within {old}, which is not changed: name another folder.")
    mark = new / MARK
    if new.exists() and any(new.iterdir()) and not (mark.exists() and mark.read_text(encoding="utf-8") == str(old)):
        raise UsageError(
            f"{new} is not empty, and holds no begun upgrade of {old}. Name a new folder, or delete this one first."
        )


def _carry(old: OldIndex, writer: Writer, encoder: Encoder, known: Mapping[str, Structure]) -> None:
    for documents in batched(old.documents(), BATCH_DOCUMENTS, lambda document: len(document.text), BATCH_CHARACTERS):
        writer.put_documents(documents)
    trees = old.paid.keys() & set(TREES)
    for kind in _carried(old).values():
        for units, vectors in old.units(kind):
            whole = _with_sentences(units, writer) if kind is Kind.PASSAGE else units
            writer.put_units(whole, _vectors(old, encoder, units, vectors))
    for extractions in old.extractions() if EXTRACTIONS in old.paid else ():
        writer.put_extractions(extractions)
    for links in old.links(trees) if trees else ():
        writer.links.put(links)
    for name in (PASSAGES, *old.paid):
        entered = writer.structures if name in old.finished else writer.unfinished
        entered[name] = known[name].fingerprint
    writer.languages.update(old.paid)
    writer.publish(old.spent)


def _carried(old: OldIndex) -> dict[str, Kind]:
    """The kinds of units that are carried over, by their plural."""
    kinds = {"passages": Kind.PASSAGE}
    if TOPICS in old.paid:
        kinds["topics"] = Kind.TOPIC
    if not old.paid.keys().isdisjoint(TREES):
        kinds["summaries"] = Kind.SUMMARY
    return kinds


def _with_sentences(passages: Sequence[Unit], writer: Writer) -> list[Unit]:
    """The passages with the ends of their sentences, which version 0.1 kept with the documents alone."""
    documents = {
        document.id: document for document in writer.snapshot().documents({unit.document for unit in passages})
    }
    return [
        replace(unit, sentence_ends=documents[unit.document].sentence_ends_within(unit.sources[0])) for unit in passages
    ]


def _vectors(old: OldIndex, encoder: Encoder, units: Sequence[Unit], stored: FloatMatrix) -> FloatMatrix | None:
    """The stored vectors if they are the encoder's. Passages may wait for others."""
    made, wanted = old.encoder, encoder.identity
    if (made.digest, made.dimension) == (wanted.digest, wanted.dimension):
        return stored
    return None if units[0].kind is Kind.PASSAGE else encoder.encode([unit.searchable for unit in units])


def _build(
    old: OldIndex, new: Path, settings: Settings, encoder: Encoder, known: Mapping[str, Structure], watcher: Watcher
) -> list[str]:
    """Make what can be made without a model. Returns notes on what cannot."""
    names = old.structures & known.keys()
    if not old.paid or EXTRACTIONS in old.paid:
        names |= needed_structures([settings.recipe], settings.recipes)
    performer = None
    if not old.paid:
        performer = Performer(open_language(OFFLINE, LanguageContext(encoder, new, settings.chat, settings.offline)))
    structures = with_foundations(names, known)
    options = ReadingOptions(limits=settings.reading)
    return update_index(new, (), encoder, structures, watcher, performer, options=options).notes


def _report(old: OldIndex, new: Path) -> Iterator[str]:
    with Snapshot.open(new) as snapshot:
        counts = {"documents": (len(snapshot.register), old.count("documents"))}
        for name, kind in _carried(old).items():
            counts[name] = (len(set(snapshot.table.ids(kind))), old.count(unit_table(kind)))
        if EXTRACTIONS in old.paid:
            counts["extractions"] = (len(set(snapshot.table.extracted())), old.count("extractions"))
        unfinished = ", ".join(snapshot.head.unfinished)
    yield "carried over: " + ", ".join(f"{kept:,} of {total:,} {name}" for name, (kept, total) in counts.items())
    if (new / FILE).exists():
        yield f"copied: {FILE}. What was spent counts; prompts have changed, so a model is asked questions again"
    if old.paid:
        makers = ", ".join(sorted(set(old.paid.values())))
        yield f"made by {makers}: index further documents with the same model (`--language chat`)"
    if unfinished:
        yield f"unfinished: {unfinished}. `hoptrail index --index {new} --for RECIPE` makes them"
    yield (
        "left out: headings, tables and dates, which version 0.1 did not store. Index the files again to have them; a file that "
        "has any is then a new document" + (", about which a model is asked again" if old.paid else "")
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code, which means the same as for `hoptrail`."""
    parser = argparse.ArgumentParser("python -m hoptrail.upgrading", description=DESCRIPTION)
    parser.add_argument("old", metavar="OLD", type=Path, help="The folder of an index of version 0.1.")
    parser.add_argument("new", metavar="NEW", type=Path, help="A folder that is empty or does not exist.")
    parser.add_argument("--settings", metavar="FILE", help="A TOML file; default: the encoder of OLD.")
    given = parser.parse_args(arguments)
    try:
        with watching() as watcher:
            settings = load_settings(given.settings) if given.settings else None
            lines = upgrade(given.old, given.new, watcher, settings)
    except HoptrailError as error:
        lines = [f"hoptrail: {error}"]
        code = WRONG_USAGE if isinstance(error, UsageError) else STOPPED if isinstance(error, Interrupted) else FAILED
    else:
        code = 0
    for line in lines:
        say(line)
    return code


if __name__ == "__main__":
    sys.exit(main())
