"""The commands that make a corpus of what cannot be indexed as it is. Entered in the command line by `cli.py`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hoptrail.errors import UsageError
from hoptrail.serving.options import FAILED, INCOMPLETE, console_of, named, watching
from hoptrail.serving.render import plain

if TYPE_CHECKING:
    from hoptrail.documents.wikipedia.corpus_builder import WikipediaCorpus

FAULTS_TOLD = TEMPLATES_TOLD = 10
"""Pages, and templates, that are named on standard error; the manifest names more."""

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
    templates: Annotated[
        Path | None,
        typer.Option(
            "--templates", metavar="FILE.toml", help="What further templates show: a line NAME = PATTERN each."
        ),
    ] = None,
    with_disambiguation: Annotated[
        bool, typer.Option("--with-disambiguation", help="Make documents of disambiguation pages, too.")
    ] = False,
) -> None:
    """A document and a profile for every article of a MediaWiki dump; resumable."""
    from hoptrail.documents.wikipedia.converting import WikipediaSettings
    from hoptrail.documents.wikipedia.corpus_builder import build_corpus

    usual = WikipediaSettings()
    settings = replace(
        usual,
        infoboxes=(*usual.infoboxes, *named(infoboxes)),
        disambiguation=(*usual.disambiguation, *named(disambiguation)),
        disambiguation_documents=with_disambiguation,
        templates=_templates(templates) if templates else (),
    )
    with watching() as watcher:
        made = build_corpus(dump, out, settings, workers, watcher.report, watcher.stopped)
    for line in _told(made):
        console_of(error=True).print(plain(line), soft_wrap=True)
    if not made.complete:
        raise typer.Exit(INCOMPLETE if made.documents else FAILED)


def _templates(file: Path) -> tuple[tuple[str, str], ...]:
    """Names of templates with what they show.

    Raises:
        UsageError: the file cannot be read, or holds anything else.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    if wrong := [name for name, pattern in content.items() if not isinstance(pattern, str)]:
        raise UsageError(f'{file}: what {wrong[0]} shows is no text. Give each template a line: "NAME" = "$1".')
    return tuple(content.items())


def _told(made: WikipediaCorpus) -> Iterator[str]:
    for title, reason in made.faults[:FAULTS_TOLD]:
        yield f"not read: {title}: {reason}"
    if made.faults_in_all > FAULTS_TOLD:
        yield f"not read: {made.faults_in_all - FAULTS_TOLD} more pages; corpus.json names them"
    if made.templates_dropped:
        most = islice(made.templates_dropped.items(), TEMPLATES_TOLD)
        shown = ", ".join(f"{name} ({count:,})" for name, count in most)
        yield f"templates that showed nothing, the most frequent first: {shown}; --templates can say what they show"
    if made.ended:
        yield f"the dump is cut off {made.ended}"
    yield (
        f"{made.documents:,} documents of {made.pages:,} pages, {made.words:,} words; {made.infoboxes:,} with an infobox, "
        f"{made.redirects:,} redirects, {made.disambiguation_pages:,} disambiguation pages."
    )
