"""The public index: add and remove documents, ask, search, inspect, repair.

Modules that a search does not need are imported where they are used, so that a search starts quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import IndexDamaged
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.index.asked import AskedIndex
from hoptrail.language.tasks import OFFLINE
from hoptrail.notebook import documents_html

if TYPE_CHECKING:
    from hoptrail.corpus.register import Withdrawn
    from hoptrail.index.contents import Contents
    from hoptrail.index.indexing import Watcher
    from hoptrail.index.syncing import IndexingReport
    from hoptrail.types import Document

T = TypeVar("T")


class Index(AskedIndex):
    """An index with its settings. Opening it reads nothing; every call sees the last committed state.

    `folder` also holds the replies that were paid for. Any number of processes and threads may read while one writes.
    """

    def __repr__(self) -> str:
        return f"<Index at {self.folder}>"

    def _repr_html_(self) -> str:
        documents = () if self.is_empty else self.contents().documents
        return documents_html(str(self.folder), [(item.title, item.passages, item.sources[0]) for item in documents])

    is_read_only = False
    """Whether documents can be neither added nor removed."""

    def add(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
        on: Executor = LOCAL_EXECUTOR,
        documents: Iterable[Document] | None = None,
        sync: bool | None = None,
        exclude: str | Iterable[str] = (),
    ) -> IndexingReport:
        """Add or update documents from files or folders, and build what `recipes` need beside what is there already.

        Documents that could not be read are in the report's `failures`. A new version of a document takes the place of the old
        one in one commit, once it is wholly indexed.

        - `rebuild`: read files again that look unchanged, and make structures anew that another language has made. Otherwise the
          language of the settings makes them; rules do where no recipe gains by a model, unless one has made them before.
        - `on`: where the work is done: in this process, or on a cluster (`execution.on_ray`), which gives the same index.
        - `documents`: documents that were read already, in place of sources. New ones, too, are visible once they are wholly
          indexed, not once they are read.
        - `sync`: also remove documents whose files are no longer in a named folder, or no longer readable. Without it the
          report's `gone` counts the former, and `outdated` names the latter. The default is the setting `sync`.
        - `exclude`: what not to read in the folders, as patterns of `.gitignore`, beside those of the setting `exclude`.

        Raises:
            UsageError: a recipe is unknown, a pattern is none, or another language has made a structure; nothing was changed.
            Interrupted: the watcher asked to stop.
            WorkFailed: the cluster lost a batch of work for good; what was finished is kept.
            IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.index.indexing import add
        from hoptrail.index.syncing import ReadingOptions

        synced = self.settings.sync if sync is None else sync
        selection = self.settings.excluding(_one_or_several(exclude)).selection
        options = ReadingOptions(documents, synced, rebuild, selection, limits=self.settings.reading)
        sources, recipes = _one_or_several(sources), _one_or_several(recipes or ())
        return add(self, sources, recipes, watcher, options, on)

    def check(self, recipes: Sequence[str]) -> None:
        """Refuse recipes that these settings cannot build for, before any work is done.
        Raises: UsageError: a recipe is unknown, or searches what the settings do not build.
        """
        from hoptrail.index.indexing import check_recipes

        check_recipes(self.settings, recipes)

    def estimate(
        self,
        sources: str | Path | Iterable[str | Path],
        recipes: str | Sequence[str] = (),
        watcher: Watcher | None = None,
        *,
        rebuild: bool = False,
    ) -> IndexingReport:
        """Estimate what `add` would do and spend on language tasks (`usage`), by a rehearsal in a temporary copy.

        A rehearsal takes as long as indexing by rules. Where no model would be asked there is no rehearsal: the files are only
        looked for, and `documents` counts them. Without the address of a chat endpoint no remembered reply can be looked up, so
        all replies are counted.

        Raises: as `add` does, except for a missing address.
        """
        from hoptrail.index.indexing import estimate

        return estimate(self, _one_or_several(sources), _one_or_several(recipes or ()), watcher, rebuild=rebuild)

    def remove(self, documents: str | Iterable[str]) -> list[str]:
        """Remove documents, each named by id, path or title, with everything derived from them alone. Returns the titles of
        those that went; `withdraw` also reports those that stay because they were read from other paths too.

        Raises: as `withdraw` does.
        """
        return [document.title for document in self.withdraw(documents) if not document.left]

    def withdraw(self, documents: str | Iterable[str]) -> list[Withdrawn]:
        """Remove as `remove` does. Returns what became of each document that was named, or one of whose paths was.

        What a chat model made from these and other documents is removed, and made again by the next `add`: removing is free.

        Raises:
            UsageError: a name fits no document or several.
            IndexUnavailable: there is no index here.
        """
        from hoptrail.index.indexing import forget_removed, remove_documents, structures_for

        with self.reading():
            pass  # raises where there is no index
        structures, rules = structures_for(self, ()), self.language(OFFLINE)
        withdrawn = remove_documents(self.folder, _one_or_several(documents), self.encoder, structures, rules)
        forget_removed(self)
        return withdrawn

    def clean(self) -> bool:
        """Erase removed text from every file, as every removal tries to.

        Returns False while another process still reads an earlier commit.

        Raises: IndexBusy, IndexMismatch, IndexDamaged, StorageError: nothing was changed.
        """
        from hoptrail.corpus.writer import writing_to
        from hoptrail.index.indexing import forget_removed

        with writing_to(self.folder, self.encoder.identity) as writer:
            erased = writer.erase_removed()
        forget_removed(self)
        return erased

    def owes_erasure(self) -> bool:
        """Whether text of removed documents is still in a file of the index: a removal was cut off, or an earlier state was being
        read. Whatever opens the index to change it erases that text, and so does `clean`.
        """
        from hoptrail.corpus.journal import History
        from hoptrail.models.ledger import FILE, RememberedReplies

        if self.is_empty:
            return False
        replies = RememberedReplies(self.folder / FILE)
        mentioned = replies.documents() | History(self.folder).documents()
        replies.close()
        with Snapshot.open(self.folder) as snapshot:  # not the shared one, which may be from before the erasing
            return snapshot.owes_erasure or not mentioned.issubset(snapshot.register.ids())

    def contents(self) -> Contents:
        """The documents of the index, and counts of what was made from them."""
        from hoptrail.index.contents import contents_of

        with self.reading() as snapshot:
            return contents_of(snapshot)

    def documents(self, name: str) -> list[Document]:
        """The documents with this id, path, folder or title, as they were read.
        Raises: UsageError: the name fits no document, or is a title of several.
        """
        from hoptrail.corpus.register import named

        with self.reading() as snapshot:
            return list(snapshot.documents(named(snapshot, name)))

    def verify(self) -> int:
        """Compare every file of the index with its checksums. Returns the number of files.

        Raises:
            IndexDamaged: a file is missing or altered, or does not belong; the message names the first.
            IndexUnavailable: there is no index here.
        """
        from hoptrail.corpus.repairing import damage, files_of_index

        faults = damage(self.folder)
        if faults:
            raise IndexDamaged(
                f"{self.folder}: {faults[0]}. Run `hoptrail repair --index {self.folder}` to rebuild what the stored "
                f"documents allow."
            )
        return files_of_index(self.folder)

    def repair(self, watcher: Watcher | None = None) -> list[str]:
        """Rebuild damaged files from the stored documents. Returns the names of these files.

        What a chat model has made is not made again: repairing is free. `unfinished` names it afterwards.

        Raises: IndexDamaged: the documents themselves are damaged, so their sources must be indexed again.
        """
        from hoptrail.index.indexing import Watcher, repair_index
        from hoptrail.structures.catalogue import structures_by_name

        structures = structures_by_name(self.settings.passages, self.settings.structures)
        return repair_index(self.folder, self.encoder, structures, watcher or Watcher(), self.language(OFFLINE))

    def unfinished(self) -> tuple[str, ...]:
        """The structures that were begun or lost; the next `add` for a recipe that needs them finishes them."""
        with self.reading() as snapshot:
            return tuple(snapshot.head.unfinished)


def _one_or_several(names: T | Iterable[T]) -> list[T]:
    return [cast("T", names)] if isinstance(names, str | Path) else list(cast("Iterable[T]", names))
