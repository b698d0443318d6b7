"""Measures `index FOLDER --sync` for a folder of many small text files: the first time, with nothing new, with changed files,
with deleted files, and after a restored backup, in which every file has another time.

    python -m benchmarks.folder_in_step [--files 50000] [--work DIR]

Vectors are hashed words, so reading, comparing and storing are measured. The structures are those of `bm25`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.small_world import HashedWords

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.indexing import Watcher, update_index
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.syncing import ReadingOptions

CHANGED, GONE = 10, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        folder = Path(work, "folder")
        files = [_write(folder, number, "is a harbour") for number in range(options.files)]
        old = time.time() - 3600
        for file in files:
            os.utime(file, (old, old))
        time.sleep(2.5)  # so that the times can be relied on
        _measure("first time", work, folder)
        _measure("nothing new", work, folder)
        for number in range(CHANGED):
            _write(folder, number, "is a town")
        _measure(f"{CHANGED} changed", work, folder)
        for file in files[-GONE:]:
            file.unlink()
        _measure(f"{GONE} gone", work, folder)
        for file in files[:-GONE]:
            os.utime(file)
        time.sleep(2.5)
        _measure("all times changed", work, folder)
        _measure("nothing new again", work, folder)


def _write(folder: Path, number: int, what: str) -> Path:
    file = folder / f"{number % 100:02}" / f"{number}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"Place {number} {what}. It has {number % 977} boats.\n", encoding="utf-8")
    return file


def _measure(what: str, work: str, folder: Path) -> None:
    passages = structures_by_name(PassageLimits())["passages"]
    started, cpu = time.perf_counter(), time.process_time()
    where, options = Path(work, "index"), ReadingOptions(sync=True)
    report = update_index(where, [folder], HashedWords(), [passages], ReadingLimits(), Watcher(), options=options)
    counts = {name: getattr(report, name) for name in ("added", "updated", "unchanged", "removed", "documents")}
    seconds = {"seconds": round(time.perf_counter() - started, 2), "cpu": round(time.process_time() - cpu, 2)}
    sys.stdout.write(json.dumps({"what": what, **seconds, **counts}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
