"""What a run of reading is asked for, and what it reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.splitting import CorpusPart
from hoptrail.documents.walking import USUAL_SELECTION, Selection
from hoptrail.errors import DocumentError
from hoptrail.notebook import SHOWN_DOCUMENTS
from hoptrail.types import Document, Usage


@dataclass(slots=True)
class IndexingReport:
    """What a run did.

    - `updated`: documents that replaced another one at their source.
    - `moved`: documents that were read at another source than before, where they no longer are.
    - `duplicates`: sources whose document was also read at another one. It is stored once.
    - `removed`: documents that their sources no longer hold.
    - `gone`: files that are no longer in their folder, while their documents are still in the index.
    - `outdated`: files that are there and could not or need not be read, while what was read from them before is still in the
      index.
    - `documents`: documents in the index after the run.
    - `failures`: documents that could not be read; the run continued without them.
    - `left_out`: files and folders that are not read by choice (pictures, programs, what `.gitignore` names), with the reason.
    - `notes`: what was decided or could not be done.
    - `usage`: the cost of language tasks.

    `print` shows all of it.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    unchanged: int = 0
    duplicates: list[str] = field(default_factory=list)
    removed: int = 0
    gone: int = 0
    outdated: list[str] = field(default_factory=list)
    documents: int = 0
    failures: list[DocumentError] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __repr__(self) -> str:
        return f"<IndexingReport {self._counts()}; {self.documents:,} in the index>"

    def __str__(self) -> str:
        lines = [f"{self._counts()}; {self.documents:,} documents in the index."]
        for title, listed in (
            ("Not read", list(map(str, self.failures))),
            ("Left out", [f"{source}: {reason}" for source, reason in self.left_out.items()]),
            ("Not read now, but an older reading is still in the index", self.outdated),
            ("Notes", self.notes),
        ):
            hidden = len(listed) - SHOWN_DOCUMENTS
            shown = listed[:SHOWN_DOCUMENTS] + ([f"and {hidden:,} more"] if hidden > 0 else [])
            lines += [f"{title}:", *(f"- {line}" for line in shown)] if listed else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _counts(self) -> str:
        names = ("added", "unchanged", "updated", "moved", "removed", "gone")
        counts = {name: getattr(self, name) for name in names} | {"not read": len(self.failures)}
        counts |= {"duplicates": len(self.duplicates), "left out": len(self.left_out)}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "added")

    @property
    def did_something(self) -> bool:
        """Whether the run changed the index or failed to read something."""
        return any((self.added, self.updated, self.moved, self.removed, self.failures, self.outdated))


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What to read, what to read again, and which documents to remove.

    - `given`: documents that were read already, in place of the sources. All of them are held back, new ones, too.
    - `sync`: remove documents whose files are no longer in a named folder, or no longer readable.
    - `reread`: read files again that look unchanged.
    - `selection`: which files are read.
    - `part`: add only the documents of this part of the sources; None: all.
    - `limits`: see `ReadingLimits`.
    """

    given: Iterable[Document] | None = None
    sync: bool = False
    reread: bool = False
    selection: Selection = USUAL_SELECTION
    part: CorpusPart | None = None
    limits: ReadingLimits = DEFAULT_LIMITS


USUAL = ReadingOptions()
