"""A consistent copy of an index."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from hoptrail.corpus.database import Database, telling
from hoptrail.corpus.durable import make_folder
from hoptrail.corpus.places import DATABASE
from hoptrail.corpus.segments import ARRAYS, file_name


def copy_index(folder: Path, to: Path) -> None:
    """Copy the last commit of the index in a folder, and nothing else of it, into an empty folder."""
    with telling(folder):
        make_folder(to / ARRAYS)
        database = Database.to_read(folder)
        try:
            for segment, name in database.rows("SELECT segment, name FROM arrays WHERE data IS NULL"):
                shutil.copyfile(folder / ARRAYS / file_name(segment, name), to / ARRAYS / file_name(segment, name))
            copy = apsw.Connection(str(to / DATABASE))
            with database.backup_to(copy) as backup:
                backup.step()
            copy.close()
        finally:
            database.close()
