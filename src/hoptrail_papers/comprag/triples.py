"""Triples of the whole corpus: one unit a triple and sentence, and every distinct text of a slot with its vector.

CompRAG (the poster's "Methodology"). Triples are read off the stored facts (`sentence_triples.py`; no language
is asked), so one extraction serves all. A slot is encoded once however many triples it stands in, and nothing else is: how slots
become the vector of a triple is decided when it is searched (`composition.py`), and no choice there needs this
built anew. Deviations: no filter by TF-IDF, which drops all relations of one word or none.

Triples are found in facts by our rules, by dependency rules over a spaCy pipeline that the user names, or not at all. A fact
stated as a triple keeps it in any case. Questions are always read by our rules. A parse gives each verb with its subjects and
objects (CompRAG). The labels are those of English pipelines (ClearNLP: `nsubj`, `dobj`, `pobj`), like spaCy's own. A small
protocol describes the parse, so that spaCy is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from threading import Lock
from typing import Protocol

from hoptrail.corpus.structure_names import EXTRACTIONS, TRIPLES
from hoptrail.errors import UsageError
from hoptrail.execution.executor import Work, batched, from_to
from hoptrail.fingerprints import fingerprint
from hoptrail.language.entity_finders import RULES, pipeline_with
from hoptrail.models.encoder import unit_length
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived, Target
from hoptrail.structures.encoding import Encoded, encode_batches
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.types import Extraction, Fact, Kind, Triple, Unit, content_id
from hoptrail_papers.comprag.lemmas import lemmatised
from hoptrail_papers.comprag.sentence_triples import triples_of

STATED = "stated"
_SPACY = "spacy"
_SUBJECTS = word_set("nsubj nsubjpass csubj")
_OBJECTS = word_set("dobj obj attr oprd acomp dative xcomp")
_PREPOSITIONS = word_set("prep agent")
_BEFORE_VERB = word_set("aux auxpass neg")
_PHRASE = word_set("compound amod nummod poss nmod case quantmod flat")
_MOST = 8

TripleFinder = Callable[[Fact, str], tuple[Triple, ...]]
"""From a fact and its passage's title to the fact's triples, in order. Deterministic."""


def check_triple_finder(name: str) -> None:
    """Check the form of a finder's name, without opening it. Raises: UsageError: there is no such finder."""
    kind, _, model = name.partition(":")
    if name not in {RULES, STATED} and not (kind == _SPACY and model):
        raise UsageError(f"there is no triple extractor {name!r}; available: {RULES}, {STATED}, {_SPACY}:MODEL")


def open_triple_finder(name: str) -> TripleFinder:
    """The finder called `name`: `rules`, `stated` (only facts stated as triples) or `spacy:MODEL`.

    Loading a spaCy package runs its code: name only pipelines you trust. Nothing is downloaded.
    Raises: UsageError: there is no such finder, or spaCy or the pipeline is missing or does not parse.
    """
    check_triple_finder(name)
    if name == RULES:
        return triples_of
    if name == STATED:
        return lambda fact, _: (fact.triple,) if fact.triple else ()
    return _finder_by_parse(name.partition(":")[2])


def _finder_by_parse(model: str) -> TripleFinder:
    pipeline = pipeline_with("token.dep", model, "does not parse", "`parser`")
    lock = Lock()

    def find(fact: Fact, title: str) -> tuple[Triple, ...]:
        if fact.triple:
            return (fact.triple,)
        with lock:  # reading changes a pipeline's vocabulary
            return triples_in_parse(pipeline(squeeze(fact.text)), base_title(title))

    return find


class ParsedToken(Protocol):
    """The used part of a parsed token: its place `i`, its part of speech (`VERB`), and its dependency (`nsubj`) on its head.

    A root is its own head. The children depend on the token directly, in the order of the text.
    """

    @property
    def i(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def dep_(self) -> str: ...
    @property
    def pos_(self) -> str: ...
    @property
    def head(self) -> ParsedToken: ...
    @property
    def children(self) -> Iterable[ParsedToken]: ...


def triples_in_parse(tokens: Iterable[ParsedToken], about: str) -> tuple[Triple, ...]:
    """The triples of a parsed text in order, at most 8; `about` (the text's subject) replaces pronouns."""
    found: dict[Triple, None] = {}
    for verb in tokens:
        if verb.pos_ in {"VERB", "AUX"} and verb.dep_ not in _BEFORE_VERB:
            names = (about if subject.pos_ == "PRON" else _phrase(subject) for subject in _subjects(verb))
            subjects = [name for name in names if name]
            for relation, target in _objects(verb):
                phrase = _phrase(target)
                found |= dict.fromkeys(Triple(name, relation, phrase) for name in subjects if name != phrase)
    return tuple(found)[:_MOST]


def _subjects(verb: ParsedToken) -> list[ParsedToken]:
    """The verb's subjects: its own, those of a coordinated verb (`was born in Foss and died there`), or the noun it describes."""
    own = [part for child in verb.children if child.dep_ in _SUBJECTS for part in _coordinated(child)]
    if not own and verb.dep_ == "conj":
        return _subjects(verb.head)
    if verb.dep_ in {"relcl", "acl"} and all(subject.pos_ == "PRON" for subject in own):
        return [verb.head]
    return own


def _objects(verb: ParsedToken) -> Iterator[tuple[str, ParsedToken]]:
    """Relations with their objects; a preposition of the verb or of its complement is a part of the relation."""
    said = " ".join([*(child.text for child in verb.children if child.dep_ in _BEFORE_VERB), verb.text])
    yield from _prepositional_objects(verb, said)
    for child in verb.children:
        if child.dep_ in _OBJECTS:
            for part in _coordinated(child):
                yield said, part
            yield from _prepositional_objects(child, f"{said} {_phrase(child)}")


def _prepositional_objects(head: ParsedToken, said: str) -> Iterator[tuple[str, ParsedToken]]:
    for preposition in head.children:
        if preposition.dep_ in _PREPOSITIONS:
            for target in preposition.children:
                if target.dep_ == "pobj":
                    for part in _coordinated(target):
                        yield f"{said} {preposition.text}", part


def _coordinated(token: ParsedToken) -> Iterator[ParsedToken]:
    yield token
    for child in token.children:
        if child.dep_ == "conj" and child.pos_ not in {"VERB", "AUX"}:
            yield from _coordinated(child)


def _phrase(head: ParsedToken) -> str:
    """A noun with its modifiers, in the order of the text."""
    return " ".join(token.text for token in sorted(_parts(head), key=lambda token: token.i))


def _parts(head: ParsedToken) -> Iterator[ParsedToken]:
    yield head
    for child in head.children:
        if child.dep_ in _PHRASE:
            yield from _parts(child)


SEPARATOR = " | "
"""Between the slots in a triple's text; a bar in a slot becomes a slash."""

LONGEST_SLOT = 200  # characters of a slot: what is longer is a sentence, not a name or a relation
READ_TOGETHER = 128  # passages whose facts are read together


@dataclass(frozen=True, slots=True)
class TripleSettings:
    """`extractor`: who reads triples off facts that are not stated as triples; `stated` takes
    those only. With `lemmas` the base forms of all slots are encoded too, and with `texts` every triple as a whole: what a recipe
    needs to search by these. They are added to an index, or taken from it, without touching the rest.
    """

    extractor: str = "rules"
    lemmas: bool = False
    texts: bool = False

    def __post_init__(self) -> None:
        check_triple_finder(self.extractor)


@dataclass(frozen=True, slots=True)
class Triples(Derived):
    """Units of kind triple, whose text is `subject | relation | object` and whose source is the fact's, and of kind slot.
    A slot's source is that of one triple it stands in. The vector stored with a triple is the mean of its slots'.
    """

    settings: TripleSettings = field(default_factory=TripleSettings)
    name = TRIPLES
    built_from = (EXTRACTIONS,)
    units = (Kind.SLOT, Kind.TRIPLE)
    shared = (Kind.SLOT,)

    @property
    def fingerprint(self) -> str:
        """That of the extractor: the other settings only add."""
        return fingerprint(TripleSettings(self.settings.extractor))

    def target_rows(self, context: BuildContext) -> Target:
        """All where a document went: slots that others need may have gone with it."""
        some = context.change is not None and not context.change.removed
        return Derived.target_rows(self, context) if some else Target(self.rows(context, None), whole=True)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`. Raises: UsageError: the extractor cannot be opened."""
        found = batched(stored_in_order(context.writer.snapshot(), documents), READ_TOGETHER)
        work = Work(
            "reading triples off",
            partial(_read_off, self.settings.extractor),
            lambda batch: from_to([f"{passage.title!r} ({passage.id})" for passage, _ in batch]),
        )
        for triples in context.executor.map(work, found):
            for triple in triples:
                yield triple
                slots = slots_in(triple.text)
                lemmas = map(lemmatised, slots) if self.settings.lemmas else ()
                for text in (*slots, *lemmas, *([" ".join(slots)] if self.settings.texts else [])):
                    yield Unit(slot_id(text), Kind.SLOT, "", text, triple.sources[:1])

    def vectors(
        self, context: BuildContext, kind: Kind, batches: Iterable[Sequence[Unit]], total: int
    ) -> Iterator[Encoded]:
        """See `Derived.vectors`. Those of triples are made of their slots', which are stored by then."""
        if kind is Kind.SLOT:
            yield from encode_batches(context, batches, total)
            return
        done = 0
        for batch in batches:
            context.pause()
            slots = [list(map(slot_id, slots_in(unit.text))) for unit in batch]
            rows = {name: row for row, name in enumerate({name: 0 for three in slots for name in three})}
            known = context.writer.snapshot().search.vectors_in_order([Kind.SLOT], list(rows))
            yield batch, unit_length(known[[[rows[name] for name in three] for three in slots]].mean(axis=1))
            done += len(batch)
            context.report("writing triples", done, total)


def _read_off(extractor: str, found: Sequence[tuple[Unit, Extraction]]) -> list[Unit]:
    find = open_triple_finder(extractor)
    read = []
    for passage, extraction in found:
        for fact in extraction.facts:
            for triple in find(fact, passage.title):
                text = text_of(triple)
                if text:
                    place = fact.source
                    name = content_id("r", text, place.document, str(place.start), str(place.end))
                    read.append(Unit(name, Kind.TRIPLE, passage.title, text, (place,)))
    return read


@lru_cache(maxsize=65_536)
def slot_id(text: str) -> str:
    """The same for equal texts, so that a slot is stored and encoded once however many triples have it."""
    return content_id("w", text)


def text_of(triple: Triple) -> str:
    """A triple as a unit's text; empty where a slot is empty or far too long."""
    slots = [squeeze(slot.replace("|", "/")) for slot in (triple.subject, triple.relation, triple.object)]
    return SEPARATOR.join(slots) if all(0 < len(slot) <= LONGEST_SLOT for slot in slots) else ""


def slots_in(text: str) -> tuple[str, str, str]:
    subject, relation, object_ = text.split(SEPARATOR)
    return subject, relation, object_
