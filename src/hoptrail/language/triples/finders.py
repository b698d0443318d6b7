"""Finders of triples in facts: our rules, dependency rules over a spaCy pipeline that the user names, or none.

A fact stated as a triple keeps it in any case. Questions are always read by our rules.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from hoptrail.errors import UsageError
from hoptrail.language.entity_finders import RULES, pipeline_with
from hoptrail.language.tasks import Fact, Triple
from hoptrail.language.triples.dependencies import triples_in_parse
from hoptrail.language.triples.sentence_triples import triples_of
from hoptrail.text.normal_forms import base_title, squeeze

STATED = "stated"
_SPACY = "spacy"

TripleFinder = Callable[[Fact, str], tuple[Triple, ...]]
"""From a fact and its passage's title to the fact's triples, in order. Deterministic."""


def check_triple_finder(name: str) -> None:
    """Check the form of a finder's name, without opening it.

    Raises:
        UsageError: there is no such finder.
    """
    kind, _, model = name.partition(":")
    if name not in {RULES, STATED} and not (kind == _SPACY and model):
        raise UsageError(f"there is no triple extractor {name!r}; available: {RULES}, {STATED}, {_SPACY}:MODEL")


def open_triple_finder(name: str) -> TripleFinder:
    """The finder called `name`: `rules`, `stated` (only facts stated as triples) or `spacy:MODEL`.

    Loading a spaCy package runs its code: name only pipelines you trust. Nothing is downloaded.

    Raises:
        UsageError: there is no such finder, or spaCy or the pipeline is missing or does not parse.
    """
    check_triple_finder(name)
    if name == RULES:
        return triples_of
    return _stated if name == STATED else _finder_by_parse(name.partition(":")[2])


def _stated(fact: Fact, _: str) -> tuple[Triple, ...]:
    return (fact.triple,) if fact.triple else ()


def _finder_by_parse(model: str) -> TripleFinder:
    pipeline = pipeline_with("token.dep", model, "does not parse", "`parser`")
    lock = Lock()

    def find(fact: Fact, title: str) -> tuple[Triple, ...]:
        if fact.triple:
            return (fact.triple,)
        with lock:  # reading changes a pipeline's vocabulary
            return triples_in_parse(pipeline(squeeze(fact.text)), base_title(title))

    return find
