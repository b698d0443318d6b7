"""Who finds the mentions of a text: our rules, or a spaCy pipeline that the user names.

One small protocol for everything that looks for entities in documents. Questions are always read by the rules: what they are
about is decided by word order too. spaCy is imported when a pipeline is opened, never because it happens to be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from hoptrail.errors import UsageError
from hoptrail.text.lexicon import word_set
from hoptrail.text.mentions import Mention, Shape, find_mentions
from hoptrail.text.normal_forms import squeeze

if TYPE_CHECKING:
    from spacy.language import Language

RULES = "rules"
_SPACY = "spacy"
_SHAPES = {
    **dict.fromkeys(word_set("DATE TIME"), Shape.DATE),
    **dict.fromkeys(word_set("CARDINAL ORDINAL QUANTITY PERCENT MONEY"), Shape.NUMBER),
    "WORK_OF_ART": Shape.QUOTED,
}
"""Labels of spaCy's English pipelines (OntoNotes 5) that are no names; any other label is one."""


class EntityFinder(Protocol):
    """Finds what a text mentions: the same text, the same mentions, in order, none overlapping."""

    @property
    def name(self) -> str:
        """As the setting gives it; what it finds depends on this and the text alone."""
        ...

    def find(self, text: str) -> tuple[Mention, ...]: ...


@dataclass(frozen=True, slots=True)
class RuleFinder:
    """By capitals, quotation marks and digits (see `entities`)."""

    name: str = RULES

    def find(self, text: str) -> tuple[Mention, ...]:
        return find_mentions(text)


class Entity(Protocol):
    """What is used of a spaCy entity: offsets into the text and a label."""

    @property
    def start_char(self) -> int: ...

    @property
    def end_char(self) -> int: ...

    @property
    def label_(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SpacyFinder:
    """By the entities of a pipeline, one text at a time, so that what stands in the same batch changes nothing."""

    name: str
    entities: Callable[[str], Iterable[Entity]]

    def find(self, text: str) -> tuple[Mention, ...]:
        found = (
            Mention(
                squeeze(text[one.start_char : one.end_char]),
                one.start_char,
                one.end_char,
                _SHAPES.get(one.label_, Shape.NAME),
            )
            for one in self.entities(text)
        )
        return tuple(mention for mention in found if mention.text)


def check_finder(name: str) -> None:
    """Check the form of a finder's name, without opening it.

    Raises:
        UsageError: there is no such finder.
    """
    kind, _, model = name.partition(":")
    if name != RULES and not (kind == _SPACY and model):
        raise UsageError(f"there is no entity finder {name!r}; available: {RULES}, {_SPACY}:MODEL")


def open_finder(name: str) -> EntityFinder:
    """The finder called `name`: `rules`, or `spacy:MODEL` with a package or folder that `spacy.load` takes.

    Loading a package runs its code, and a folder's configuration chooses among registered functions: name only pipelines you
    trust. Nothing is downloaded.

    Raises:
        UsageError: there is no such finder, or spaCy or the pipeline is missing or finds no entities.
    """
    check_finder(name)
    return RuleFinder() if name == RULES else SpacyFinder(name, _pipeline(name.partition(":")[2]))


@lru_cache(maxsize=4)
def _pipeline(model: str) -> Callable[[str], Iterable[Entity]]:
    """The entities of a pipeline's documents."""
    pipeline = pipeline_with("doc.ents", model, "finds no entities", "`ner` or `entity_ruler`")
    turn = Lock()

    def entities(text: str) -> tuple[Entity, ...]:
        with turn:  # a pipeline's vocabulary grows while it reads
            return tuple(pipeline(text).ents)

    return entities


def pipeline_with(assigned: str, model: str, lack: str, components: str) -> Language:
    """A spaCy pipeline, shared like all, with a component that assigns what is asked for; `components` are those that do.

    Raises:
        UsageError: it has none (`lack` says what it does not do), or spaCy or the pipeline is missing.
    """
    pipeline = _load_pipeline(model)
    if not any(assigned in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        raise UsageError(
            f"the spaCy pipeline {model!r} {lack}: it has {', '.join(pipeline.pipe_names) or 'no components'}. "
            f"Name one with a component {components}."
        )
    return pipeline


@lru_cache(maxsize=4)
def _load_pipeline(model: str) -> Language:
    """A spaCy pipeline. Pipelines are shared, since each takes seconds and memory to load; use one at a time.

    Raises:
        UsageError: spaCy or the pipeline is missing.
    """
    try:
        import spacy
    except ImportError as error:
        raise UsageError(
            f"spacy:{model} needs spaCy, which cannot be imported ({error}). Install it with "
            "`pip install 'hoptrail[spacy]'`, or put `rules` in place of its name in the settings."
        ) from error
    try:
        pipeline: Language = spacy.load(model)
    except (OSError, ImportError, ValueError) as error:
        reason = squeeze(str(error))[:200]
        raise UsageError(
            f"spaCy cannot load the pipeline {model!r}: {reason}. Install it with `python -m spacy download {model}`, or give "
            "the folder of a saved pipeline."
        ) from error
    return pipeline
