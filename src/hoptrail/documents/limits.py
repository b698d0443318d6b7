"""What reading may cost, per document. One home for the numbers; the modules beside it obey them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hoptrail.errors import UsageError
from hoptrail.text.sentences import LONGEST_SENTENCE

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """A document beyond one of these is refused with a reason that names the limit; the others go on.

    Sizes are bytes unless said otherwise. `parsing_*` and `pages` hold for files that are parsed in the child process.
    """

    text: int = 64 * MIB
    """A text, Markdown or HTML file, one JSONL line, or the text (in characters) that any file gives."""
    file: int = 256 * MIB
    """A file that is an archive or binary: PDF, DOCX, XLSX, PPTX."""
    pages: int = 5000
    rows: int = 100_000
    """Rows of the tables of a CSV, TSV or XLSX file."""
    parsing_seconds: int = 60
    """By the clock, and CPU seconds of a file of 10 MB or more; smaller ones get fewer, see `cpu_seconds`."""
    parsing_memory: int = 1024 * MIB
    """Address space that parsing adds to the child process; where the system cannot
    limit that (Windows), only the time is limited."""
    members: int = 2000
    """Files inside an archive, as DOCX, XLSX and PPTX are."""
    unpacked: int = 256 * MIB
    """All files inside an archive, unpacked."""
    expansion: int = 200
    """How many times its packed size an archive or a gzip file may unpack to, once that is more than 16 MiB."""
    longest_sentence: int = LONGEST_SENTENCE
    """Characters."""

    def cpu_seconds(self, size: int) -> float:
        """CPU seconds that parsing a file of `size` bytes may take: by default 10, and 5 more for every megabyte.

        The slowest forms need about 4 for a megabyte; so many small files cannot hold a machine for long.
        """
        least = max(10, self.parsing_seconds / 6)
        return min(self.parsing_seconds, least + self.parsing_seconds * size / 12_000_000)

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise UsageError(f"the reading limit {field.name} must be at least 1, not {getattr(self, field.name)}")


DEFAULT_LIMITS = ReadingLimits()
