"""Stand-ins for sampling an answer and for entailment, without a model: one reader over many pieces of evidence.

What a model draws at random is here the best answer of each piece of evidence alone, read by words only. It tells how far the
evidence disagrees, not how unsure a model is: the same tendency on another scale (single pieces disagree far more).
"""

from __future__ import annotations

from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.page_reading import Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Entail, Equate, Relation, Sample, Samples
from hoptrail.models.remembered_readings import TextReader
from hoptrail.text.normal_forms import same_words


def sample(task: Sample, model: TextReader, settings: OfflineSettings) -> Samples:
    """What each of the first `samples` pieces answers."""
    answers = []
    for unit in task.evidence[: task.samples]:
        found = Reader(open_evidence((unit,), settings), model, settings).read(task.question)
        answers.append(found.answer if found and found.odds > 0 else None)  # likelier than that it does not answer
    return Samples(tuple(answers) or (None,))


def relation(task: Entail) -> Relation:
    """What has the same words follows, what has not contradicts: rules do not know synonyms."""
    return Relation.ENTAILMENT if same_words(task.premise, task.hypothesis) else Relation.CONTRADICTION


def alike(task: Equate) -> bool:
    """What has the same words."""
    return same_words(task.one, task.other)
