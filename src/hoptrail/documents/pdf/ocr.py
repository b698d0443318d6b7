"""Reads the text of pictures, such as scanned pages, with the package `rapidocr`, which brings its models along."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from statistics import fmean, median
from typing import Any

from hoptrail.documents.forms import reads_pictures
from hoptrail.documents.pdf.fragments import Fragment

INSTALL = "`pip install 'hoptrail[ocr]'` reads pictures of text"
_DPI = 200
_SEARCHED = 1280
"""Pixels of the longer side at which lines are looked for; they are read in full. Twice as many take a gigabyte."""
_LARGEST = 40_000_000  # pixels of a picture; larger ones are read at a lower resolution
_FONT = 0.75  # size of the font as a share of the height of a line
_LARGER = 1.5  # lines at least this many times higher than usual have a larger font; smaller differences are noise
_TIME_SHARE = 0.7  # share of the time for parsing that may have passed when the last picture has been read


class Ocr:
    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + _TIME_SHARE * seconds
        self._longest = 0.0  # seconds that a picture took at most
        self.read: list[int] = []  # numbers of the pages that gave text
        self.late: list[int] = []  # numbers of the scanned pages that were skipped for lack of time

    def fragments(self, page: Any, number: int) -> list[Fragment]:
        """The lines of a PDF page without text; empty if it has no picture, the extra is missing, or time has run out."""
        import pypdfium2.raw as pdfium

        pictures = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
        if not reads_pictures() or not any(pictures):
            return []
        width, height = page.get_size()
        scale = min(_DPI / 72, (_LARGEST / (width * height)) ** 0.5)
        return self.lines(page.render(scale=scale, grayscale=True).to_pil(), number, width)

    def lines(self, picture: Any, number: int, width: float = 612) -> list[Fragment]:
        """The lines of a picture of Pillow that is page `number` and `width` points wide; empty if time has run out."""
        began = time.monotonic()
        if began + self._longest > self._until:
            self.late.append(number)
            return []
        shrunk = (_LARGEST / (picture.width * picture.height)) ** 0.5
        if shrunk < 1:
            picture = picture.resize((max(1, int(picture.width * shrunk)), max(1, int(picture.height * shrunk))))
        scale = width / picture.width
        result = _read(picture)
        if result.txts and (_clarity(result)[0] < 0.8 or _is_tall(result)):
            turns = (90, 270) if _is_tall(result) else (180,)
            result = max([result, *(_read(picture.rotate(turn, expand=True)) for turn in turns)], key=_clarity)
        lines = list(_fragments(result, scale)) if result.txts else []
        self.read += [number] * bool(lines)
        self._longest = max(self._longest, time.monotonic() - began)
        return lines

    def notes(self) -> Iterator[str]:
        if self.read:
            pages = "1 page was" if len(self.read) == 1 else f"{len(self.read)} pages were"
            yield f"{pages} read from a picture by OCR: expect mistakes"
        if self.late:
            why = "OCR takes longer than the limit `parsing_seconds`; raise it, or run OCR first"
            yield f"{len(self.late)} scanned pages, from page {self.late[0]}, were not read: {why}"


@cache
def _engine() -> Any:
    """One thread, so that the time of the process is that of the clock."""
    from rapidocr import RapidOCR

    with suppress(ImportError):  # on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    threads = {f"EngineConfig.onnxruntime.{which}_op_num_threads": 1 for which in ("intra", "inter")}
    search = {"Det.limit_type": "max", "Det.limit_side_len": _SEARCHED}
    return RapidOCR(params={"Global.log_level": "error", "Global.use_cls": False, **search, **threads})


def _read(picture: Any) -> Any:
    import numpy as np

    return _engine()(np.asarray(picture.convert("RGB"))[:, :, ::-1])


def _clarity(result: Any) -> tuple[float, bool]:
    """The mean confidence in the lines, which is low where the page is upside down, and whether they run across the page."""
    return (round(fmean(result.scores), 1) if result.txts else 0.0), not _is_tall(result)


def _is_tall(result: Any) -> bool:
    """Whether lines run up or down the page, which is turned then."""
    boxes: list[Any] = list(result.boxes) if result.txts else []
    tall = [box for box in boxes if box[2][1] - box[0][1] > 1.5 * (box[2][0] - box[0][0])]
    return 2 * len(tall) > len(boxes)


def _fragments(result: Any, scale: float) -> Iterator[Fragment]:
    """The lines that were found. A box has four corners, from the upper left one on; `scale` is in points per pixel."""
    boxes = [[(float(x) * scale, float(y) * scale) for x, y in box] for box in result.boxes]
    heights = [(box[3][1] + box[2][1] - box[0][1] - box[1][1]) / 2 for box in boxes]
    usual = median(heights)
    for text, box, height in zip(result.txts, boxes, heights, strict=True):
        words = text.split()
        left, right = min(x for x, _ in box), max(x for x, _ in box)
        starts = list(accumulate((len(word) + 1 for word in words), initial=0))
        lefts = tuple(left + (right - left) * start / starts[-1] for start in starts[:-1])
        size = _FONT * (height if height > _LARGER * usual else usual)
        yield Fragment(" ".join(words), left, right, (box[2][1] + box[3][1]) / 2, size, lefts=lefts)
