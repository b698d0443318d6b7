"""Splits a text into sentences that tile it. Spans are exact: nothing is rewritten.

A sentence ends at a full stop of any script, unless what stands around it says otherwise (an abbreviation, an initial, a
lower-case letter after it), at a blank line, and at a line break that looks meant (a heading, a list item, a short line). The
lists of abbreviations are English with the commonest of a few neighbours; there is no grammar here. Languages that mark no
sentence ends (Thai) are split at line breaks and at the length limit. Time is linear in the length of the text: every pattern
consumes what it has looked at.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from hoptrail.errors import UsageError
from hoptrail.types import Unit

LONGEST_SENTENCE = 1000
"""Characters. Of 59,442 sentences in the corpora of HotpotQA and 2WikiMultihopQA four are longer."""

FULL_LINE = 40
"""Columns, of which a Chinese or Japanese character takes two. A line of a wrapped text has at least as many, unless it is the
last of its paragraph."""

# Every alternative eats the white space behind it, possessively, so that no character is looked at twice. Groups are not
# possessive: what follows them always matches, so they are never given back, and Python 3.11.2 goes wrong where one fails.
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the last word of a sentence when another word follows.
_BEFORE_A_NAME = _words(
    "mr mrs ms mx messrs mme mlle dr prof rev fr hon gov sen rep gen adm lt col sgt capt cmdr cpl maj pvt st ste mt ft pres "
    "supt insp dir v vs cf viz e.g i.e eg ie ca approx al feat aft bzw z.b d.h u.a sog hr frl dipl ing hl"
)
# Not the end before a number.
_BEFORE_A_NUMBER = _words(
    "no nos nr num vol vols p pp pg pt ch chap sec art fig figs eq op ed cap par bd s c b d r fl born "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# A number before these is a day or another ordinal: `12. März`, `1. FC Köln`.
_AFTER_AN_ORDINAL = _words(
    "januar jänner februar feber märz april mai juni juli august september oktober november dezember fc"
)
# May end a sentence or not: they do when the next word is one that opens sentences.
_EITHER_WAY = _words(
    "jr sr inc ltd co corp bros etc esq dept univ assn est ave blvd rd tel ph.d m.d b.a m.a u.s u.k u.n d.c a.m p.m b.c a.d "
    "bc ad mass calif penn conn ariz wash tex fla ill colo minn mich wis tenn okla ark ala mo usw mio mrd"
)
_OPENERS = _words(
    "a an the this that these those it its he she they his her their we our i you your my there here who what when where "
    "why how in on at by for from with as of to after before during since until while although though because if however but and "
    "or so both each some many most several all one two three other another such also only under between among "
    "upon despite following according today later then thus therefore moreover furthermore meanwhile released born no not"
)


def sentence_ends(text: str, longest: int = LONGEST_SENTENCE) -> tuple[int, ...]:
    """The end offsets of the sentences of `text`, which tile it; white space belongs to the sentence before it.

    No sentence is longer than `longest` characters, white space around it not counted: longer ones are cut at white
    space where there is some. A text of white space alone is one sentence; an empty one has none.
    """
    return shortened_ends(text, _natural_ends(text), longest)


def shortened_ends(text: str, ends: Iterable[int], longest: int = LONGEST_SENTENCE) -> tuple[int, ...]:
    """`ends`, with as many more as it takes to have no sentence longer than `longest` characters."""
    if longest < 1:
        raise UsageError(f"a sentence needs room for at least 1 character, not {longest}")
    shortened: list[int] = []
    start = 0
    for end in ends:
        shortened.extend(_cuts(text, start, end, longest) if end - start > longest else ())
        shortened.append(end)
        start = end
    return tuple(shortened)


def _cuts(text: str, start: int, end: int, longest: int) -> Iterator[int]:
    """Where to cut the sentence from `start` to `end`; after every cut something other than white space follows."""
    while True:
        begin = _after_space(text, start)
        if begin + longest >= end:
            return
        half, full = begin + longest // 2, begin + longest
        cut = max(text.rfind(space, half, full) for space in " \n\t\u3000") + 1 or _whole_character(text, half, full)
        start = _after_space(text, cut)
        if start >= end:
            return
        yield start


def _whole_character(text: str, low: int, cut: int) -> int:
    """The nearest place at or a little before `cut` that parts no letter from its accents."""
    for place in range(cut, max(low, cut - 16, 0), -1):
        if not unicodedata.category(text[place]).startswith("M") and "\u200d" not in text[place - 1 : place + 1]:
            return place
    return cut


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _natural_ends(text: str) -> Iterator[int]:
    start = _after_space(text, 0)
    for found in _BREAK.finditer(text, start):
        end = found.end()
        if end < len(text) and _ends_sentence(text, start, found):
            yield end
            start = end
    if text:
        yield len(text)


def _ends_sentence(text: str, start: int, found: re.Match[str]) -> bool:
    if found["wide"]:
        return not _numbers_an_item(text, start, found.start())
    space = found["line"] or found["gap"]
    if not space:
        return False
    if "\n" in space and _line_ends(text, start, found, space):
        return True
    return found["line"] is None and not _numbers_an_item(text, start, found.start()) and _stop_ends(text, found)


def _numbers_an_item(text: str, start: int, stop: int) -> bool:
    """Whether the sentence that starts at `start` has only the number of a list item before its full stop: `2. Second step`.

    Not where the line before is full and has no end: there it is wrapped text, in which a sentence ends with a number.
    """
    if text[stop] not in ".．" or stop - start > 3 or not text[start:stop].isdecimal():
        return False
    before = text[max(0, start - FULL_LINE) : start]
    line = before.rstrip()
    one_break = before.count("\n", len(line)) == 1
    return not one_break or line[-1:] in ".!?…:;" or _is_short_line(text, start - len(before) + len(line))


def _line_ends(text: str, start: int, found: re.Match[str], space: str) -> bool:
    """Whether a line break is meant: a blank line, a list item or heading beside it, or a line too short to be full."""
    if space.count("\n") > 1 or _LISTED.match(text, found.end()):
        return True
    line = max(text.rfind("\n", start, found.start()) + 1, start)
    if _HEADING.match(text, line) or is_labelled_pair(text, line, found.end()):
        return True
    return _is_short_line(text, found.start()) and not _is_lower(text[found.end()])


def is_labelled_pair(text: str, line: int, following: int) -> bool:
    """Whether the lines that begin at these two places both begin with a label: `Status: open`, `Owner: Marta`."""
    return _LABEL.match(text, line) is not None and _LABEL.match(text, following) is not None


def _is_short_line(text: str, end: int) -> bool:
    """Whether the line that ends at `end` was broken before it was full: text wrapped at a width runs on."""
    line = text[max(0, end - FULL_LINE) : end].rpartition("\n")[2]
    return len(line) + sum(unicodedata.east_asian_width(character) in "WF" for character in line) < FULL_LINE


def _stop_ends(text: str, found: re.Match[str]) -> bool:
    """Whether the full stop, question mark or the like at `found`, with white space behind it, ends its sentence."""
    following = _NEXT.match(text, found.end())
    word = (following["word"] if following else None) or ""
    in_brackets = following is not None and following["opened"] == "(" and word[:1].isdigit()
    if _is_lower(word[:1]) or in_brackets:
        return False
    if found["stop"].rstrip("*_") != ".":
        return True
    token_found = _TOKEN.search(text[max(0, found.start() - 24) : found.start()])
    token = token_found[0] if token_found else ""
    return _abbreviation_ends(token, word)


def _is_lower(letter: str) -> bool:
    """Whether a letter shows that a sentence goes on. Georgian has no capitals there, whatever Unicode calls its letters."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"


def _abbreviation_ends(token: str, word: str) -> bool:
    """Whether `token`, a single full stop and then `word` lie on both sides of a sentence end."""
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
    """Start and end of the first `limit` sentences of a text that somebody wrote just now, such as a summary.

    Sentences of white space alone are passed over; the others come without the white space around them.
    """
    return islice(_stripped(text, 0, sentence_ends(text)), limit)


def unit_sentences(unit: Unit, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of the sentences in the text of a unit, or in a part of it, without the white space around them.

    Those of a passage end where its document says. The text of a derived unit, which stands in no document, is split here.
    """
    end = len(unit.text) if end is None else end
    if unit.sentence_ends:
        first, last = bisect_right(unit.sentence_ends, start), bisect_left(unit.sentence_ends, end)
        ends: Iterable[int] = (*unit.sentence_ends[first:last], end)
    else:
        ends = (start + stop for stop in sentence_ends(unit.text[start:end]))
    return _stripped(unit.text, start, ends)


def _stripped(text: str, start: int, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    for end in ends:
        sentence = text[start:end]
        body = sentence.strip()
        if body:
            begin = start + len(sentence) - len(sentence.lstrip())
            yield begin, begin + len(body)
        start = end
