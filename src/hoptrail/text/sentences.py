"""Splits a text into sentences that tile it. Spans are exact: nothing is rewritten.

A sentence ends at a full stop of any script, unless its context says otherwise (an abbreviation, an initial, a lower-case letter
after it), at a blank line, and at a line break that looks intended (a heading, a list item, a short line). The abbreviations are
English, with the commonest of a few other European languages. Languages that do not mark sentence ends (Thai) are split at line
breaks and at the length limit. Time is linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from hoptrail.text.lexicon import word_set
from hoptrail.types import Unit

LONGEST_SENTENCE = 1000  # characters; of 59,442 sentences of HotpotQA and 2WikiMultihopQA four are longer

FULL_LINE = 40
"""Columns; a Chinese or Japanese character takes two. Wrapped lines are at least this long, except the last of a paragraph."""

# Every alternative consumes the white space after it possessively, so that no character is examined twice. Groups are not
# possessive: what follows them always matches, so they never backtrack, and Python 3.11.2 has a bug where a possessive one fails.
_BREAK = re.compile(
    r"""(?P<stop>[.!?…‼⁇⁈⁉؟۔।॥։።။།]++(?:\[[^\]\s]{1,12}\])*
        ["'”’»›)\]}“‘«‹*_⁰¹²³⁴-⁹]*+(?:[\ \u00a0\u202f][»›](?!\w))?)(?P<gap>\s*+)
    |(?P<wide>(?:[。！？｡]|．(?!(?<=\d．)\d))+["'”’」』）】〉》〕]*+\s*+)
    |(?P<line>\n\s*+)""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*+")
_NEXT = re.compile(r"(?P<opened>[\"'“‘«‹„‚»›(\[{¿¡*_\s]{0,8}+)(?P<word>[^\W_][\w’']{0,24}\.?)?")
_TOKEN = re.compile(r"[^\s\"'“‘«„‚»(\[{/*_]*\Z")
_LISTED = re.compile(r"(?:(?:[-*+]|-{3,}+|\*{3,}+)(?!\S)|[•‣◦▪·|>]|#{1,6}\s|\(?\d{1,3}[.)]\s)")
_HEADING = re.compile(r"#{1,6}\s")
_LABEL = re.compile(r"[ \t]{0,8}[*_]{0,3}[^\W\d_][^\s:]{0,24}(?:[ ][^\s:]{1,24}){0,3}:[*_]{0,3}[ \t]")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")

# Never end a sentence when another word follows.
_BEFORE_A_NAME = word_set(
    "mr mrs ms mx messrs mme mlle dr prof rev fr hon gov sen rep gen adm lt col sgt capt cmdr cpl maj pvt st ste mt ft pres "
    "supt insp dir v vs cf viz e.g i.e eg ie ca approx al feat aft bzw z.b d.h u.a sog hr frl dipl ing hl"
)
# Do not end a sentence before a number.
_BEFORE_A_NUMBER = word_set(
    "no nos nr num vol vols p pp pg pt ch chap sec art fig figs eq op ed cap par bd s c b d r fl born "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# A number and a full stop before these is an ordinal: `12. März`, `1. FC Köln`.
_AFTER_AN_ORDINAL = word_set(
    "januar jänner februar feber märz april mai juni juli august september oktober november dezember fc"
)
# End a sentence only if the next word is one of `_OPENERS`.
_EITHER_WAY = word_set(
    "jr sr inc ltd co corp bros etc esq dept univ assn est ave blvd rd tel bc ad mass calif penn conn ariz wash tex fla ill colo "
    "minn mich wis tenn okla ark ala mo usw mio mrd"
)
_OPENERS = word_set(
    "a an the this that these those it its he she they his her their we our i you your my there here who what when where "
    "why how in on at by for from with as of to after before during since until while although though because if however but and "
    "or so both each some many most several all one two three other another such also only under between among "
    "upon despite following according today later then thus therefore moreover furthermore meanwhile released born no not"
)


def sentence_ends(text: str, longest: int = LONGEST_SENTENCE) -> tuple[int, ...]:
    """The end offsets of the sentences of `text`, which tile it; white space belongs to the sentence before it. Sentences longer
    than `longest` characters, not counting white space around them, are cut, at white space if possible.
    """
    return shortened_ends(text, _natural_ends(text), longest)


def shortened_ends(text: str, ends: Iterable[int], longest: int = LONGEST_SENTENCE) -> tuple[int, ...]:
    """`ends` and more, so that no sentence has over `longest` characters. Raises: ValueError: `longest` is below 1."""
    if longest < 1:
        raise ValueError(f"a sentence needs room for at least 1 character, not {longest}")
    shortened: list[int] = []
    start = 0
    for end in ends:
        shortened.extend(_cuts(text, start, end, longest) if end - start > longest else ())
        shortened.append(end)
        start = end
    return tuple(shortened)


def _cuts(text: str, start: int, end: int, longest: int) -> Iterator[int]:
    """Yield the offsets at which to cut the sentence from `start` to `end`. White space never follows a cut."""
    while True:
        begin = _after_space(text, start)
        if begin + longest >= end:
            return
        half, full = begin + longest // 2, begin + longest
        cut = max(text.rfind(space, half, full) for space in " \n\t\u3000") + 1 or _character_border(text, half, full)
        start = _after_space(text, cut)
        if start >= end:
            return
        yield start


def _character_border(text: str, low: int, cut: int) -> int:
    """The nearest offset at or up to 16 before `cut` that does not separate a letter from its combining marks."""
    for place in range(cut, max(low, cut - 16, 0), -1):
        if not unicodedata.category(text[place]).startswith("M") and "\u200d" not in text[place - 1 : place + 1]:
            return place
    return cut


def _after_space(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return space.end() if space else place


def _natural_ends(text: str) -> Iterator[int]:
    start = _after_space(text, 0)
    for mark in _BREAK.finditer(text, start):
        end = mark.end()
        if end < len(text) and _ends_sentence(text, start, mark):
            yield end
            start = end
    if text:
        yield len(text)


def _ends_sentence(text: str, start: int, mark: re.Match[str]) -> bool:
    if mark["wide"]:
        return not _numbers_an_item(text, start, mark.start())
    space = mark["line"] or mark["gap"]
    if not space:
        return False
    if "\n" in space and _line_ends(text, start, mark, space):
        return True
    return mark["line"] is None and not _numbers_an_item(text, start, mark.start()) and _stop_ends(text, mark)


def _numbers_an_item(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at `stop` follows only the number of a list item: `2. Second step`. False if the line before is
    full and has no sentence end: then the text is wrapped, and a sentence ends with that number.
    """
    if text[stop] not in ".．" or stop - start > 3 or not text[start:stop].isdecimal():
        return False
    before = text[max(0, start - FULL_LINE) : start]
    line = before.rstrip()
    one_break = before.count("\n", len(line)) == 1
    return not one_break or line[-1:] in ".!?…:;" or _is_short_line(text, start - len(before) + len(line))


def _line_ends(text: str, start: int, mark: re.Match[str], space: str) -> bool:
    """Whether a line break ends a sentence: at a blank line, beside a list item or heading, or after a short line."""
    if space.count("\n") > 1 or _LISTED.match(text, mark.end()):
        return True
    line = max(text.rfind("\n", start, mark.start()) + 1, start)
    if _HEADING.match(text, line) or is_labelled_pair(text, line, mark.end()):
        return True
    return _is_short_line(text, mark.start()) and not _is_lower(text[mark.end()])


def is_labelled_pair(text: str, line: int, following: int) -> bool:
    """Whether the lines that start at these two offsets both begin with a label: `Status: open`, `Owner: Marta`."""
    return _LABEL.match(text, line) is not None and _LABEL.match(text, following) is not None


def _is_short_line(text: str, end: int) -> bool:
    """Whether the line that ends at `end` is shorter than `FULL_LINE`, so that its break is not mere wrapping."""
    return width_of(text[max(0, end - FULL_LINE) : end].rpartition("\n")[2]) < FULL_LINE


def width_of(line: str) -> int:
    """The width of a line; a Chinese or Japanese character takes two columns."""
    if line.isascii():
        return len(line)
    return len(line) + sum(unicodedata.east_asian_width(character) in "WF" for character in line)


def _stop_ends(text: str, mark: re.Match[str]) -> bool:
    following = _NEXT.match(text, mark.end())
    word = (following["word"] if following else None) or ""
    in_brackets = following is not None and following["opened"] == "(" and word[:1].isdigit()
    if _is_lower(word[:1]) or in_brackets:
        return False
    if mark["stop"].rstrip("*_") != ".":
        return True
    token = _TOKEN.search(text[max(0, mark.start() - 24) : mark.start()])
    return _abbreviation_ends(token[0] if token else "", word)


def _is_lower(letter: str) -> bool:
    """Whether a letter shows that the sentence continues. Georgian sentences start with letters that Unicode calls lower case."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"


def _abbreviation_ends(token: str, word: str) -> bool:
    plain = token.lower()
    if plain in _BEFORE_A_NAME:
        return False
    if plain in _BEFORE_A_NUMBER and word[:1].isdigit():
        return False
    if plain.isdecimal() and word.lower() in _AFTER_AN_ORDINAL:
        return False
    if plain in _EITHER_WAY or _DOTTED.fullmatch(token) or (len(token) == 1 and token.isalpha()):
        return word.lower() in _OPENERS
    return True


def sentence_spans(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Start and end of the first `limit` sentences of a text outside any document, without the white space around them."""
    return islice(_stripped(text, 0, sentence_ends(text)), limit)


def unit_sentences(unit: Unit, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Sentences (start and end) of a unit or a part of it, without white space; those of derived units are split here."""
    end = len(unit.text) if end is None else end
    if unit.sentence_ends:
        first, last = bisect_right(unit.sentence_ends, start), bisect_left(unit.sentence_ends, end)
        ends: Iterable[int] = (*unit.sentence_ends[first:last], end)
    else:
        ends = (start + stop for stop in sentence_ends(unit.text[start:end]))
    return _stripped(unit.text, start, ends)


def _stripped(text: str, start: int, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    for end in ends:
        begin, stop = without_space(text, start, end)
        if begin < stop:
            yield begin, stop
        start = end


def without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a part of a text begins and ends without the white space around it."""
    begin = end - len(text[start:end].lstrip())
    return begin, begin + len(text[begin:end].rstrip())
