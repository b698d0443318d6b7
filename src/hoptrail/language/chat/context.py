"""The evidence in prompts: passages and sentences in numbered tags that no text can close, fitted to the context window.

A passage has its headings and its date beside its title, and table rows as `header: value`; what is counted is what is sent.
Passages are taken by rank while they fit beside the prompt and the reply; omissions are marked. Tokens are estimated
(`models.prompt_text`) with a margin; if the endpoint still finds the prompt too long, it is asked once more with less.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise, takewhile
from math import inf

from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import Finding, Turn
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.text.dates import find_date, unit_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.statements import MOST_SENTENCES, UnitStatement, statements_of
from hoptrail.types import Kind, Span, Unit

MARGIN = 0.85  # usable share of the window, because estimates of tokens may be too low
FORMAT_TOKENS = 400  # tokens that a schema may add to a prompt
TAG_TOKENS = 24  # tokens of the tags around a passage
BEFORE_TOKENS = 300  # most tokens of the end of the preceding passage, shown when extracting
SMALL_WINDOW = 4000  # windows with fewer tokens get the short forms of prompts, to leave room for evidence
GAP = "[…]"  # marks omitted text
YES_NO = frozenset({"yes", "no", "true", "false", "same", "different"})  # answers that are not quoted from a text
NEAR = 2  # most characters of white space between consecutive sentences

Shown = tuple[dict[str, str], tuple[Unit, ...]]
"""Evidence as the texts of a prompt, by their names there, and the units that they show."""

_log = logging.getLogger(__name__)
_OUR_TAG = re.compile(r"<(?=\s*/?\s*(?:passage|title|before|s)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Room:
    """The tokens of a draft with its reply, those of the reply alone (`output`), and the most for evidence."""

    tokens: int
    output: int
    evidence: int | None = None

    @property
    def small(self) -> bool:
        """Whether prompts use their short form."""
        return self.tokens < SMALL_WINDOW


def cost_of(unit: Unit) -> int:
    """Estimated tokens of a unit as a passage."""
    return estimated_tokens(heading_of(unit)) + estimated_tokens(_shown(unit)) + TAG_TOKENS


def heading_of(unit: Unit) -> str:
    """The title of a unit, the headings it stands under, and its date where these do not say it."""
    names = (unit.title, *(heading for heading in unit.path if heading != unit.title))
    line, date = " > ".join(map(squeeze, filter(None, names))), unit_date(unit)
    return f"{line} ({date})" if date and find_date(line) != date else line


def readable_of(unit: Unit) -> str:
    """The text of a unit as it leaves for other programs: below its heading if it has structure."""
    return f"{heading_of(unit)}\n{unit.readable}" if unit.blocks else unit.text


def fit(units: Sequence[Unit], tokens: int) -> tuple[Unit, ...]:
    """The best units that fit, in rank order. Units that do not fit are skipped; the first is always taken."""
    taken: list[Unit] = []
    for unit in units:
        cost = cost_of(unit)
        if not taken or cost <= tokens:
            taken.append(unit)
            tokens -= cost
    return tuple(taken)


def show_units(units: Sequence[Unit], tokens: int, left_out: int = 0) -> str:
    """The units as numbered passages, and the number of omitted ones. The first unit is cut if it does not fit."""
    shown = []
    for number, unit in enumerate(units, 1):
        text = escaped(_shown(unit))
        if number == 1 and estimated_tokens(text) > tokens:
            text = f"{cut_to(text, tokens).rstrip()} {GAP}"
        heading = heading_of(unit)
        title = f"<title>{escaped(heading)}</title>" if heading else ""
        shown.append(f'<passage n="{number}">{title}\n{text}\n</passage>')
    if left_out:
        shown.append(f"{GAP} {left_out} more do not fit.")
    return "\n".join(shown)


def escaped(text: str) -> str:
    """`text` with `&lt;` for the bracket of anything like our tags, so that it can neither open nor close one."""
    return _OUR_TAG.sub("&lt;", text)


def _shown(unit: Unit) -> str:
    """The readable text of a unit, with `GAP` between lines that are not consecutive in their document."""
    lines = unit.text.split("\n")
    if unit.kind is not Kind.AGGREGATE or len(lines) != len(unit.sources):
        return unit.readable
    shown = lines[:1]
    for (before, after), line in zip(pairwise(unit.sources), lines[1:], strict=True):
        apart = before.document == after.document and after.start > before.end + NEAR
        shown += [GAP, line] if apart else [line]
    return "\n".join(shown)


def sentences_of(unit: Unit, tokens: float = inf) -> tuple[UnitStatement, ...]:
    """The first sentences of a unit that fit, table rows as `header: value`, at least one and at most `MOST_SENTENCES`."""
    found = (UnitStatement(unit, start, end, unit.text[start:end]) for start, end in unit_sentences(unit))
    if any(block.cells for block in unit.blocks):
        found = (replace(row, said=row.alone) for row in statements_of(unit))
    sentences = tuple(islice(found, MOST_SENTENCES))
    spent = accumulate(estimated_tokens(sentence.said) + TAG_TOKENS // 2 for sentence in sentences)
    return tuple(one for one, cost in zip(sentences, spent, strict=True) if cost <= tokens) or sentences[:1]


def show_sentences(sentences: Sequence[UnitStatement], tokens: int) -> str:
    """Each sentence in a numbered tag, cut to `tokens`."""
    texts = (escaped(squeeze(sentence.said)) for sentence in sentences)
    return "\n".join(f'<s n="{number}">{cut_to(text, tokens)}</s>' for number, text in enumerate(texts, 1))


def show_before(unit: Unit, tokens: int) -> str:
    """The last sentences of a preceding passage that fit; empty if none does."""
    texts = [squeeze(sentence.said) for sentence in reversed(sentences_of(unit))]
    spent = accumulate(map(estimated_tokens, texts))
    shown = [text for text, cost in zip(texts, spent, strict=True) if cost <= tokens]
    return f"Before it stands: <before>{escaped(' '.join(reversed(shown)))}</before>\n" if shown else ""


def shown_units(prompt: str, slot: str, units: Sequence[Unit], tokens: int, *, partly: bool = False) -> Shown:
    """The best units that fit, as the text of a slot. Logs omissions, unless the rest comes later (`partly`) and each is whole.
    Raises: TaskFailed: there is no room for that.
    """
    shown = fit(units, tokens)
    if partly and cost_of(shown[0]) > tokens:
        raise TaskFailed(f"{prompt}: {shown[0].title!r} does not fit into context_window under [chat]")
    omitted = 0 if partly else len(units) - len(shown)
    if omitted:
        warning = "%s: %d of %d passages do not fit into context_window under [chat]; they are not shown to the model"
        _log.warning(warning, prompt, omitted, len(units))
    return {slot: show_units(shown, tokens, omitted)}, shown


def shown_sentences(unit: Unit, before: Unit | None, closing: str, tokens: int) -> Shown:
    """The sentences that fit before `closing`, and the end of the passage before."""
    led_by = show_before(before, min(BEFORE_TOKENS, tokens // 4)) if before else ""
    tokens -= estimated_tokens(led_by)
    sentences = sentences_of(unit, tokens)
    if sentences and unit.text[sentences[-1].end :].strip():
        warning = (
            "extract: %r does not fit into context_window under [chat]; %d of its %d characters are shown to the model"
        )
        _log.warning(warning, unit.title, sentences[-1].end, len(unit.text))
    text = f"{show_sentences(sentences, max(tokens, 1))}\n{closing}".rstrip()
    return {"before": led_by, "sentences": text}, (unit,)


def show_findings(findings: Sequence[Finding | Turn]) -> str:
    """One line for each, numbered as sub-questions refer to them."""
    lines = [
        f"#{number} {squeeze(finding.asked)} -> {'(not found)' if finding.answer is None else squeeze(finding.answer)}"
        for number, finding in enumerate(findings, 1)
    ]
    return "\n".join(lines) or "(nothing yet)"


def cut_to(text: str, tokens: int) -> str:
    while len(text) > 1 and estimated_tokens(text) > max(tokens, 1):
        text = text[: max(1, len(text) * max(tokens, 1) // estimated_tokens(text))]
    return text


def folded(text: str) -> str:
    """The normal form in which words are compared."""
    return squeeze(text).strip("\"'“”‘’").casefold()


def in_pieces(unit: Unit, tokens: int) -> Iterator[Unit]:
    """The unit itself, or runs of its sentences with about `tokens` tokens at most; longer sentences are split."""
    if cost_of(unit) <= tokens:
        yield unit
        return
    room, text, start = max(1, tokens - cost_of(_piece(unit, 0, 0))), unit.text, 0
    ends = [*(end for _, end in islice(unit_sentences(unit), MOST_SENTENCES)), len(text)]
    while start < len(text):
        ends = [end for end in ends if end > start]
        fitting = takewhile(lambda end: estimated_tokens(text[start:end]) <= room, ends)  # noqa: B023 - used at once
        stop = max(fitting, default=start + len(cut_to(text[start : ends[0]], room)))
        yield _piece(unit, start, stop)
        start = stop


def _piece(unit: Unit, start: int, end: int) -> Unit:
    text, sources, blocks = unit.text[start:end], unit.sources, unit.blocks
    if blocks:
        first = sources[0].start
        sources = (Span(sources[0].document, first + start, first + end),)
        blocks = tuple(block for block in blocks if block.start < first + end and first + start < block.end)
    return replace(unit, id=f"{unit.id}:{start}", text=text, sources=sources, blocks=blocks, sentence_ends=())
