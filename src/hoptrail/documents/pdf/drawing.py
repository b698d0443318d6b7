"""Draws a page of a PDF file as a picture, and finds where on it some text of the parsed document stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from hoptrail.documents.limits import Unreadable
from hoptrail.documents.pdf.parser import open_pdf
from hoptrail.types.json_object import JsonObject

WIDEST, TALLEST = 1400, 4000  # pixels of a picture


def draw_page(data: bytes, number: int, words: str) -> tuple[JsonObject, bytes]:
    """The page with this number, from 1, as PNG, and `pages`, `width`, `height` and `boxes`: left, top, right and bottom of each
    line of `words`, as shares of the page's width and height. There are none if the words are not on the page.
    Raises: Unreadable: the file cannot be read, or has no such page.
    """
    document = open_pdf(data)
    if not 1 <= number <= len(document):
        raise Unreadable(f"has {len(document)} pages, and no page {number}")
    page = document[number - 1]
    bitmap = page.render(scale=min(2.0, WIDEST / page.get_width(), TALLEST / page.get_height()))
    picture, file = bitmap.to_pil(), BytesIO()
    picture.convert("P", palette=1).save(file, "PNG", optimize=False)
    pixel = bitmap.get_posconv(page).to_bitmap
    boxes = list(_boxes(page, words, picture.width, picture.height, pixel))
    return {"pages": len(document), "width": picture.width, "height": picture.height, "boxes": boxes}, file.getvalue()


def _boxes(
    page: Any, words: str, width: int, height: int, pixel: Callable[[float, float], tuple[int, int]]
) -> Iterator[tuple[float, ...]]:
    """The boxes, as shares of a picture's size, of the first place where the letters and digits of `words` stand, whatever is
    between them: line breaks, hyphens and spaces differ from those of the parsed text. `pixel` is that of a point of the page,
    whatever the page's rotation and crop.
    """
    from pypdfium2 import raw

    text = page.get_textpage()
    characters = [(place, chr(raw.FPDFText_GetUnicode(text, place))) for place in range(text.count_chars())]
    letters = [(place, letter) for place, one in characters if one.isalnum() for letter in one.casefold()]
    wanted = "".join(one.casefold() for one in words if one.isalnum())
    first = "".join(letter for _, letter in letters).find(wanted) if wanted else -1
    if first < 0:
        return
    begin, last = letters[first][0], letters[first + len(wanted) - 1][0]
    for number in range(text.count_rects(begin, last + 1 - begin)):
        left, bottom, right, top = text.get_rect(number)
        (x1, y1), (x2, y2) = pixel(left, top), pixel(right, bottom)
        yield min(x1, x2) / width, min(y1, y2) / height, max(x1, x2) / width, max(y1, y2) / height
