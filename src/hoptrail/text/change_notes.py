"""Recognises notes on changes: changelogs, release notes, news of versions.

A line such as `gpg: Allow creating keys from a card` says that something was changed, not how it is done.
"""

from __future__ import annotations

import re

from hoptrail.text.statements import statements_of
from hoptrail.types import Unit

_TITLE = re.compile(
    r"(?i:^(?:[\w.-]+ )?change[ _-]?logs?[\w.-]*$|^(?:[\w.-]+ ){0,2}release[ _-]notes(?: \(.*\))?$)"
    r"|^(?:NEWS|CHANGES)(?:\.\w+)*$"
)
_ENTRY = re.compile(
    r";\s*urgency=\w"  # hello (2.10-3) unstable; urgency=medium
    r"|^\W*\d{4}-\d\d-\d\d\s.*@"  # 2022-10-10  Ann Lee  <ann@example.org>
    r"|\bchanges\b.{0,20}\b(?:in|since|between|with)\s+(?:version|release|v?\d+\.\d|\d{3}\b)"  # Noteworthy changes in version 1.9
    r"|^\W*(?:version |release )?v?\d+(?:\.\d+)+[a-z]?\W+(?:\d{4}-\d\d-\d\d|\d{1,2}[ -]\w{3,9}[ -]\d{2})",  # [1.2.0] - 2022-10-10
    re.IGNORECASE,
)
"""A heading above the changes of one version or day."""


def are_change_notes(unit: Unit) -> bool:
    """Whether a unit's title, or a heading above its first statement, is that of notes on changes."""
    headings = next((said.path for said in statements_of(unit)), ())
    return any(_TITLE.search(line) or _ENTRY.search(line) for line in (unit.title, *headings))
