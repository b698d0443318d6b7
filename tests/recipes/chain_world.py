"""A world in a stored sentence graph, a scripted trail of four hops through it, and ways to look at what ChainRAG did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Output, Quote, QuotedReading, QuotedStep, ScriptedLanguage
from hoptrail.language.tasks import Assess, Complete, Decompose, Decomposition, Integrate, Read, Reading, Reply, Task
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.structures.sentences import Sentences
from hoptrail.types import Answer, Hop, Kind, Span, Verdict
from hoptrail_papers.chainrag.chainrag import Chainrag, ChainragSettings
from hoptrail_papers.chainrag.sentence_graph import SentenceLinks
from world import FACTS, HashingEncoder

T = TypeVar("T")
Script = list[tuple[type[Task[Any]], Output]]

WORLD = FACTS | {
    "Kestrel Mill": "The Kestrel Mill belongs to Jonas Pell. It grinds barley.",
    "Harrow Fair": "Stalls fill the green every autumn. The last dance is opened by Jonas Pell.",
    "Ida Voss": "This designer of boats was born at sea. No map says where this was.",
    "Dance": "A dance is a row of steps. Who opens a dance leads it.",
}

QUESTION = "In which hills does the river that flows through the birthplace of the Tallow Bridge's designer rise?"
SUB_QUESTIONS = Decomposition(
    (
        "Who designed the Tallow Bridge ?",
        "Where was this designer born ?",
        "Which river flows through that town ?",
        "Where does it rise ?",
    )
)
ASKED = (
    "Who designed the Tallow Bridge?",
    "Where was Orla Finch born?",
    "Which river flows through Wrenmouth?",
    "Where does the Isk rise?",
)
SAID = (
    ("Orla Finch", "It was designed by Orla Finch."),
    ("Wrenmouth", "Orla Finch was born in Wrenmouth."),
    ("the Isk", "The river Isk flows through Wrenmouth."),
    ("the Grey Hills", "It rises in the Grey Hills and is 90 km long."),
)
"""The four hops with every name filled in: what is asked, what is answered, and the sentence that says so."""
DESIGNED = "She designed the Tallow Bridge in 1871."
BORN = "Orla Finch was born in Wrenmouth."
FLOWS = "The river Isk flows through Wrenmouth."
RISES = "It rises in the Grey Hills and is 90 km long."


def build(folder: Path) -> Corpus:
    """An index of the world with its sentence graph."""
    encoder = HashingEncoder(dimension=256)
    for title, text in WORLD.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    structures: list[Structure] = [Passages(PassageLimits()), Extractions(), Sentences(), SentenceLinks()]
    sources = sorted(folder.glob("*.txt"))
    performer = BuildLanguage(OfflineLanguage())
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


@dataclass
class RecordingLanguage:
    """A scripted language that keeps the tasks it was given."""

    script: ScriptedLanguage
    tasks: list[Task[Any]] = field(default_factory=list)
    name: str = "scripted"

    def perform(self, task: Task[T]) -> Reply[T]:
        self.tasks.append(task)
        return self.script.perform(task)


def reading(answer: str, sentence: str) -> QuotedReading:
    return QuotedReading(answer, (QuotedStep("", answer, (Quote(sentence),)),))


def chainrag(corpus: Corpus, script: Script, settings: ChainragSettings | None = None, **search: Any) -> Chainrag:
    chosen = settings or ChainragSettings()
    chosen = replace(chosen, search=replace(chosen.search, **({"context_k": 2, "seed_k": 1} | search)))
    return Chainrag(corpus, RecordingLanguage(ScriptedLanguage(located(script, corpus))), chosen)


def located(script: Script, corpus: Corpus) -> Script:
    """Quotes of whole sentences as their spans, because several sentences of a document are read as one piece."""
    places: dict[str, Quote | Span] = {unit.text: unit.sources[0] for unit in corpus.snapshot.units(Kind.SENTENCE)}

    def spans(step: QuotedStep) -> QuotedStep:
        support = (places.get(item.quote, item) if isinstance(item, Quote) else item for item in step.support)
        return replace(step, support=tuple(support))

    return [
        (task, replace(output, steps=tuple(map(spans, output.steps))) if isinstance(output, QuotedReading) else output)
        for task, output in script
    ]


def tasks_of(recipe: Chainrag) -> list[Task[Any]]:
    assert isinstance(recipe.language, RecordingLanguage)
    return recipe.language.tasks


def texts(hop: Hop) -> list[str]:
    return [hit.unit.text for hit in hop.hits]


def check_answer(answer: Answer, corpus: Corpus) -> None:
    """Every citation is in its document, in a unit of its hop, and hops and evidence agree."""
    documents = {document.id: document for document in corpus.snapshot.documents()}
    hops = list(answer.trail)
    for item in answer.evidence:
        assert documents[item.document].text[item.start : item.end] == item.text
        assert item.title == documents[item.document].title
        units = {hit.unit.id: hit.unit for hit in hops[item.hop].hits}
        assert any(span.covers(Span(item.document, item.start, item.end)) for span in units[item.unit].sources)
    for hop in hops:
        assert (hop.answer is None) == (hop.verdict in {Verdict.UNANSWERED, Verdict.FAILED})
    assert len({(item.hop, item.document, item.start, item.end) for item in answer.evidence}) == len(answer.evidence)


OWNER = "Who opens what the Kestrel Mill belongs to ?"

GOLDEN: Script = [
    (Decompose, SUB_QUESTIONS),
    (Assess, 1.0),
    (Read, reading("Orla Finch", DESIGNED)),
    (Complete, "Where was Orla Finch born ?"),
    (Assess, 1.0),
    (Read, reading("Wrenmouth", BORN)),
    (Complete, "Which river flows through Wrenmouth ?"),
    (Assess, 1.0),
    (Read, reading("the Isk", FLOWS)),
    (Complete, "Where does the Isk rise ?"),
    (Assess, 0.2),
    (Assess, 0.6),
    (Read, reading("the Grey Hills", RISES)),
    (Integrate, Reading("the Grey Hills")),
]
