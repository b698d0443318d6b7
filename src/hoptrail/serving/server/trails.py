"""The latest answers that agents were given, so that they can have them explained."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from hoptrail.serving import contract
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.types import Answer, content_id

KEPT_TRAILS = 200


@dataclass(slots=True)
class Trails:
    """The latest answers of one workspace, by trail id, in memory only."""

    _answers: OrderedDict[str, Answer] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, answer: Answer) -> str:
        """Store an answer; returns its trail id."""
        content = {**contract.answer_json(answer), "usage": None}
        name = content_id("t", json.dumps(content, sort_keys=True))
        with self._lock:
            self._answers[name] = answer
            self._answers.move_to_end(name)
            if len(self._answers) > KEPT_TRAILS:
                self._answers.popitem(last=False)
        return name

    def get(self, name: str, workspace: Workspace) -> Answer:
        """The answer with this trail id. Those with evidence from removed documents are forgotten, because they hold its text.
        Raises: Refusal: it is not, or no longer, here.
        """
        documents = {item.document for _, answer in self.all() for item in answer.evidence}
        existing = workspace.existing_ids(documents) if documents else documents
        with self._lock:
            for other, answer in list(self._answers.items()):
                if not existing.issuperset(item.document for item in answer.evidence):
                    del self._answers[other]
            if name not in self._answers:
                raise not_found("trail")
            return self._answers[name]

    def all(self) -> list[tuple[str, Answer]]:
        """All answers with their ids, newest first."""
        with self._lock:
            return list(reversed(self._answers.items()))
