"""The latest answers of one client or workspace, in memory only, to be shown again or gone on from."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.types import Answer, content_id

KEPT = 200


@dataclass(slots=True)
class KeptAnswers:
    """The latest answers by name, each as the last one of its conversation."""

    _conversations: OrderedDict[str, tuple[Answer, ...]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, answer: Answer, name: str = "", before: Sequence[Answer] = ()) -> str:
        """Store an answer and the ones before it. Returns its name: by default the same for the same answer."""
        content = {**answer.to_dict(), "usage": None}
        name = name or content_id("t", json.dumps(content, sort_keys=True))
        with self._lock:
            self._conversations[name] = (*before, answer)
            self._conversations.move_to_end(name)
            if len(self._conversations) > KEPT:
                self._conversations.popitem(last=False)
        return name

    def get(self, name: str, workspace: Workspace) -> Answer:
        """The answer of this name. Raises: Refusal: it is not, or no longer, here."""
        return self.conversation(name, workspace, "trail")[-1]

    def conversation(self, name: str, workspace: Workspace, what: str) -> tuple[Answer, ...]:
        """The answer of this name after the ones before it. Conversations with evidence from removed documents are forgotten,
        because they hold its text. Raises: Refusal: it is not, or no longer, here; says `what`.
        """
        self._forget_removed(workspace)
        with self._lock:
            if name not in self._conversations:
                raise not_found(what)
            return self._conversations[name]

    def all(self) -> list[tuple[str, Answer]]:
        """All answers with their names, newest first."""
        with self._lock:
            return [(name, answers[-1]) for name, answers in reversed(self._conversations.items())]

    def _forget_removed(self, workspace: Workspace) -> None:
        with self._lock:
            cited = {
                name: {item.document for answer in answers for item in answer.evidence}
                for name, answers in self._conversations.items()
            }
        documents = set[str]().union(*cited.values())
        existing = workspace.existing_ids(documents) if documents else documents
        with self._lock:
            for name, of in cited.items():
                if not existing.issuperset(of):
                    self._conversations.pop(name, None)
