"""hoptrail answers questions whose answer is spread over several documents, and shows the trail down to the sentence.

    index = hoptrail.Index("my-index")
    index.add(["documents/"])
    answer = index.ask("Which river flows through the town where the designer of the lighthouse was born?")

Importing this reads no file and starts nothing. A name's module is imported when the name is first used, and heavy libraries
when they are: the processes that parse documents need nearly nothing of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from hoptrail.errors import DocumentError, HoptrailError, UsageError
    from hoptrail.index import Index
    from hoptrail.index_contents import Contents
    from hoptrail.indexing import Watcher
    from hoptrail.settings import Settings, load_settings
    from hoptrail.syncing import IndexingReport
    from hoptrail.types import (
        Answer,
        Document,
        Evidence,
        Hit,
        Hop,
        Kind,
        Link,
        Ranking,
        Span,
        Trail,
        Unit,
        Usage,
        Verdict,
    )
else:  # a checker of types would take this for any name that there could be

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version(__name__)
        if name in __all__:
            for home in _HOMES:
                module = import_module(f"{__name__}.{home}")
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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

_HOMES = ("types", "errors", "settings", "syncing", "indexing", "index_contents", "index")
"""Where the names above are defined; what comes first needs least."""


def __dir__() -> list[str]:
    return __all__
