"""Finders of entities in documents: our rules, or a spaCy pipeline that the user names.

Questions are always read by the rules, which also use their word order. spaCy is imported only when a pipeline is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

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
"""Labels of spaCy's English pipelines (OntoNotes 5) that are not names; all others are."""

EntityFinder = Callable[[str], tuple[Mention, ...]]
"""Finds the mentions in a text, in order and without overlaps, with offsets in code points. Deterministic."""


def mentions_of(entities: Iterable[Any], text: str) -> tuple[Mention, ...]:
    """The entities of a spaCy document on one line each; a type that is no date, number or title of a work counts as a name."""
    places = ((one.start_char, one.end_char, _SHAPES.get(one.label_, Shape.NAME)) for one in entities)
    mentions = (Mention(squeeze(text[start:end]), start, end, shape) for start, end, shape in places)
    return tuple(mention for mention in mentions if mention.text)


def check_finder(name: str) -> None:
    """Check the form of a finder's name, without opening it. Raises: UsageError: there is no such finder."""
    kind, _, model = name.partition(":")
    if name != RULES and not (kind == _SPACY and model):
        raise UsageError(f"there is no entity finder {name!r}; available: {RULES}, {_SPACY}:MODEL")


def open_finder(name: str) -> EntityFinder:
    """The finder called `name`: `rules`, or `spacy:MODEL` with a package or folder for `spacy.load`. Nothing is downloaded.
    Loading a package runs its code, and a folder's configuration calls registered functions: name only pipelines you trust.
    Raises: UsageError: there is no such finder, or spaCy or the pipeline is missing or finds no entities.
    """
    check_finder(name)
    return find_mentions if name == RULES else _spacy_finder(name.partition(":")[2])


@lru_cache(maxsize=4)
def _spacy_finder(model: str) -> EntityFinder:
    """Reads one text at a time, so that results do not depend on batches."""
    pipeline = pipeline_with("doc.ents", model, "finds no entities", "`ner` or `entity_ruler`")
    lock = Lock()

    def find(text: str) -> tuple[Mention, ...]:
        with lock:  # reading changes a pipeline's vocabulary
            return mentions_of(pipeline(text).ents, text)

    return find


def pipeline_with(assigned: str, model: str, lack: str, components: str) -> Language:
    """A shared spaCy pipeline that must have a component assigning `assigned`.
    Raises: UsageError: it has none (the message has `lack` and the `components` that would do), or spaCy or the pipeline is
    missing.
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
    """A spaCy pipeline, shared because loading takes seconds and memory. Not thread-safe."""
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
