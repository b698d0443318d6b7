"""The records that travel through hoptrail: frozen, typed, identified by content.

One word per idea: `docs/glossary.md` has them on one page. Offsets are code points (Python string indices) into
`Document.text`, the text as stored; nothing here reads files, calls models or knows where records are kept.
"""

from hoptrail.types.answer import (
    LIKELY,
    SURE,
    Answer,
    AnswerKind,
    Cited,
    Evidence,
    Guess,
    Hop,
    Statement,
    Trail,
    Usage,
    Verdict,
    certainty,
)
from hoptrail.types.document import ID_DIGITS, Block, BlockKind, Cell, Document, Span, content_id
from hoptrail.types.unit import Extraction, Fact, Hit, Kind, Link, Ranking, Triple, Unit

__all__ = [
    "ID_DIGITS",
    "LIKELY",
    "SURE",
    "Answer",
    "AnswerKind",
    "Block",
    "BlockKind",
    "Cell",
    "Cited",
    "Document",
    "Evidence",
    "Extraction",
    "Fact",
    "Guess",
    "Hit",
    "Hop",
    "Kind",
    "Link",
    "Ranking",
    "Span",
    "Statement",
    "Trail",
    "Triple",
    "Unit",
    "Usage",
    "Verdict",
    "certainty",
    "content_id",
]
