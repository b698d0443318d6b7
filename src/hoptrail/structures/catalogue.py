"""The structures in building order: those of the engine, and those that packages add as entry points `hoptrail.structures`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, make_dataclass
from functools import cache

from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.corpus.writer import Writer
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.plugins import found, loaded
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions, Facts
from hoptrail.structures.passages import Passages
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions


@cache
def structure_classes() -> tuple[type[Structure], ...]:
    """All structures, each after those it is built from. Raises: UsageError: one is built from what no installed package has."""
    waiting: list[type[Structure]] = [Passages, Extractions, Facts, Sentences, TitleMentions]
    waiting += (loaded("structures", name) for name in found("structures"))
    placed: dict[str, type[Structure]] = {}
    while waiting:
        ready = next((one for one in waiting if placed.keys() >= set(one().built_from)), None)
        if ready is None:
            raise UsageError(f"structures cannot be built from one another: {', '.join(one.name for one in waiting)}.")
        placed[ready.name] = ready
        waiting.remove(ready)
    return tuple(placed.values())


def _settings_fields() -> list[tuple[str, type, object]]:
    defaults = ((one.name, one().settings) for one in structure_classes() if one.name != PASSAGES)
    return [(name.replace("-", "_"), type(own), field(default=own)) for name, own in defaults if own is not None]


class StructureSettings(make_dataclass("StructureSettings", _settings_fields(), frozen=True)):  # type: ignore[misc]
    """One field per structure with settings, named like the structure with `_` for `-`."""


def structures_by_name(limits: PassageLimits, settings: StructureSettings | None = None) -> dict[str, Structure]:
    chosen = settings or StructureSettings()
    known: dict[str, Structure] = {}
    for structure in structure_classes():
        own = limits if structure.name == PASSAGES else getattr(chosen, structure.name.replace("-", "_"), None)
        made = structure() if own is None else structure(own)  # type: ignore[call-arg]
        known[structure.name] = made.over(known)
    return known


def with_foundations(names: Iterable[str], known: Mapping[str, Structure]) -> list[Structure]:
    """The structures with these names and all that they are built from, in the order in which they are built."""
    needed = set(names)
    for structure in reversed(list(known.values())):
        if structure.name in needed:
            needed.update(structure.built_from)
    return [structure for structure in known.values() if structure.name in needed]


def discard_unknown(writer: Writer) -> None:
    """Remove the entries of structures that no longer exist, and links of kinds that none has; units and names stay."""
    classes = structure_classes()
    for entered in (writer.structures, writer.unfinished, writer.languages):
        for name in entered.keys() - {structure.name for structure in classes}:
            del entered[name]
    for kind in writer.snapshot().graph.count().keys() - {kind for structure in classes for kind in structure.links}:
        writer.links.drop(kind)
