"""The command `wikipedia` (entry point `hoptrail.commands`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoptrail.models.encoder_factory import optional_package
from hoptrail.serving import options


def wikipedia(
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="A MediaWiki XML dump: .xml, .xml.bz2 or .xml.gz.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for documents, profiles and counts.")],
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Processes that parse pages.")] = 1,
) -> None:
    """Build HiRAG's corpora from a Wikipedia dump: a document and a profile per entity; resumable."""
    optional_package("mwparserfromhell", "wikipedia")
    from hoptrail_papers.hirag.wikipedia.corpora import build_corpora, lines_of

    with options.watching() as watcher:
        counts = build_corpora(dump, out, workers, watcher.report, watcher.stopped)
    for line in lines_of(counts):
        options.say(line)
    if counts.faults_in_all or counts.damage:
        raise typer.Exit(options.INCOMPLETE if counts.entities else options.FAILED)
