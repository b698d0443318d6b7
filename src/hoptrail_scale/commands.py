"""The commands that copy an index (to an object store, into a backup, and back) or build shards. `cli.py` registers them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hoptrail.corpus.locations import index_folder
from hoptrail.serving import options
from hoptrail.serving.options import IndexFolder, say
from hoptrail_scale.publishing.sending import KEEP_HOURS
from hoptrail_scale.publishing.sending import publish as send


def publish(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="s3://, gs:// or az:// and BUCKET/PATH.")],
    folder: IndexFolder,
    keep_hours: Annotated[
        float,
        typer.Option("--keep-hours", metavar="HOURS", min=0, help="How long a replaced publication can be fetched."),
    ] = KEEP_HOURS,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Send everything again, to replace a damaged publication.")
    ] = False,
) -> None:
    """Publish the last commit of an index to an object store; only changes are sent."""
    done = send(folder, address, keep_hours=keep_hours, afresh=afresh)
    what = "already this commit; nothing was sent, "
    if done.sent_bytes:
        sent = f"{done.sent_chunks:,} of {done.chunks:,} chunks sent, {done.sent_bytes:,} bytes"
        what = f"commit {done.commit}: {sent} for an index of {done.size:,}; "
    say(f"publication {done.number} is {what}{done.removed:,} old objects removed.")


def shards(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Files, folders, or JSONL.")],
    to: Annotated[str, typer.Option("--to", metavar="ADDRESS", help="s3://, gs:// or az:// and BUCKET/PATH.")],
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, help="The number of shards.")],
    recipes: options.BuiltFor = None,
    on: options.Place = "ray",
    address: options.RayAddress = "",
    settings: options.SettingsFile = None,
) -> None:
    """Build or update a corpus in shards, for more documents than one machine can search."""
    from hoptrail.index.settings import load_settings
    from hoptrail.serving.render import render_indexing
    from hoptrail_scale.sharding.building import build_shards

    with options.open_executor(on, address) as executor:
        reports = build_shards(sources, to, count, options.named(recipes), load_settings(settings), executor)
    for number, report in enumerate(reports, start=1):
        say(f"Shard {number} of {count}:")
        say(render_indexing(replace(report, failures=[])))
    failures = {failure.source: failure for report in reports for failure in report.failures}  # every worker reads all
    for failure in failures.values():
        say(f"not read: {failure}")
    if failures:
        raise typer.Exit(options.INCOMPLETE)


def backup(
    to: Annotated[Path, typer.Argument(metavar="TO", help="A new or empty folder.")], folder: IndexFolder
) -> None:
    """Copy the last commit of an index into a folder, while others read and write it."""
    from hoptrail.corpus.copying import copy_index

    copy_index(folder, to)
    say(f"{to} holds the last commit of {folder}.")


def restore(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The folder of a backup, or the address of a publication.")
    ],
    folder: Annotated[
        Path, typer.Option("--index", metavar="DIR", parser=index_folder, help="The folder of the index.")
    ],
) -> None:
    """Create an index from a backup or from the publication at an address."""
    from hoptrail_scale.publishing.fetching import restore as fetch

    fetch(source, folder)
    say(f"{folder} holds the index of {source}.")
