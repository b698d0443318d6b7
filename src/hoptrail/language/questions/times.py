"""The time that a question asks for, and which dates fit it.

The question tagger marks the words for a time and says how what is asked for lies to it; here its words become dates, and dates
are compared with it. Dates are ISO days, months or years, and compared as far as both are known: `2024` may be before `2024-06`.
A time without a year, such as `in June`, restricts nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hoptrail.models.question_tagger import TimeRelation, tag_time
from hoptrail.text.dates import dates_within
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import lower_words, words

_WITHOUT_ITS_END = {"before", "after", "prior"}
"""Where one of these words stands with a date, this date itself is not meant; with others, such as `since`, it is."""
_ORDERED = {TimeRelation.LATEST: max, TimeRelation.EARLIEST: min}

_CUT = {TimeRelation.BEFORE, TimeRelation.AFTER, TimeRelation.BETWEEN}
"""Of these no statement says the words; `in 2008` and `now` may stand in the very statement, and are good words to read for."""


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """The time that a question asks for: how what is asked for lies to `ends`, one or two dates, or none where dates only order
    it. `said` are the words for it, and `question` is what statements are read for.
    """

    relation: TimeRelation
    ends: tuple[str, ...]
    said: str
    question: str

    def fits(self, within: Sequence[str], above: str) -> bool:
        """Whether a statement may fit, by a date `within` or `above` it, or without one. What was in a year may be said later."""
        if not self.ends or not (within or above):
            return True
        if self.relation in {TimeRelation.IN, TimeRelation.BETWEEN} and above and _known(above, self.ends[0]) >= 0:
            return True
        return any(map(self._fits, filter(None, (*within, above))))

    def _fits(self, date: str) -> bool:
        first, last = (_known(date, end) for end in (self.ends[0], self.ends[-1]))
        excluded = _WITHOUT_ITS_END & lower_words(self.said) and len(date) >= len(self.ends[0])
        match self.relation:
            case TimeRelation.BEFORE:
                return first < 0 or (first == 0 and not excluded)
            case TimeRelation.AFTER:
                return first > 0 or (first == 0 and not excluded)
        return first >= 0 >= last

    def chosen(self, dates: Collection[str]) -> str:
        return _ORDERED[self.relation](dates)

    def note(self, dates: Collection[str]) -> str:
        if not dates:
            return f"No date that was found fits “{self.said}”: only what has no date was read."
        ends = dict.fromkeys((min(dates), max(dates)))
        return f"Dates looked at for “{self.said}”: {' to '.join(ends)}."


def _known(date: str, end: str) -> int:
    """-1 where a date is before an end, 1 where it is after it, as far as both are known; else 0."""
    length = min(len(date), len(end))
    return (date[:length] > end[:length]) - (date[:length] < end[:length])


def time_asked(question: str) -> TimeAsked | None:
    """The time that a question asks for, if any. Raises: ModelUnavailable: as for `QuestionTagger`."""
    line = squeeze(question)
    tags = tag_time(line)
    said = " ".join(line[start:end] for start, end in tags.places)
    if tags.relation in _ORDERED:
        ends = []
    elif not (ends := sorted(dates_within(said) or _from_today(said))):
        return None
    if tags.relation in _CUT:
        for start, end in reversed(tags.places):
            line = f"{line[:start]}{line[end:]}"
    return TimeAsked(tags.relation, tuple(ends), said, squeeze(line).replace(" ?", "?"))


def _from_today(said: str) -> list[str]:
    """The day, month or year that `yesterday`, `last month` and the like name."""
    today = datetime.now(UTC).astimezone().date()
    month = today.replace(day=1)
    known = {
        "today": today.isoformat(),
        "yesterday": (today - timedelta(1)).isoformat(),
        "this month": month.isoformat()[:7],
        "last month": (month - timedelta(1)).isoformat()[:7],
        "this year": f"{today.year}",
        "last year": f"{today.year - 1}",
    }
    named = " ".join(word.lower for word in words(said))
    return [known[name] for name in known if named.endswith(name)]
