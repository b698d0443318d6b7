"""Two questions in one sentence: `Who began the project, and when?`, `When and where was she born?`."""

from __future__ import annotations

import re

_PREPOSITION = r"(?:in|on|at|for|to|from|by|with|of|since|until) "
_ASKING = (
    rf"(?:{_PREPOSITION})?(?:who|whom|when|where|why|how(?: (?:much|many|long|often|far))?"
    r"|(?:what|which)(?: (?:year|month|day|date|time|city|town|country|place|reason))?)"
)
_NOUN = r"(?: (?!(?:is|are|was|were|did|does|do|has|have|had|will|would|can|could|should|must|may)\b)[a-z]+)?"
_FIRST = (
    rf"(?:{_PREPOSITION})?(?:who|when|where|why|how(?: (?:much|many|long|often|far){_NOUN})?|(?:what|which){_NOUN})"
)
_SECOND_LAST = re.compile(rf"^(?P<first>{_FIRST}) (?P<rest>[^?,;]+?),? and (?P<second>{_ASKING})$", re.IGNORECASE)
_SECOND_NEXT = re.compile(rf"^(?P<first>{_ASKING}),? and (?P<second>{_ASKING}) (?P<rest>[^?,;]+)$", re.IGNORECASE)


def asked_together(question: str) -> tuple[str, str] | None:
    """The two questions of a sentence that asks two things about the same; None for other questions."""
    text = question.strip().rstrip("?").rstrip()
    joint = _SECOND_LAST.match(text) or _SECOND_NEXT.match(text)
    if joint is None:
        return None
    first, second = (f"{joint[which]} {joint['rest']}?" for which in ("first", "second"))
    return first, f"{second[0].upper()}{second[1:]}"
