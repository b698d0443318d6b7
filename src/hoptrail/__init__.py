"""hoptrail answers questions whose answer is spread over several documents, and shows the trail down to the sentence.

    index = hoptrail.Index("my-index")
    index.add(["documents/"])
    answer = index.ask("Which river flows through the town where the designer of the lighthouse was born?")

Importing this reads no file and starts nothing; heavy libraries are imported when they are first used.
"""

from hoptrail.errors import DocumentError, HoptrailError, UsageError
from hoptrail.index import Contents, Index
from hoptrail.indexing import IndexingReport, Watcher
from hoptrail.settings import Settings, load_settings
from hoptrail.types import Answer, Document, Evidence, Hit, Hop, Kind, Link, Ranking, Span, Trail, Unit, Usage, Verdict

__all__ = [  # noqa: RUF022 - grouped by stage
    # building and asking
    "Index",
    "IndexingReport",
    "Contents",
    "Watcher",
    # what travels
    "Document",
    "Span",
    "Unit",
    "Kind",
    "Link",
    "Hit",
    "Ranking",
    "Evidence",
    "Hop",
    "Verdict",
    "Trail",
    "Answer",
    "Usage",
    # settings and errors
    "Settings",
    "load_settings",
    "HoptrailError",
    "DocumentError",
    "UsageError",
]
