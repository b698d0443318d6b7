"""Example questions: generated from the documents by rules, tried, and kept if they are answered as expected.

No model is called, whatever the language of the settings: suggestions cost nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from threading import Lock
from typing import TYPE_CHECKING

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.language.lazy import OFFLINE
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.notebook import LIKELY
from hoptrail.serving.server.question_threads import Patience
from hoptrail.text.lexicon import word_set
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.normal_forms import base_title, folded, stands_in
from hoptrail.types import Answer, AnswerKind, BlockKind, Document

if TYPE_CHECKING:
    from hoptrail.recipes.recipe import Recipe
    from hoptrail.serving.server.workspaces import Workspace

SUGGESTIONS = 4
MOST_TRIED = 16
SECONDS = 15.0
"""Computing time after which the search ends. Not clock time, which would leave no suggestions on a busy machine."""
TURN_SECONDS = 2.0
"""How long to wait for another thread that searches for the same suggestions; a waiting thread answers no question."""
SAMPLED_DOCUMENTS = 60
"""Number of documents examined, spread evenly over all."""

_ROLES = {
    "designed": "designer",
    "built": "builder",
    "founded": "founder",
    "written": "author",
    "painted": "painter",
    "composed": "composer",
    "invented": "inventor",
    "discovered": "discoverer",
}
_PAST = {"written": "wrote"}
_BY = re.compile(rf"\b(?:was|were)\s+(?P<verb>{'|'.join(_ROLES)})\b[^.;:]{{0,40}}?\bby\s+")
_BORN = re.compile(r"\bborn\b[^.;:]{0,30}?\bin\s+(?=[A-Z])")
_HOW = re.compile(r"how to (?P<what>\w.*)", re.IGNORECASE)
_PLAIN = re.compile(r"[^\W\d_][\w&'’., -]{2,40}")
_HEADING = re.compile(r"[A-Z][a-z]+(?: [a-z]+){0,3}s")
_ATTRIBUTES = word_set(
    """
    address amount author budget capital condition cost date deadline location maker material owner phone population price role
    size status supplier type year
    """
)
"""Column headers that fit into a question."""
_LONGEST_VALUE = 60
_LONGEST_SUBJECT = 4
"""Words."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, and a text that its answer should contain (empty: unknown)."""

    question: str
    expected: str = ""


@dataclass(slots=True)
class _Suggestions:
    """The suggestions for one state of an index; None until they have been searched for."""

    questions: tuple[str, ...] | None = None
    turn: Lock = field(default_factory=Lock)


@cached_per_snapshot
def _suggestions_of(_: Snapshot) -> _Suggestions:
    return _Suggestions()


def suggested(workspace: Workspace, patience: Patience) -> tuple[str, ...]:
    """The suggestions for the current state, searched for once per state; none while another thread searches.
    Raises: Interrupted: nobody is waiting for them any more.
    """
    corpus = workspace.corpus()
    suggestions = _suggestions_of(corpus.snapshot)
    if not suggestions.turn.acquire(timeout=TURN_SECONDS):
        return ()
    try:
        if suggestions.questions is None:
            step = max(1, len(workspace.by_title()) // SAMPLED_DOCUMENTS)
            sample = {one.id for one in workspace.by_title()[::step][:SAMPLED_DOCUMENTS]}
            documents = sorted(corpus.documents(sample).values(), key=lambda one: (one.title, one.id))
            language = ObservedLanguage(workspace.language(OFFLINE), Listener(stopped=patience))
            recipe = workspace.recipe(None, language)
            suggestions.questions = tuple(_answered(candidates(documents), recipe))
        return suggestions.questions
    finally:
        suggestions.turn.release()


def _answered(found: Iterator[Candidate], recipe: Recipe) -> Iterator[str]:
    end, count = time.thread_time() + SECONDS, 0
    for place, candidate in enumerate(found):
        if count == SUGGESTIONS or place == MOST_TRIED or time.thread_time() > end:
            return
        if _is_expected(recipe.answer(candidate.question), candidate.expected):
            count += 1
            yield candidate.question


def _is_expected(answer: Answer, expected: str) -> bool:
    """Whether an answer is likely, has evidence, and is what the rules expect."""
    if answer.text is None or not answer.evidence or (answer.confidence is not None and answer.confidence < LIKELY):
        return False
    if not expected:
        return answer.kind in {AnswerKind.LIST, AnswerKind.STEPS}
    return stands_in(expected, answer.text) or stands_in(answer.text, expected)


def candidates(documents: Sequence[Document]) -> Iterator[Candidate]:
    """Candidates of four kinds in turn, questions over two documents first; at most one of a kind per document."""
    facts = [list(_facts_of(document)) for document in documents]
    kinds = (
        _joined(documents),
        (found[0] for found in facts if found),
        chain.from_iterable(map(_from_lists, documents)),
        chain.from_iterable(map(_from_rows, documents)),
    )
    seen: set[str] = set()
    for turn in zip_longest(*kinds):
        for candidate in filter(None, turn):
            if candidate.question not in seen:
                seen.add(candidate.question)
                yield candidate


def _facts_of(document: Document) -> Iterator[Candidate]:
    """`Who designed X?` and `Where was X born?` about the subject of the document."""
    subject = _subject(document)
    for verb, name in _made_by(document):
        yield Candidate(f"Who {_PAST.get(verb, verb)} {subject}?", name)
    for place in _born_in(document):
        yield Candidate(f"Where was {subject} born?", place)


def _joined(documents: Sequence[Document]) -> Iterator[Candidate]:
    """`Where was the designer of X born?`, if X and its designer each have a document."""
    births = {folded(base_title(document.title)): place for document in documents for place in _born_in(document)}
    for document in documents:
        for verb, name in _made_by(document):
            if place := births.get(folded(name)):
                yield Candidate(f"Where was the {_ROLES[verb]} of {_subject(document)} born?", place)


def _made_by(document: Document) -> Iterator[tuple[str, str]]:
    return ((found["verb"], name) for found, name in _named_after(_BY, document))


def _born_in(document: Document) -> Iterator[str]:
    return (name for _, name in islice(_named_after(_BORN, document), 1))


def _named_after(pattern: re.Pattern[str], document: Document) -> Iterator[tuple[re.Match[str], str]]:
    """Matches in sentences about the subject of the document (they begin with a pronoun or its title), each with the name that
    follows.
    """
    title = base_title(document.title)
    for span in document.sentences():
        text = " ".join(document.slice(span).split())
        about = re.match(rf"(?:It|He|She|(?:The )?{re.escape(title)})\b", text)
        if about and (found := pattern.search(text)) and (name := _first_name(text, found.end())):
            yield found, name


def _first_name(sentence: str, start: int) -> str:
    """The name that follows in a sentence, after at most two other words (`the engineer`)."""
    found = next((one for one in find_mentions(sentence) if one.shape is Shape.NAME and one.end > start), None)
    near = found is not None and len(sentence[start : found.start].split()) <= 2
    return found.text if found is not None and near else ""


def _subject(document: Document) -> str:
    """The subject of a document, from its title, with `the` if the text uses it."""
    title = base_title(document.title)
    return f"the {title}" if re.search(rf"\b[Tt]he {re.escape(title)}\b", document.text) else title


def _from_rows(document: Document) -> Iterator[Candidate]:
    """`What is the HEADER of KEY?` from the first suitable table row."""
    rows = [block for block in document.blocks if block.kind is BlockKind.ROW and not block.is_header]
    for block in rows:
        values = [document.text[cell.start : cell.end].strip() for cell in block.cells]
        headers = [cell.header.strip() for cell in block.cells]
        key = next((one for one in values if _PLAIN.fullmatch(one) and len(one.split()) <= _LONGEST_SUBJECT), "")
        if not key or sum(key in document.text[other.start : other.end] for other in rows) > 1:
            continue
        for header, value in zip(headers, values, strict=True):
            if value and value != key and header.lower() in _ATTRIBUTES and len(value) <= _LONGEST_VALUE:
                yield Candidate(f"What is the {header.lower()} of {_with_article(key)}?", value)
                return


def _with_article(key: str) -> str:
    """A name of several capitalised words as it is; anything else with `the`."""
    capitals = len(key.split()) > 1 and all(word[:1].isupper() for word in key.split())
    return key if capitals else f"the {key[:1].lower()}{key[1:]}"


def _from_lists(document: Document) -> Iterator[Candidate]:
    """`How do I X?` from a heading `How to X`, `What are the HEADING of TITLE?` from a heading above a list."""
    subject = _subject(document)
    is_name = subject.removeprefix("the ")[:1].isupper() and len(subject.split()) <= _LONGEST_SUBJECT
    for heading, following in zip(document.blocks, document.blocks[1:], strict=False):
        if heading.kind is not BlockKind.HEADING:
            continue
        text = document.text[heading.start : heading.end].strip().rstrip(":.")
        if how := _HOW.fullmatch(text):
            yield Candidate(f"How do I {how['what']}?")
        elif is_name and following.kind is BlockKind.ITEM and _HEADING.fullmatch(text):
            yield Candidate(f"What are the {text[:1].lower()}{text[1:]} of {subject}?")
