"""The text of scanned PDF pages, where the program `tesseract` is on the machine: pages are drawn and given to it through a pipe.

It reads in all languages that are installed for it. Nothing is written to disk. Expect mistakes: the notes say what was read so.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from statistics import median
from typing import Any

from hoptrail.documents.pdf.fragments import Fragment

_DPI = 200
_LARGEST = 40_000_000
"""Pixels of a page; larger ones are drawn smaller."""
_LARGER = 1.5
"""Lines so many times higher than the usual are set larger; others only seem so."""
_MOST_LANGUAGES = 4
_TIME_SHARE = 0.7
"""Of the time for parsing, what reading scanned pages may take."""


class Ocr:
    """Reads scanned pages until the time for it has run out."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + _TIME_SHARE * seconds
        self.read: list[int] = []
        """Numbers of the pages that gave text."""
        self.late: list[int] = []
        """Numbers of the scanned pages for which there was no time."""

    def fragments(self, page: Any, number: int) -> list[Fragment]:
        """The lines of a page without text; none where it has no picture, or there is no program to read it."""
        program = shutil.which("tesseract")
        if program is None or not _has_picture(page):
            return []
        left = self._until - time.monotonic()
        if left <= 0:
            self.late.append(number)
            return []
        try:
            found = list(_lines(_recognised(program, _drawn(page), left), 72 / _DPI))
        except subprocess.TimeoutExpired:
            self.late.append(number)
            return []
        if found:
            self.read.append(number)
        return found

    def notes(self) -> Iterator[str]:
        """What a reader of the text should know."""
        if self.read:
            yield f"{len(self.read)} scanned pages were read by OCR (tesseract): expect mistakes"
        if self.late:
            yield (
                f"{len(self.late)} scanned pages, from page {self.late[0]}, were not read: OCR takes longer than the limit "
                "`parsing_seconds`; raise it, or run OCR first"
            )


def _has_picture(page: Any) -> bool:
    import pypdfium2.raw as pdfium

    return any(thing.type == pdfium.FPDF_PAGEOBJ_IMAGE for thing in page.get_objects(max_depth=3))


def _drawn(page: Any) -> bytes:
    """The page as a picture in shades of grey, in the format PGM."""
    width, height = page.get_size()
    scale = _DPI / 72
    if width * height * scale * scale > _LARGEST:
        scale = (_LARGEST / (width * height)) ** 0.5
    bitmap = page.render(scale=scale, grayscale=True)
    pixels = bitmap.to_numpy().reshape(bitmap.height, -1)[:, : bitmap.width]
    return b"P5\n%d %d\n255\n" % (bitmap.width, bitmap.height) + bytes(pixels.tobytes())


@cache
def _languages(program: str) -> str:
    listed = subprocess.run([program, "--list-langs"], capture_output=True, text=True, check=False, timeout=20).stdout
    names = [name for name in listed.split("\n")[1:] if name and name != "osd" and "/" not in name]
    return "+".join(sorted(names, key=lambda name: name != "eng")[:_MOST_LANGUAGES]) or "eng"


def _recognised(program: str, picture: bytes, seconds: float) -> str:
    command = [program, "stdin", "stdout", "-l", _languages(program), "--dpi", str(_DPI), "tsv"]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(command, input=picture, capture_output=True, check=False, timeout=seconds, env=environment)
    return done.stdout.decode("utf-8", "replace")


def _lines(table: str, scale: float) -> Iterator[Fragment]:
    """Words that the program found on one line, as a fragment each; `scale` makes pixels points."""
    words: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for row in csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("level") == "5" and (row.get("text") or "").strip():
            words[row["block_num"], row["par_num"], row["line_num"]].append(row)
    if not words:
        return
    usual = median(int(word["height"]) for line in words.values() for word in line)
    for line in words.values():
        height = median(int(word["height"]) for word in line)
        yield Fragment(
            " ".join(word["text"] for word in line),
            min(int(word["left"]) for word in line) * scale,
            max(int(word["left"]) + int(word["width"]) for word in line) * scale,
            median(int(word["top"]) + int(word["height"]) for word in line) * scale,
            (height if height > _LARGER * usual else usual) * scale,
            lefts=tuple(int(word["left"]) * scale for word in line),
        )
