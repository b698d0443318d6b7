"""The commands that make a corpus of what cannot be indexed as it is. Entered in the command line by `cli.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoptrail.serving.options import console_of, named, watching
from hoptrail.serving.render import plain

if TYPE_CHECKING:
    from hoptrail.documents.wikipedia.building import WikipediaCorpus

FAILED, INCOMPLETE = 1, 4
FAULTS_TOLD = 10
"""Pages that are named on standard error; the manifest names more."""

corpus = typer.Typer(
    help="Make documents of what cannot be indexed as it is.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@corpus.callback()
def _group() -> None:
    """Make documents of what cannot be indexed as it is."""


@corpus.command("wikipedia")
def corpus_wikipedia(
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="A MediaWiki XML dump: .xml, .xml.bz2 or .xml.gz.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for documents, profiles, manifest.")],
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Processes that parse pages.")] = 1,
    infoboxes: Annotated[
        list[str] | None,
        typer.Option("--infoboxes", metavar="NAME,...", help="How infobox templates begin, besides the usual."),
    ] = None,
    disambiguation: Annotated[
        list[str] | None,
        typer.Option("--disambiguation", metavar="NAME,...", help="Templates of such pages, besides the usual."),
    ] = None,
    with_disambiguation: Annotated[
        bool, typer.Option("--with-disambiguation", help="Make documents of disambiguation pages, too.")
    ] = False,
) -> None:
    """A document and a profile for every article of a MediaWiki dump; resumable."""
    from hoptrail.documents.wikipedia.building import build_corpus
    from hoptrail.documents.wikipedia.converting import WikipediaSettings

    usual = WikipediaSettings()
    settings = replace(
        usual,
        infoboxes=(*usual.infoboxes, *named(infoboxes)),
        disambiguation=(*usual.disambiguation, *named(disambiguation)),
        disambiguation_documents=with_disambiguation,
    )
    with watching() as watcher:
        made = build_corpus(dump, out, settings, workers, watcher.report, watcher.stopped)
    for line in _told(made):
        console_of(error=True).print(plain(line), soft_wrap=True)
    if not made.complete:
        raise typer.Exit(INCOMPLETE if made.documents else FAILED)


def _told(made: WikipediaCorpus) -> Iterator[str]:
    for title, reason in made.faults[:FAULTS_TOLD]:
        yield f"not read: {title}: {reason}"
    if made.faults_in_all > FAULTS_TOLD:
        yield f"not read: {made.faults_in_all - FAULTS_TOLD} more pages; corpus.json names them"
    if made.ended:
        yield f"the dump is cut off {made.ended}"
    yield (
        f"{made.documents:,} documents of {made.pages:,} pages, {made.words:,} words; {made.infoboxes:,} with an infobox, "
        f"{made.redirects:,} redirects, {made.disambiguation_pages:,} disambiguation pages."
    )
