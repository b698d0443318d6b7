"""Decodes bytes, and cleans text for storage. All offsets count in the cleaned text.

A guessed encoding is noted. Every line end becomes U+000A; lone surrogates and NUL become U+FFFD. Nothing else changes: accents
and widths are not normalised, and nothing is trimmed.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass


class Unreadable(Exception):
    """These bytes give no document, for the reason in the message. Becomes a DocumentError where the source is known."""


class NotReadNow(Unreadable):
    """Something hindered reading; the file may be sound."""


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
# Windows-1252 among ASCII, without ð, þ, ý and ÿ: these are rare in western texts, and in other encodings their bytes are common
# Turkish, Baltic and Russian letters.
_CAPITALS = "À-ÏÑ-ÖØ-ÜŒŠŽ"
_SMALL = "ß-ïñ-öø-üœšž"
_LETTERS = f"{_CAPITALS}{_SMALL}"
_LETTER = re.compile(f"[{_LETTERS}]")
_WITHIN_WORDS = "’‘–—…·\xad"
_BEFORE_WORDS = "„‚¿¡"
_BETWEEN_WORDS = "“”«»‹›\xa0"
_SIGNS = "£€¢¥§©®™°ºª½¼¾²³×÷±µ†‡•‰´¶"
_NOT_WESTERN = re.compile(
    rf"[^\0-\x7f{_LETTERS}{_WITHIN_WORDS}{_BEFORE_WORDS}{_BETWEEN_WORDS}{_SIGNS}]"
    rf"|[{_LETTERS}]{{3}}|[a-z{_SMALL}][{_CAPITALS}]"  # Cyrillic; Mac Roman
    rf"|[A-Za-z{_LETTERS}][{_BETWEEN_WORDS}{_SIGNS}][A-Za-z{_LETTERS}]|\w[{_BEFORE_WORDS}]|[{_BEFORE_WORDS}]\W"  # DOS
    rf"|[{_LETTERS}{_SIGNS}][{_SIGNS}]|[{_SIGNS}][{_LETTERS}]"  # encodings with two bytes per character
)
# Encodings that an ASCII-compatible page can declare, by Python's names: https://encoding.spec.whatwg.org/#names-and-labels.
_DECLARABLE = frozenset(
    (
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "gb18030", "big5hkscs", "euc_jp"),
    )
)
_REPLACEMENTS = {  # encodings that the same standard reads as another
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "iso8859-9": "cp1254",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_GUESSED = "not UTF-8; read as {}, a guess from its bytes"
_UNSTORABLE = re.compile("[\ud800-\udfff\0]")


def cleaned(text: str) -> Decoded:
    """`text` as it is stored, with a note if characters were replaced."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, replaced = _UNSTORABLE.subn("\N{REPLACEMENT CHARACTER}", text)
    notes = (f"{replaced} lone surrogates or NUL characters were replaced by U+FFFD",) if replaced else ()
    return Decoded(text, notes)


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode a file. `declared` is the encoding that the file names, as HTML may. Tries in order: a byte order mark, UTF-16 or
    UTF-32 by its NUL bytes, ISO-2022 by its escape sequences, UTF-8, `declared`, UTF-8 with some bad bytes, a guess.
    Raises: Unreadable: the bytes are binary data, or text in no known encoding.
    """
    certain = (
        _by_mark(data)
        or _by_nul_bytes(data)
        or _by_escapes(data)
        or _strictly(data, "utf-8")
        or _as_declared(data, declared)
    )
    decoded = certain or _as_damaged_utf8(data) or _as_western(data) or _guess(data)
    if len(_CONTROL.findall(decoded.text, 0, _SAMPLE)) > max(8, min(len(decoded.text), _SAMPLE) // 100):
        raise Unreadable("is full of control characters: binary data, not text")
    clean = cleaned(decoded.text)
    return Decoded(clean.text, (*decoded.notes, *clean.notes))


def _strictly(data: bytes, encoding: str, *notes: str) -> Decoded | None:
    try:
        return Decoded(data.decode(encoding), notes)
    except (UnicodeDecodeError, LookupError):
        return None


def _by_mark(data: bytes) -> Decoded | None:
    if data.startswith(codecs.BOM_UTF8):
        return _as_damaged_utf8(data.removeprefix(codecs.BOM_UTF8), marked=True)
    results = (
        _strictly(data[len(mark) :], encoding, f"read as {encoding.upper()} by its byte order mark")
        for mark, encoding in _MARKS
        if data.startswith(mark)
    )
    return next(filter(None, results), None)


def _by_nul_bytes(data: bytes) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark: NUL bytes of spaces and Latin letters are at a fixed position in every 2 or 4 bytes."""
    sample = data[:_SAMPLE]
    if not sample or 0 not in sample:
        return None
    nuls = [sample[offset::4].count(0) for offset in range(4)]
    if min(nuls[2], nuls[3]) > 0.9 * (len(sample) / 4):
        encoding = "utf-32-le"
    elif min(nuls[0], nuls[1]) > 0.9 * (len(sample) / 4):
        encoding = "utf-32-be"
    elif nuls[1] + nuls[3] > 5 * (nuls[0] + nuls[2]):
        encoding = "utf-16-le"
    elif nuls[0] + nuls[2] > 5 * (nuls[1] + nuls[3]):
        encoding = "utf-16-be"
    else:
        encoding = ""
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


def _as_damaged_utf8(data: bytes, *, marked: bool = False) -> Decoded | None:
    """UTF-8 with some bytes of another encoding, or cut off. Without a mark, at least half of its characters above ASCII must be
    whole: in texts of 13 other encodings, read as UTF-8, at most 27 in 100 are.
    """
    return _lossily(data, "UTF-8", certain=marked)


def _lossily(data: bytes, encoding: str, *notes: str, certain: bool = False) -> Decoded | None:
    """The text with undecodable bytes replaced; unless the encoding is `certain`, None if these are most bytes above ASCII."""
    text = data.decode(encoding, errors="replace")
    mark = "\N{REPLACEMENT CHARACTER}"
    bad = text.count(mark) - data.count(mark.encode())
    whole = len(text) - len(text.encode("ascii", "ignore")) - bad
    if whole < bad and not certain:
        return None
    lost = (f"{bad} byte sequences are not {encoding} and were replaced by U+FFFD",) if bad else ()
    return Decoded(text, (*notes, *lost))


def _as_western(data: bytes) -> Decoded | None:
    """Windows-1252, if letters above ASCII stand as usual among ASCII letters and are at most a tenth, too few for a guess."""
    decoded = _strictly(data, "cp1252", _GUESSED.format("cp1252"))
    text = decoded.text if decoded else ""
    return None if len(_LETTER.sub("", text)) < 0.9 * len(text) or _NOT_WESTERN.search(text) else decoded


def _guess(data: bytes) -> Decoded:
    """The guess of charset-normalizer, but Windows-1252, by far the commonest, if it fits as well."""
    from charset_normalizer import from_bytes

    # Whole lines, so that the sample does not end inside a character.
    sample = data if len(data) <= _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        raise Unreadable("fits no text encoding: save it as UTF-8, if it is text")
    western = next((match for match in matches if "cp1252" in match.could_be_from_charset), best)
    as_good = western.chaos <= best.chaos and western.coherence >= best.coherence - 0.1
    encoding = "cp1252" if western is not best and as_good else best.encoding
    return Decoded(data.decode(encoding, errors="replace"), (_GUESSED.format(encoding),))
