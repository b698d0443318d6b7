"""Labels of documents: named patterns of the sources they were read from. A user limited to labels sees nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hoptrail.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def check_label(rule: str) -> tuple[str, str]:
    """Split a rule `NAME=PATTERN` into name and pattern. Raises: UsageError: the rule is malformed."""
    name, _, pattern = rule.partition("=")
    if not _NAME.fullmatch(name) or not pattern:
        raise UsageError(
            f"{rule!r} is not NAME=PATTERN, as in `public=*/handbook/*`: a name has letters, digits, - and _."
        )
    return name, pattern


def patterns_of(rules: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """The patterns of some labels. Raises: UsageError: there is no such label."""
    named = [check_label(rule) for rule in rules]
    if unknown := sorted(set(labels) - {name for name, _ in named}):
        raise UsageError(f"there is no label {', '.join(unknown)}: the setting `labels` defines them.")
    return tuple(sorted({pattern for name, pattern in named if name in labels}))
