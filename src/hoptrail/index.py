"""An index as its users hold it: add and remove documents, ask, search, look inside. The door to everything below.

What searching does not need is imported where it is used, so that a search by itself starts soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from hoptrail.asked_index import AskedIndex
from hoptrail.errors import IndexDamaged
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.notebook import documents_html

if TYPE_CHECKING:
    from hoptrail.corpus.register import Withdrawn
    from hoptrail.documents.limits import ReadingLimits
    from hoptrail.index_builder import Building
    from hoptrail.index_contents import Contents
    from hoptrail.indexing import Watcher
    from hoptrail.syncing import IndexingReport

T = TypeVar("T")


class Index(AskedIndex):
    """One index with settings. Opening it reads nothing; every call sees the last committed state.

    `folder` also holds the replies that were paid for. Any number of processes and threads may read while one writes.
    """

    def __repr__(self) -> str:
        return f"<Index at {self.folder}>"

    def _repr_html_(self) -> str:
        found = () if self.is_empty else self.contents().documents
        return documents_html(str(self.folder), [(one.title, one.passages, one.sources[0]) for one in found])

    is_read_only = False
    """Whether nothing can be added to it or removed from it."""

    def add(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
        on: Executor = LOCAL_EXECUTOR,
        limits: ReadingLimits | None = None,
        keep_lines: bool = False,
        sync: bool | None = None,
    ) -> IndexingReport:
        """Add or update documents from a file or folder or several, and build what `recipes` need beside what is there already.

        Documents that could not be read are in the report's `failures`; the others are in the index. Structures that need
        a language are made by that of the settings; with `rebuild`, also where another one has made them before, and files that
        look unchanged are read again. Where no recipe gains by a model they are made by rules, unless a model has made them
        before. `on` says where: in this process, or on a cluster (`execution.on_ray`), which gives the same index. `limits`
        stand in for those of the settings, for sources that have passed these before. Documents whose lines a JSONL file no
        longer has go, unless `keep_lines` says otherwise. With `sync`, documents whose files are no longer in a folder that is
        named go as well; without it the report's `gone` says how many files those are. The default is the setting `sync`.

        Raises:
            UsageError: a recipe is not known, or another language has made a structure; nothing was changed.
            Interrupted: the watcher asked to stop.
            WorkFailed: the cluster lost a batch of work for good; what was finished is kept.
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.syncing import ReadingOptions

        synced = self.settings.sync if sync is None else sync
        options = ReadingOptions(keep_lines, synced, rebuild, self.settings.follow_links)
        sources, recipes = _one_or_several(sources), _one_or_several(recipes or ())
        return self._building.add(sources, recipes, watcher, limits, options, on)

    def check(self, recipes: Sequence[str]) -> None:
        """Refuse recipes that nothing could be built for with these settings, before any work is done.

        Raises:
            UsageError: a recipe is not known, or searches what the settings do not build.
        """
        self._building.check(recipes)

    def estimate(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
    ) -> IndexingReport:
        """What `add` would do, and spend on language tasks (`usage`), by a rehearsal in a temporary copy: it takes as long as
        indexing by rules. Where nothing is spent nothing is rehearsed: the files are only looked for, and `documents` counts
        them.

        Without an address of a chat endpoint no reply that was paid for is known, so all are counted.

        Raises: as `add` does, but not for want of an address.
        """
        return self._building.estimate(
            _one_or_several(sources), _one_or_several(recipes or ()), watcher, rebuild=rebuild
        )

    def remove(self, documents: str | Iterable[str]) -> list[str]:
        """Remove a document or several, each named by id, path or title, and all that stands on them alone; gives the titles of
        those that went. `withdraw` tells also of those that stay, because they were read from other paths too.

        Raises: as `withdraw` does.
        """
        return [document.title for document in self.withdraw(documents) if not document.left]

    def withdraw(self, documents: str | Iterable[str]) -> list[Withdrawn]:
        """Remove as `remove` does; gives what became of each document that was named, or of which a path was.

        What a chat model made from them and from others is taken away and made again by the next `add`: removing is free.

        Raises:
            UsageError: a name fits no document or several.
            IndexUnavailable: there is no index here.
        """
        return self._building.withdraw(_one_or_several(documents))

    def clean(self) -> bool:
        """See that nothing that was removed is left in any file.

        Every removal does so, unless somebody reads an earlier state for long; False where that is so now.

        Raises:
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.corpus.writer import writing_to

        with writing_to(self.folder, self.encoder.identity) as writer:
            return writer.clean()

    def contents(self) -> Contents:
        """What is in the index."""
        from hoptrail.index_contents import contents_of

        with self._shared.reading() as snapshot:
            return contents_of(snapshot)

    def verify(self) -> int:
        """Read every file of the index and compare it with its checksums; how many files were compared.

        Raises:
            IndexDamaged: names the first that is missing or altered, or does not belong.
            IndexUnavailable: there is no index here.
        """
        from hoptrail.corpus.repairing import damage, files_of_index

        found = damage(self.folder)
        if found:
            raise IndexDamaged(
                f"{self.folder}: {found[0]}. Run `hoptrail repair --index {self.folder}` to rebuild what the stored documents "
                f"allow."
            )
        return files_of_index(self.folder)

    def repair(self, watcher: Watcher | None = None) -> list[str]:
        """Rebuild what is damaged from the stored documents; the names of the files that were.

        What a chat model has made is not made again here: repairing is free. `unfinished` names it afterwards.

        Raises:
            IndexDamaged: the documents themselves are damaged, so their sources must be indexed again.
        """
        return self._building.repair(watcher)

    def unfinished(self) -> tuple[str, ...]:
        """The structures that were begun or lost and are not there: the next `add` for a recipe that needs them goes on."""
        with self._shared.reading() as snapshot:
            return tuple(snapshot.head.unfinished)

    @property
    def _building(self) -> Building:
        from hoptrail.index_builder import Building

        return Building(self.folder, self.settings, self._shared, lambda: self.encoder, lambda: self._language_context)


def _one_or_several(given: T | Iterable[T]) -> list[T]:
    """A text alone is one name, not its characters."""
    return [cast("T", given)] if isinstance(given, str | Path) else list(cast("Iterable[T]", given))
