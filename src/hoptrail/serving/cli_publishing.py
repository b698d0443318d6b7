"""The commands that copy an index: to an object store, into a backup, and back. `cli.py` registers them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hoptrail.corpus.places import index_folder
from hoptrail.publishing.sending import KEEP_HOURS
from hoptrail.publishing.sending import publish as send
from hoptrail.serving.options import IndexFolder, say


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
    if done.sent_bytes:
        message = (
            f"publication {done.number} is commit {done.commit}: {done.sent_chunks:,} of {done.chunks:,} chunks sent, "
            f"{done.sent_bytes:,} bytes for an index of {done.size:,}; {done.removed:,} old objects removed."
        )
    else:
        message = (
            f"publication {done.number} is already this commit; nothing was sent, {done.removed:,} old objects removed."
        )
    say(message)


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
    from hoptrail.publishing.fetching import restore as fetch

    fetch(source, folder)
    say(f"{folder} holds the index of {source}.")
