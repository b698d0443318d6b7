"""Units as the trained reader sees them: title and headings, then every statement on a line of its own.

A table row reads `header: value; header: value`. Headings and headers are there to be understood and are no answers; the title
may be one, because a page rarely says its own name where it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hoptrail.text.lives import life_roles
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.values import with_unit
from hoptrail.text.words import RELATED, content_stems
from hoptrail.types import Block, Span, Unit

_PLACED = re.compile(r"^(?:in|at|on|from|near|of) (?:the )?(?=[A-Z])")
"""`in Varden` is Varden."""
_CUT = ' \t\n,;:.!?"“”'
"""Characters that open or close no answer."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:https?|ftp)://[^\s<>\"]*[^\s<>\".,;:!?)]")
"""Of mail and of the web: part of one is no answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """A statement at characters `start` to `end` of a sheet."""

    start: int
    end: int
    said: Said


@dataclass(frozen=True)
class Sheet:
    """A unit's text for reading; `title_end` is where its title's line ends, `barred` are the places of headings and headers."""

    unit: Unit
    text: str
    title_end: int
    parts: tuple[Part, ...]
    barred: tuple[tuple[int, int], ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Of all its words that say something."""
        return content_stems(self.text)

    def answer(self, start: int, end: int, question: str, noun: str = "") -> tuple[str, tuple[Span, ...]] | None:
        """The words at `start` to `end` and the spans of the document that say them; None where these are no statement's.

        An answer ends with its statement, in a table with its cell. That of a title rests on the statement that says most of
        the question. `noun` is what is asked for (`river`): as part of the name it belongs to the answer.
        """
        start, end = self._with_noun(start, end, noun) if noun else (start, end)
        if start < self.title_end:
            answer = base_title(self.text[start : min(end, self.title_end)].strip(_CUT))
            part = self.closest(question)
        else:
            part = self.at(start)
            headers = (left for left, _ in self.barred if left > start)
            answer = self._worded(*self._with_address(start, min(end, part.end, *headers))) if part else ""
        if part is None or not answer:
            return None
        return answer, self.support(part)

    def at(self, place: int) -> Part | None:
        """The statement that stands at a place of the text."""
        return next((part for part in self.parts if part.start <= place < part.end), None)

    def life_role(self, start: int, end: int) -> str:
        """`birth` or `death` where the parenthesis after a name says that what stands here is of one of them; else empty."""
        part = self.at(start)
        if part is None or "(" not in self.text[part.start : start]:
            return ""
        line = self.text[part.start : part.end]
        mentions = find_mentions(line)
        roles = life_roles(line, mentions)
        met = (one for one in mentions if one.start < end - part.start and one.end > start - part.start)
        return next((roles[one.start] for one in met if one.start in roles), "")

    def says_life(self, start: int, end: int, asked: frozenset[str]) -> bool:
        """Whether what stands here can be the date of `birth` or `death`, as asked: its statement says so in a word of its own,
        or in the parenthesis after a name.
        """
        role, part = self.life_role(start, end), self.at(start)
        if role or part is None:
            return role in asked
        said = content_stems(f"{self.unit.title} {part.said.seen}")
        return any((RELATED.get(one, frozenset()) | {one}) & said for one in asked)

    def support(self, part: Part) -> tuple[Span, ...]:
        """Where the document says it."""
        return part.said.support

    def closest(self, question: str) -> Part | None:
        """The statement that says most of the question's words; None where there is none."""
        asked = content_stems(question)
        return max(self.parts, key=lambda part: len(asked & content_stems(part.said.said)), default=None)

    def _with_noun(self, start: int, end: int, noun: str) -> tuple[int, int]:
        before = re.search(rf"\b{re.escape(noun.capitalize())} $", self.text[:start])
        after = re.match(rf" {re.escape(noun.capitalize())}\b", self.text[end:])
        return before.start() if before else start, end + after.end() if after else end

    def _with_address(self, start: int, end: int) -> tuple[int, int]:
        """The same span, widened to the whole of an address that it has a part of."""
        line_start, line_end = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
        for found in _ADDRESS.finditer(self.text, line_start, line_end if line_end >= 0 else len(self.text)):
            if found.start() < end and start < found.end():
                return min(start, found.start()), max(end, found.end())
        return start, end

    def _worded(self, start: int, end: int) -> str:
        """Without what opens or closes a clause, a bare number with its unit."""
        answer = self.text[start:end]
        start, end = start + len(answer) - len(answer.lstrip(_CUT)), start + len(answer.rstrip(_CUT))
        answer = " ".join(self.text[start:end].split())
        bare = answer.replace(",", "").replace(".", "", 1).isdigit()
        return with_unit(self.text, start, end) if bare else _PLACED.sub("", _closed(answer))


def _closed(answer: str) -> str:
    """Without a bracket that lost its other half, and what stands beyond it."""
    surplus = answer.count("(") - answer.count(")")
    if not surplus:
        return answer
    first, _, rest = answer.partition("(" if surplus > 0 else ")")
    return first.strip(_CUT) or rest.strip(_CUT)


@lru_cache(maxsize=512)
def sheet_of(unit: Unit, longest: int) -> Sheet:
    """The sheet of a unit, of `longest` characters at most."""
    lines: list[str] = [unit.title] if unit.title else []
    at = len(unit.title) + 1 if unit.title else 0
    title_end = len(unit.title)
    parts: list[Part] = []
    barred: list[tuple[int, int]] = []
    above: tuple[str, ...] = ()
    for said in statements_of(unit):
        if said.path != above:
            above = said.path
            heading = " > ".join(part for part in above if part != unit.title)
            if heading:
                lines.append(heading)
                barred.append((at, at + len(heading)))
                at += len(heading) + 1
        line = said.alone
        if at + len(line) > longest:
            break
        parts.append(Part(at, at + len(line), said))
        barred += ((at + start, at + end) for start, end in _headers(said.block, line))
        lines.append(line)
        at += len(line) + 1
    return Sheet(unit, "\n".join(lines), title_end, tuple(parts), tuple(barred))


def _headers(block: Block | None, line: str) -> Iterator[tuple[int, int]]:
    """Where the headers of a table row stand in its line."""
    at = 0
    for cell in block.cells if block is not None else ():
        if cell.header and (found := line.find(f"{cell.header}: ", at)) >= 0:
            at = found + len(cell.header) + 1
            yield found, at
