"""A world of short pages in several passages each, two of them with one name, and ways to look at what HiRAG did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Read, Reading, Task, Verify
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.types import Kind, Unit
from hoptrail_papers.hirag.hirag import Hirag, HiragSettings
from hoptrail_papers.hirag.profiles import Profiles
from recipes.chain_world import RecordingLanguage, Script, reading
from world import FACTS, HashingEncoder

OWNS = "Jonas Pell owns this mill."
WORLD = FACTS | {
    "Kestrel Mill": f"The Kestrel Mill grinds barley all year. A heron nests on its high roof. {OWNS} It has four sails.",
    "Harrow Mill": "The Harrow Mill is of stone. Ida Voss owns it.",
    "Isk (song)": "Isk is a song by Jonas Pell. It was released in 1902.",
}
OWNER = "Who owns the Kestrel Mill?"
RISES = "It rises in the Grey Hills and is 90 km long."
FLOWS = "The river Isk flows through Wrenmouth."

NOTHING: tuple[type[Task[Any]], Reading] = (Read, Reading(None))
"""A reading that abstains."""


def build(folder: Path) -> Corpus:
    """An index of the world, a passage a sentence, with profiles."""
    encoder = HashingEncoder(dimension=256)
    for title, text in WORLD.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    structures: list[Structure] = [Passages(PassageLimits(8, 0)), Extractions(), Profiles()]
    sources = sorted(folder.glob("*.txt"))
    performer = BuildLanguage(OfflineLanguage())
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


def hirag(corpus: Corpus, script: Script, settings: HiragSettings | None = None, **rethink: Any) -> Hirag:
    """The recipe over stored passages, without profiles unless `rethink` says so."""
    chosen = settings or HiragSettings()
    changed = replace(chosen.rethink, **({"profile_tries": 0} | rethink))
    return Hirag(corpus, RecordingLanguage(ScriptedLanguage(script)), replace(chosen, rethink=changed))


def accepted(answer: str, sentence: str) -> Script:
    """An answer that is read and holds."""
    return [(Read, reading(answer, sentence)), (Verify, 1.0)]


def reads_of(recipe: Hirag) -> list[tuple[Unit, ...]]:
    """What was read, in order."""
    assert isinstance(recipe.language, RecordingLanguage)
    return [task.evidence for task in recipe.language.tasks if isinstance(task, Read)]


def count(recipe: Hirag, task: type[Task[Any]]) -> int:
    assert isinstance(recipe.language, RecordingLanguage)
    return sum(isinstance(asked, task) for asked in recipe.language.tasks)


def unused_replies(recipe: Hirag) -> int:
    """Replies that nobody asked for."""
    assert isinstance(recipe.language, RecordingLanguage)
    return recipe.language.script.remaining


def passages_of(corpus: Corpus, title: str) -> list[Unit]:
    units = (unit for unit in corpus.snapshot.units(Kind.PASSAGE) if unit.title == title)
    return sorted(units, key=lambda unit: unit.sources)
