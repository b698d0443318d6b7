"""FLARE-like active retrieval (Jiang et al., EMNLP 2023): draft a step first, and search for it only if that is doubtful.

    section 3.2, eq. for y_t   keep a draft of the next step if it is confident enough (theta)         here
    section 3.2.2              else search for an explicit question and redo the step                  tasks answer, recall

Faithful to drafting, the threshold, the first search for the whole question and the query by an explicit question. Deviations:
a step is a sub-question with its answer, not a sentence. The confidence is that of its reading (the paper: that of its least
probable token, which not all endpoints report), so masking improbable words in a query is left out. A sub-question is first
completed from earlier answers. A draft from `memory` that is kept cites nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Effort, Reading
from hoptrail.recipes.answering import CitedHop
from hoptrail.recipes.hopwise import Hopwise, next_questions, read_packed, recalled
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast1, Share
from hoptrail.types import Ranking


@dataclass(frozen=True, slots=True)
class FlareSettings(PassageSettings):
    """A step is drafted from the current `evidence` or the model's `memory`, and kept if its confidence is at least `sure`
    (theta). Otherwise `k` passages are retrieved for it, and those that fit `evidence_tokens` are read. At most `steps` steps.
    """

    draft: Literal["evidence", "memory"] = "evidence"
    sure: Share = 0.8
    steps: AtLeast1 = 6

    @property
    def effort(self) -> Effort:
        """Each step is drafted and, if the draft has too little confidence, read once more."""
        if self.draft == "memory":
            return Effort((1, self.steps + 1), (2, 2 * self.steps), (1, self.steps))
        return Effort.of_hops(self.steps, readings=2)


@dataclass(frozen=True)
class Flare(Hopwise):
    """Each step is drafted from the current evidence, and searched for only if the draft has too little confidence."""

    settings: FlareSettings = field(default_factory=FlareSettings)

    name: ClassVar[str] = "flare"
    presets: ClassVar[Mapping[str, FlareSettings]] = {
        "memory": FlareSettings(draft="memory"),
        "always": FlareSettings(sure=1.0),
    }

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """A hop for each step: the draft if it is confident enough, else what is read after a search for the step."""
        from_memory = self.settings.draft == "memory"
        at_hand: Ranking = () if from_memory else hybrid_search(self.corpus, question, self.settings.k)

        def read(following: str, asked: str) -> tuple[Reading, CitedHop]:
            return read_packed(following, asked, at_hand, self.settings.evidence_tokens, meter)

        def step(following: str, asked: str) -> CitedHop:
            nonlocal at_hand
            reading, drafted = recalled(following, asked, meter) if from_memory else read(following, asked)
            if reading.answer is not None and reading.confidence >= self.settings.sure:
                return drafted
            at_hand = hybrid_search(self.corpus, asked, self.settings.k)
            return read(following, asked)[1]

        return next_questions(question, meter, self.settings.steps, step)
