"""hoptrail answers questions whose answer is spread over several documents, and shows the trail down to the sentence.

    index = hoptrail.Index("my-index")
    index.add(["documents/"])
    answer = index.ask("Which river flows through the town where the designer of the lighthouse was born?")

Importing the package reads no file and starts nothing. The module of a name is imported when the name is first used, and heavy
libraries when they are first needed, because the processes that parse documents need almost nothing of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from hoptrail.errors import DocumentError, HoptrailError, UsageError
    from hoptrail.index.contents import Contents
    from hoptrail.index.index import Index
    from hoptrail.index.indexing import Watcher
    from hoptrail.index.settings import Settings, load_settings
    from hoptrail.index.syncing import IndexingReport
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
else:  # hidden from type checkers, which would otherwise accept any name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version(__name__)
        if name in __all__:
            for home in _HOMES:
                module = import_module(f"{__name__}.{home}")
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [  # noqa: RUF022 - grouped: building and asking; records; settings and errors
    "Index", "IndexingReport", "Contents", "Watcher",
    "Document", "Span", "Unit", "Kind", "Link", "Hit", "Ranking", "Evidence", "Hop", "Verdict", "Trail", "Answer", "Usage",
    "Settings", "load_settings", "HoptrailError", "DocumentError", "UsageError",
]  # fmt: skip

_HOMES = ("types", "errors", "index.settings", "index.syncing", "index.indexing", "index.contents", "index.index")
"""The modules that define the names above, those with the fewest imports first."""


def __dir__() -> list[str]:
    return __all__
