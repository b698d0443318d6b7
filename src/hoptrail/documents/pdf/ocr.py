"""Reads scanned PDF pages with the program `tesseract`, if it is installed. Rendered pages are piped to it.

It reads up to four of its installed languages, English first. Nothing is written to disk. A note warns of mistakes.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from statistics import median
from typing import Any

from hoptrail.documents.pdf.fragments import Fragment
from hoptrail.system.environment_variables import environment_of_child

_DPI = 200
_LARGEST = 40_000_000
"""Pixels per page; larger pages are rendered at a lower resolution."""
_LARGER = 1.5
"""Lines at least this many times higher than usual have a larger font; smaller differences are noise."""
_MOST_LANGUAGES = 4
_TIME_SHARE = 0.7
"""Share of the time for parsing that OCR may take."""


class Ocr:
    """Reads scanned pages until its time has run out."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + _TIME_SHARE * seconds
        self.read: list[int] = []
        """Numbers of the pages that gave text."""
        self.late: list[int] = []
        """Numbers of the scanned pages that were skipped for lack of time."""

    def fragments(self, page: Any, number: int) -> list[Fragment]:
        """The lines of a page without text; empty if the page has no picture, or the program is missing or out of time."""
        import pypdfium2.raw as pdfium

        program = shutil.which("tesseract")
        if program is None or not any(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
            return []
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            self.late.append(number)
            return []
        try:
            lines = list(_lines(_recognise(program, _render(page), seconds)))
        except subprocess.TimeoutExpired:
            self.late.append(number)
            return []
        if lines:
            self.read.append(number)
        return lines

    def notes(self) -> Iterator[str]:
        """Yield notes on pages read by OCR or skipped."""
        if self.read:
            yield f"{len(self.read)} scanned pages were read by OCR (tesseract): expect mistakes"
        if self.late:
            yield (
                f"{len(self.late)} scanned pages, from page {self.late[0]}, were not read: OCR takes longer than the limit "
                "`parsing_seconds`; raise it, or run OCR first"
            )


def _render(page: Any) -> bytes:
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


def _recognise(program: str, picture: bytes, seconds: float) -> str:
    command = [program, "stdin", "stdout", "-l", _languages(program), "--dpi", str(_DPI), "tsv"]
    environment = environment_of_child(OMP_THREAD_LIMIT="1")
    done = subprocess.run(command, input=picture, capture_output=True, check=False, timeout=seconds, env=environment)
    return done.stdout.decode("utf-8", "replace")


def _lines(table: str) -> Iterator[Fragment]:
    scale = 72 / _DPI  # points per pixel
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
