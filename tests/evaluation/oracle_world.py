"""A chain of four documents, questions on it with gold annotations, and an oracle that follows one of them."""

from __future__ import annotations

from collections.abc import Mapping

from hoptrail.evaluation.datasets import GoldStep, Question
from hoptrail.language.tasks import Finding, Read, Reading
from hoptrail.types import Document, Unit
from hoptrail_papers.oracle import OracleLanguage
from world import make_document, make_passage

PASSAGES = {
    "bridge": ("Tallow Bridge", "The Tallow Bridge is long. Orla Finch designed the Tallow Bridge."),
    "finch": ("Orla Finch", "Orla Finch liked boats. Orla Finch was born in Wrenmouth."),
    "town": ("Wrenmouth", "Wrenmouth has a market. The Isk runs past its walls and on to the sea."),
    "river": ("Isk", "The Isk is 90 km long. It does rise in the Grey Hills."),
    "song": ("Which river", "Which river flows through Wrenmouth? The Isk, says the song."),
    "arrow": ("Arrow", "The Arrow is 40 km long."),
}
"""`song` has the third hop's answer, and matches its words better than the gold passage, but is not gold."""

STEPS = (
    GoldStep("Who designed the Tallow Bridge?", "Orla Finch", "bridge"),
    GoldStep("Where was #1 born?", "Wrenmouth", "finch"),
    GoldStep("Which river flows through #2?", "Isk", "town"),
    GoldStep("Where does #3 rise?", "Grey Hills", "river"),
)
CHAIN = Question(
    "chain",
    "In which hills does the river of the Tallow Bridge designer's birthplace rise?",
    ("Grey Hills", "the Grey Hills"),
    supporting=("bridge", "finch", "town", "river"),
    decomposition=STEPS,
)
LONGER = Question(
    "longer",
    "Is the Isk longer than the Arrow?",
    ("yes",),
    supporting=("river", "arrow"),
    supporting_sentences=(("river", 0),),
)
LENGTHS = Question(
    "lengths",
    "Which is longer, Isk or Arrow?",
    ("Isk",),
    supporting=("river", "arrow"),
    decomposition=(GoldStep("Isk >> length", "90 km", "river"), GoldStep("Arrow >> length", "40 km", "arrow")),
)

DOCUMENTS = {name: make_document(title, text) for name, (title, text) in PASSAGES.items()}
UNITS = {name: make_passage(document) for name, document in DOCUMENTS.items()}
NAMES = {document.id: [name] for name, document in DOCUMENTS.items()}


def fetch(ids: set[str]) -> Mapping[str, Document]:
    return {document.id: document for document in DOCUMENTS.values() if document.id in ids}


def oracle_of(question: Question) -> OracleLanguage:
    oracle = OracleLanguage()
    oracle.follow(question, NAMES, fetch)
    return oracle


def evidence(*names: str) -> tuple[Unit, ...]:
    return tuple(UNITS[name] for name in names)


def read(oracle: OracleLanguage, question: str, *names: str) -> str | None:
    return oracle.perform(Read(question, evidence(*names))).value.answer


def cited(reading: Reading) -> list[str]:
    texts = {document.id: document for document in DOCUMENTS.values()}
    return [texts[span.document].slice(span) for step in reading.steps for span in step.support]


def make_findings(*answers: str | None) -> tuple[Finding, ...]:
    """Findings of the chain's first hops."""
    return tuple(Finding(step.question, "", answer) for step, answer in zip(STEPS, answers, strict=False))
