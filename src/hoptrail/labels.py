"""Labels of documents: names for patterns of where they were read. Whoever is limited to some labels sees nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hoptrail.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def check_label(rule: str) -> tuple[str, str]:
    """The name and the pattern of a rule.

    Raises:
        UsageError: it is not `NAME=PATTERN`.
    """
    name, _, pattern = rule.partition("=")
    if not _NAME.fullmatch(name) or not pattern:
        raise UsageError(
            f"{rule!r} is not NAME=PATTERN, as in `public=*/handbook/*`: a name has letters, digits, - and _."
        )
    return name, pattern


def patterns_of(rules: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """The patterns of some labels.

    Raises:
        UsageError: there is no such label.
    """
    named = [check_label(rule) for rule in rules]
    if unknown := sorted(set(labels) - {name for name, _ in named}):
        raise UsageError(f"there is no label {', '.join(unknown)}: the setting `labels` says what has it.")
    return tuple(sorted({pattern for name, pattern in named if name in labels}))
