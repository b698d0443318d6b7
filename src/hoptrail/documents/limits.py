"""Why bytes give no document: limits on the cost of reading a document, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hoptrail.errors import UsageError

MIB = 1024 * 1024


class Unreadable(Exception):
    """These bytes give no document, for the reason in the message. Becomes a DocumentError where the source is known."""


class NotReadNow(Unreadable):
    """Something hindered reading; the file may be sound."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """A document beyond one of these limits is refused with a reason that names the limit; other documents are read.

    Sizes are in bytes unless stated otherwise. `parsing_*` and `pages` apply to files parsed in the child process.
    """

    text: int = 64 * MIB
    """A text, Markdown or HTML file, one JSONL line, or (in characters) the text of any file."""
    file: int = 256 * MIB
    """A file that is an archive or binary: PDF, DOCX, XLSX, PPTX."""
    pages: int = 5000
    rows: int = 100_000
    """Rows of the tables of a CSV, TSV or XLSX file."""
    parsing_seconds: int = 60
    """Wall-clock seconds, and CPU seconds for a file of 10 MB or more; smaller files get fewer, see `cpu_seconds`."""
    parsing_memory: int = 1024 * MIB
    """Address space that parsing adds to the child process; OCR may add as much again. Not enforced on Windows."""
    members: int = 2000
    """Files inside an archive such as DOCX, XLSX and PPTX."""
    unpacked: int = 256 * MIB
    """All files inside an archive, unpacked."""
    expansion: int = 200
    """Ratio of unpacked to packed size for an archive or gzip file that unpacks to more than 16 MiB."""

    def check_pages(self, number: int, what: str = "pages") -> None:
        """Raises: Unreadable: there are more pages (or slides, `what`) than the limit."""
        if number > self.pages:
            most = f"the limit of {self.pages}: split it, or raise the limit `pages`"
            raise Unreadable(f"has {number} {what}, more than {most}")

    def cpu_seconds(self, size: int) -> float:
        """CPU seconds for parsing a file of `size` bytes: by default 10, and 5 more per megabyte. The slowest formats need about
        4 per megabyte. Scaling with size keeps many small files from occupying a machine for long.
        """
        least = max(10, self.parsing_seconds / 6)
        return min(self.parsing_seconds, least + self.parsing_seconds * size / 12_000_000)

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise UsageError(f"the reading limit {field.name} must be at least 1, not {getattr(self, field.name)}")


DEFAULT_LIMITS = ReadingLimits()
