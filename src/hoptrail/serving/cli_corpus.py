"""The commands that convert dumps into a corpus that can be indexed. `cli.py` registers them."""

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

SHOWN_FAULTS = SHOWN_TEMPLATES = 10
"""Pages, and templates, named on standard error; the manifest names more."""

corpus = typer.Typer(
    help="Convert dumps into documents that can be indexed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@corpus.callback()
def _group() -> None:
    """Convert dumps into documents that can be indexed."""


@corpus.command("wikipedia")
def corpus_wikipedia(
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="A MediaWiki XML dump: .xml, .xml.bz2 or .xml.gz.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for documents, profiles, manifest.")],
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Processes that parse pages.")] = 1,
    infoboxes: Annotated[
        list[str] | None,
        typer.Option("--infoboxes", metavar="NAME,...", help="Further prefixes of infobox templates."),
    ] = None,
    disambiguation: Annotated[
        list[str] | None,
        typer.Option("--disambiguation", metavar="NAME,...", help="Further templates of disambiguation pages."),
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option("--templates", metavar="FILE.toml", help="Texts of further templates: lines NAME = PATTERN."),
    ] = None,
    with_disambiguation: Annotated[
        bool, typer.Option("--with-disambiguation", help="Also make documents from disambiguation pages.")
    ] = False,
) -> None:
    """Make a document and a profile for every article of a MediaWiki dump; resumable."""
    from hoptrail.documents.wikipedia.converting import WikipediaSettings
    from hoptrail.documents.wikipedia.corpus_builder import build_corpus

    defaults = WikipediaSettings()
    settings = replace(
        defaults,
        infoboxes=(*defaults.infoboxes, *named(infoboxes)),
        disambiguation=(*defaults.disambiguation, *named(disambiguation)),
        disambiguation_documents=with_disambiguation,
        templates=_templates(templates) if templates else (),
    )
    with watching() as watcher:
        result = build_corpus(dump, out, settings, workers, watcher.report, watcher.stopped)
    for line in _report(result):
        console_of(error=True).print(plain(line), soft_wrap=True)
    if not result.complete:
        raise typer.Exit(INCOMPLETE if result.documents else FAILED)


def _templates(file: Path) -> tuple[tuple[str, str], ...]:
    """Names of templates with their texts. Raises: UsageError: the file cannot be read, or holds anything else."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    if wrong := [name for name, pattern in content.items() if not isinstance(pattern, str)]:
        raise UsageError(f'{file}: the text of {wrong[0]} is not a string. Give each template a line: "NAME" = "$1".')
    return tuple(content.items())


def _report(result: WikipediaCorpus) -> Iterator[str]:
    for title, reason in result.faults[:SHOWN_FAULTS]:
        yield f"not read: {title}: {reason}"
    if result.faults_in_all > SHOWN_FAULTS:
        yield f"not read: {result.faults_in_all - SHOWN_FAULTS} more pages; corpus.json names them"
    if result.templates_dropped:
        most = islice(result.templates_dropped.items(), SHOWN_TEMPLATES)
        shown = ", ".join(f"{name} ({count:,})" for name, count in most)
        yield f"templates that produced no text, the most frequent first: {shown}; --templates can define their texts"
    if result.ended:
        yield f"the dump is cut off {result.ended}"
    yield (
        f"{result.documents:,} documents of {result.pages:,} pages, {result.words:,} words; {result.infoboxes:,} with an "
        f"infobox, {result.redirects:,} redirects, {result.disambiguation_pages:,} disambiguation pages."
    )
