"""What Office files have in common: raised and lowered characters, the signs of symbol fonts, comments, the place of asides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from hoptrail.documents.blocks import Piece
from hoptrail.documents.markup import lowered, raised
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

ASIDES = ("footnote ", "endnote ", "comment ", "text box ", "drawing ")
"""How the places of asides begin."""


def comment_head(author: str, date: str) -> str:
    """What stands before the text of a comment: `Comment by Ada Brun on 2024-03-05`."""
    by, on = squeeze(author), find_date(date[:10])
    return f"Comment{f' by {by}' if by else ''}{f' on {on}' if on else ''}"


def asides_after_lists(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Move asides within a list, or between a list and its lead, behind the list, so that the list stays whole."""
    waiting: list[Piece] = []
    before_list = False
    for piece in pieces:
        if piece.place.startswith(ASIDES):
            waiting.append(piece)
        else:
            if piece.kind is not BlockKind.ITEM:
                yield from waiting
                waiting = []
            before_list = piece.kind is BlockKind.ITEM or piece.text.endswith((":", "："))
            yield piece
        if not before_list:
            yield from waiting
            waiting = []
    yield from waiting


def shifted(text: str, before: str, *, is_raised: bool) -> str:
    """Superscript or subscript after this text, with the spaces around it."""
    shown = text.strip()
    return text.replace(shown, raised(before, shown) if is_raised else lowered(shown), 1) if shown else text


_SYMBOL_FONTS = {
    "symbol": str.maketrans(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "¡¢£¤¥¦§¨©ª«¬\xad®¯°±²³´µ¶·¸¹º»¼ÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàåò",
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"
        "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊∑∫",
    ),
    "wingdings": str.maketrans("oqr¨ûüýþ(*JLlnu§Øxßàáâèð", "☐☐☐☐✗✓☒☑☎✉☺☹●■◆▪➢☒←→↑↓➔⇨"),
    "wingdings 2": str.maketrans("OPQRST£", "✗✓☒☑☒☒☐"),
    "webdings": str.maketrans("acgr", "✓☐■✗"),
}
"""The signs of fonts that have them in place of letters."""

UNKNOWN_SIGN = "\N{REPLACEMENT CHARACTER}"


def symbols(text: str, font: str) -> str:
    """The signs that this text shows in this font, as Unicode. Of a symbol font, an unknown one becomes `UNKNOWN_SIGN`; text in
    other fonts stays.
    """
    signs = _SYMBOL_FONTS.get(font.lower())
    if signs is None:
        return text
    codes = (chr(ord(one) & 0xFF) if "\uf000" <= one <= "\uf0ff" else one for one in text)
    return "".join(map(partial(_sign, signs, font.lower() == "symbol"), codes))


def _sign(signs: Mapping[int, int], keeps_ascii: bool, code: str) -> str:
    """Symbol has digits and signs of ASCII in their usual places."""
    if ord(code) in signs:
        return chr(signs[ord(code)])
    return code if code.isspace() or code > "\xff" or (keeps_ascii and code.isascii()) else UNKNOWN_SIGN
