"""Decodes bytes, cleans text for storage, and notes what was probably read wrongly. All offsets count in the cleaned text.

A guessed encoding is noted. Every line end becomes U+000A; lone surrogates and NUL become U+FFFD; soft hyphens and other
marks that nobody sees within a word are left out. Nothing else changes: accents and widths are not normalised, and nothing is
trimmed.
"""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from hoptrail.documents.limits import Unreadable
from hoptrail.types import Block, BlockKind


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text ready to be stored, with notes on decisions made."""

    text: str
    notes: tuple[str, ...] = ()


# UTF-32 first: its little-endian byte order mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Escape sequences that start two-byte characters in ISO-2022 and occur in no other text.
_ESCAPES = ((b"\x1b$B", "iso2022_jp_ext"), (b"\x1b$@", "iso2022_jp_ext"), (b"\x1b$)C", "iso2022_kr"))
_SAMPLE = 256 * 1024
_LATIN = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859-2", "mac-roman", "cp850")
"""Encodings of Latin script, the commonest first."""
_LETTERS = (
    "àâæçéèêëîïôœùûüÿñ äöüßéàè áéíóúüñ áéíóúãõâêôàç áéíóúàèìòùïüç åäöæøéèüáóô áéíóúýðþæö ąćęłńóśźż "
    "áčďéěíňóřšťúůýžäĺľŕôö áéíóöőúüű áčćđšžéö ăâîșțşţ ğışçöüâîûi ąčęėįšųūžāēģīķļņõäöü"
)
"""The letters above ASCII of languages that are written in Latin script."""
_ALPHABETS = tuple(map(frozenset, _LETTERS.split()))
_SIGNS = frozenset("’‘“”„‚«»‹›–—…•\xa0€£¢¥°§©®™´·¿¡²³¹½¼¾ºª×÷±µ‰†‡¶")
_MISPLACED = re.compile(
    r"(?<=[a-zà-ÿ])[A-ZÀ-Þ](?=[a-zà-ÿ])|[^\W\d_a-zA-Z]{5,}"  # another case, or another script
    r"|(?<=[^\W\d_])(?:[^\w\s\0-\x7f’‘·]|[¹²³¼½¾])(?=[^\W\d_])|(?<=[^\W\d_])\xa0(?= )"  # signs in place of letters
)
_LEAST_FIT = 0.85
# Encodings that an ASCII-compatible page can declare, by Python's names: https://encoding.spec.whatwg.org/#names-and-labels.
_DECLARABLE = {
    *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "gb18030", "big5hkscs", "euc_jp"),
}
_REPLACEMENTS = {"iso8859-9": "cp1254", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949"}
_REPLACEMENTS |= dict.fromkeys(("ascii", "iso8859-1"), "cp1252") | dict.fromkeys(("gb2312", "gbk"), "gb18030")
_REPLACEMENTS |= dict.fromkeys(("iso8859-11", "tis-620"), "cp874")
"""Encodings that the same standard reads as another."""
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_GUESSED = "not UTF-8; read as {}, a guess from its bytes"
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")
_INVISIBLE = re.compile("[\u00ad\u2060\ufeff]|\u200b(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])")
"""Marks of where a word may be divided, which break it for searching. In scripts of South-East Asia U+200B separates words."""


def cleaned(text: str) -> Decoded:
    """`text` as it is stored, with a note if characters were replaced."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, replaced = _UNSTORABLE.subn("\N{REPLACEMENT CHARACTER}", text if text.isascii() else _INVISIBLE.sub("", text))
    notes = (f"{replaced} lone surrogates or NUL characters were replaced by U+FFFD",) if replaced else ()
    return Decoded(text, notes)


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode a file. `declared` is the encoding that the file names, as HTML may. Tries in order: a byte order mark, UTF-16 or
    UTF-32 by its NUL bytes, ISO-2022 by its escape sequences, UTF-8, `declared`, UTF-8 with some bad bytes, a guess.
    Raises: Unreadable: the bytes are binary data, or text in no known encoding.
    """
    signed = _by_mark(data) or _by_nul_bytes(data) or _by_escapes(data)
    named = signed or _strictly(data, "utf-8") or _as_declared(data, declared)
    decoded = named or _lossily(data, "UTF-8") or _as_latin(data) or _guess(data)
    if len(_CONTROL.findall(decoded.text, 0, _SAMPLE)) > max(8, min(len(decoded.text), _SAMPLE) // 100):
        raise Unreadable("is full of control characters: binary data, not text")
    clean = cleaned(decoded.text)
    return Decoded(clean.text, (*decoded.notes, *clean.notes))


def parse_json_text(text: str, what: str) -> Any:
    """The value of a JSON text. Raises: Unreadable: it is none, and so not `what`, such as `a notebook`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not {what}: not JSON that can be parsed ({error})") from error


def _strictly(data: bytes, encoding: str, *notes: str) -> Decoded | None:
    try:
        return Decoded(data.decode(encoding), notes)
    except (UnicodeDecodeError, LookupError):
        return None


def _by_mark(data: bytes) -> Decoded | None:
    if data.startswith(codecs.BOM_UTF8):
        return _lossily(data.removeprefix(codecs.BOM_UTF8), "UTF-8", certain=True)
    for mark, encoding in _MARKS:
        note = f"read as {encoding.upper()} by its byte order mark"
        if data.startswith(mark) and (decoded := _strictly(data.removeprefix(mark), encoding, note)):
            return decoded
    return None


def _by_nul_bytes(data: bytes) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark: NUL bytes of spaces and Latin letters are at a fixed position in every 2 or 4 bytes."""
    sample = data[:_SAMPLE]
    if not sample or 0 not in sample:
        return None
    nuls = [sample[offset::4].count(0) for offset in range(4)]
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    signs = {
        "utf-32-le": min(nuls[2], nuls[3]) > 0.9 * (len(sample) / 4),
        "utf-32-be": min(nuls[0], nuls[1]) > 0.9 * (len(sample) / 4),
        "utf-16-le": odd > 5 * even,
        "utf-16-be": even > 5 * odd,
    }
    encoding = next((name for name, is_likely in signs.items() if is_likely), "")
    decoded = _strictly(data, encoding, f"read as {encoding.upper()}, by the positions of its NUL bytes")
    if decoded is None or "\0" in decoded.text:
        raise Unreadable("holds NUL bytes: binary data, not text")
    return decoded


def _by_escapes(data: bytes) -> Decoded | None:
    """ISO-2022, used in Japanese and Korean mail and old pages. All its bytes are ASCII, so it would pass for UTF-8."""
    encoding = next((encoding for escape, encoding in _ESCAPES if escape in data), None)
    if encoding is None or not data.isascii():
        return None
    return _lossily(data, encoding, f"read as {encoding}, by its escape sequences")


def _as_declared(data: bytes, label: str | None) -> Decoded | None:
    """In the encoding that a browser uses for `label`, if a page can declare it."""
    try:
        name = codecs.lookup((label or "").lower().removeprefix("x-")).name
    except LookupError:
        return None
    encoding = _REPLACEMENTS.get(name, name)
    note = f"read as {encoding}, because the file declares {label}"
    return _strictly(data, encoding, note) if encoding in _DECLARABLE else None


def _lossily(data: bytes, encoding: str, *notes: str, certain: bool = False) -> Decoded | None:
    """The text with undecodable bytes replaced; unless the encoding is `certain`, None if these are most bytes above ASCII: in
    texts of 13 other encodings, read as UTF-8, at most 27 in 100 characters above ASCII are whole.
    """
    text = data.decode(encoding, errors="replace")
    mark = "\N{REPLACEMENT CHARACTER}"
    bad = text.count(mark) - data.count(mark.encode())
    whole = len(text) - len(text.encode("ascii", "ignore")) - bad
    if whole < bad and not certain:
        return None
    lost = (f"{bad} byte sequences are not {encoding} and were replaced by U+FFFD",) if bad else ()
    return Decoded(text, (*notes, *lost))


def _as_latin(data: bytes) -> Decoded | None:
    """In the Latin encoding whose letters above ASCII fit one language best; None if none does, or they are most letters."""
    read = (_strictly(data, encoding, _GUESSED.format(encoding)) for encoding in _LATIN)
    fits = [(_fit(decoded.text[:_SAMPLE]), decoded) for decoded in read if decoded is not None]
    fit, decoded = max(fits, key=itemgetter(0), default=(0.0, None))
    return decoded if fit >= _LEAST_FIT else None


def _fit(text: str) -> float:
    """The share of the characters above ASCII that are letters of one language or usual signs, each in its usual place."""
    high = [character for character in text if character > "\x7f"]
    letters = Counter(character.lower()[0] for character in high if character.isalpha())
    if letters.total() > sum(character.isalpha() for character in text) / 2:
        return 0.0
    of_one = max(sum(letters[letter] for letter in letters.keys() & alphabet) for alphabet in _ALPHABETS)
    signs = sum(character in _SIGNS for character in high)
    return (of_one + signs - sum(len(match.group()) for match in _MISPLACED.finditer(text))) / max(1, len(high))


def _guess(data: bytes) -> Decoded:
    from charset_normalizer import from_bytes

    # Whole lines, so that the sample does not end inside a character.
    sample = data if len(data) <= _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]
    best = from_bytes(sample).best()
    if best is None:
        raise Unreadable("fits no text encoding: save it as UTF-8, if it is text")
    return Decoded(data.decode(best.encoding, errors="replace"), (_GUESSED.format(best.encoding),))


_GLUED_LETTERS = 25
_GLUED_SHARE = 0.15
"""Words run together if words of at least this many letters have more than this share of all letters."""
_BROKEN_SHARE = 0.1
_WORD = re.compile(r"[^\W\d_]+")
# Scripts that put no space between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LEAST_LETTERS = 200  # shorter prose is not judged


def doubts(text: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield notes on what is doubtful about the prose of a document; code and tables are not examined."""
    known = blocks or (Block(BlockKind.PARAGRAPH, 0, len(text)),)
    prosaic = (text[one.start : one.end] for one in known if one.kind not in {BlockKind.CODE, BlockKind.ROW})
    prose = " ".join(prosaic)[:_SAMPLE]
    if sum(map(str.isalpha, prose)) >= _LEAST_LETTERS and are_glued(prose):
        yield "words run together: spaces are missing in the file"
    if len(prose) >= _LEAST_LETTERS and is_broken(prose):
        yield "many characters cannot be read"


def are_glued(text: str) -> bool:
    """Whether words run together because spaces are missing in the file."""
    words = _WORD.findall(_UNSPACED.sub(" ", text))
    letters = sum(map(len, words))
    return sum(len(word) for word in words if len(word) >= _GLUED_LETTERS) > _GLUED_SHARE * letters


def is_broken(text: str) -> bool:
    """Whether many characters are unassigned, private or replaced, as with a font that does not identify its glyphs."""
    counts = Counter(text)
    odd = (sign for sign in counts if sign == "\ufffd" or unicodedata.category(sign) in {"Co", "Cn"})
    return sum(map(counts.__getitem__, odd)) > _BROKEN_SHARE * len(text)
