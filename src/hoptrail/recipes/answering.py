"""Steps of answering that recipes share: turning a reading into hops, and citing.

Citations are made only here, and only from spans. Each is checked against the units that the language read and cut out of the
stored document, so it cannot say what the document does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hoptrail.corpus.rows import said_date
from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Finding, Reading, Step
from hoptrail.language.withholding import is_guess
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.dates import date_of
from hoptrail.text.statements import wording_of
from hoptrail.types import Document, Evidence, Guess, Hit, Hop, Kind, Ranking, Span, Unit, Verdict, content_id

MOST_CITED = 4  # spans cited for one hop; a reader would not check more

ONLINE = "online:"  # prefix of the channels of hits from the web; the engine's name follows
MEMORY = "memory"  # channel of the note that an answer came from the model's memory
CARRIED = "carried"  # channel of the summary of what an earlier sub-question without an answer found


@dataclass(frozen=True, slots=True)
class CitedHop:
    """A hop and the spans that support its answer, all inside its hits."""

    hop: Hop
    support: tuple[Span, ...] = ()


def hops_of(question: str, reading: Reading, found: Ranking, read: Ranking) -> list[CitedHop]:
    """One hop for each step of a reading of `read`, a part of `found`. The first hop has all hits, later ones those they cite.
    Raises: TaskFailed: a step cites a span outside the units that were read.
    """
    hops: list[CitedHop] = []
    for step in reading.steps:
        check_support(step.support, read)
        cited = tuple(hit for hit in read if covers_any(hit.unit, step.support))
        hits = cited if hops else found
        hops.append(CitedHop(Hop(step.question, step.question, hits, step.answer, verdict_of(step)), step.support))
    if not hops or reading.answer is None:
        verdict = Verdict.UNANSWERED if reading.answer is None else Verdict.ANSWERED
        hops.append(CitedHop(Hop(question, question, () if hops else found, reading.answer, verdict)))
    return hops


def verdict_of(read: Reading | Step) -> Verdict:
    """The verdict of a hop with this answer."""
    return Verdict.ANSWERED if read.supported else Verdict.UNSUPPORTED


def memory_hop(question: str, asked: str, reading: Reading, found: Ranking = ()) -> CitedHop:
    """A hop answered from memory: a note saying so is its first hit, before `found`, and nothing is cited."""
    if reading.answer is None:
        return CitedHop(Hop(question, asked, found, None, Verdict.UNANSWERED))
    note = Hit(outside_unit("from memory", MEMORY, reading.answer, asked), 0.0, MEMORY)  # nothing reads it
    return CitedHop(Hop(question, asked, (note, *found), reading.answer, Verdict.ANSWERED))


def outside_unit(title: str, place: str, text: str, *parts: str) -> Unit:
    """A unit for a text at `place` outside the index: it can be read and shown, but not cited (see `is_stored`)."""
    return Unit(content_id("w", place, title, text, *parts), Kind.PASSAGE, title, text, (Span(place, 0, len(text)),))


def is_stored(hit: Hit) -> bool:
    """Whether the hit is a unit of the index, which can be cited."""
    return hit.channel not in (MEMORY, CARRIED) and not hit.channel.startswith(ONLINE)


def stored_hits(hits: Iterable[Hit]) -> Ranking:
    """The hits that are units of the index."""
    return tuple(filter(is_stored, hits))


def report_hops(hops: list[CitedHop], meter: Meter) -> list[CitedHop]:
    """Pass the hops to the listeners and return them."""
    for cited in hops:
        meter.found(cited.hop, cited.support)
    return hops


def check_support(support: Sequence[Span], hits: Ranking) -> None:
    """Check that every supporting span lies in a hit. Raises: TaskFailed: one does not; the message names it."""
    for span in support:
        if not any(covers_any(hit.unit, [span]) for hit in hits):
            raise TaskFailed(
                f"answer: cites characters {span.start} to {span.end} of document {span.document}, which the evidence handed "
                f"over does not contain."
            )


def cite(hops: Sequence[CitedHop], corpus: Corpus) -> tuple[Evidence, ...]:
    """Evidence for every supporting span of every hop, in order, without repeats within a hop. If an answer is from a summary,
    which is supported by everything summarised, the sentences that say it are cited.
    """
    documents = corpus.documents({span.document for cited in hops for span in cited.support})
    evidence = []
    for position, cited in enumerate(hops):
        for span in _spans_to_cite(cited, documents):
            holders = [hit.unit for hit in cited.hop.hits if covers_any(hit.unit, [span])]
            # A summary is cited last: it rarely says what one of its many sources says.
            unit = next((unit for unit in holders if unit.kind is not Kind.SUMMARY), holders[0])
            document = documents[span.document]
            block = next(iter(document.blocks_within(span)), None)
            evidence.append(
                Evidence(
                    *(document.id, document.title, span.start, span.end, document.slice(span), unit.id),
                    path=block.path if block else (),
                    place=block.place if block else "",
                    date=date_of(block, document.title) or said_date(document.date, document.date_from),
                    source=next(iter(document.sources), ""),
                    said=wording_of(document, span),
                    kind=unit.kind,
                    hop=position,
                    replaced=span.replaced,
                )
            )
    return tuple(evidence)


def withheld_hop(question: str, reading: Reading, read: Ranking) -> CitedHop | None:
    """The hop of the answer that a reading of `read` withholds, if any."""
    step = reading.withheld
    if step is None:
        return None
    return CitedHop(Hop(question, step.question, read, step.answer, verdict_of(step)), step.support)


def guess_of(withheld: CitedHop | None, confidence: float, corpus: Corpus, at: int) -> Guess | None:
    """An answer that is withheld, as a guess about hop `at`, if it may be one."""
    if withheld is None or not is_guess(withheld.hop, confidence):
        return None
    evidence = tuple(replace(item, hop=at) for item in cite([withheld], corpus))
    return Guess(withheld.hop.answer or "", confidence, evidence)


def findings_of(hops: Sequence[CitedHop]) -> tuple[Finding, ...]:
    """The hops as later tasks see them."""
    return tuple(Finding(cited.hop.question, cited.hop.asked, cited.hop.answer) for cited in hops)


def _spans_to_cite(cited: CitedHop, documents: Mapping[str, Document]) -> list[Span]:
    """All supporting spans; if many, the MOST_CITED sentences with most words of the answer, then of the sub-question."""
    support = list(dict.fromkeys(cited.support))
    if len(support) <= MOST_CITED:
        return support
    answer, asked = _words(cited.hop.answer or ""), _words(cited.hop.asked)
    sentences = [
        replace(sentence, replaced=span.replaced)
        for span in support
        for sentence in documents[span.document].sentences()
        if span.covers(sentence)
    ]
    said = {sentence: _words(documents[sentence.document].slice(sentence)) for sentence in sentences or support}
    most = max(len(words & answer) for words in said.values())
    naming = [span for span, words in said.items() if len(words & answer) == most]
    best = sorted(naming, key=lambda span: (-len(said[span] & asked), span))[:MOST_CITED]
    return [span for span in said if span in best]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def covers_any(unit: Unit, spans: Sequence[Span]) -> bool:
    """Whether one of these spans lies in a source of the unit."""
    return any(source.covers(span) for source in unit.sources for span in spans)
