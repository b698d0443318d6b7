"""Measures how fast each file format is read, beside the library that parses it, and whether mutated files do harm.

    python -m benchmarks.reading [--only speed,mutations] [--mutated 2000] [--seed 0] [--files FOLDER] [--out FILE.json]

Speed: CPU seconds of parsing a file of each format, repeated for two seconds, in this process; `alone` is the time of the
library to parse the same bytes and return its text, without blocks. The files are generated (`made_files`), except PDF from the
tests (`tests/documents/blocks`). Mutations: files of the tests, or those under FOLDER, with parts cut out, doubled, swapped,
randomised or put after many markers; in archives half of the time within a member. They are read in folders, each with an intact
file beside it. A refusal with a reason counts like a text. Counted separately: child processes that crashed or were too slow,
unforeseen exceptions, blocks that do not tile the text, and intact files that were not read.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from email import message_from_bytes, policy
from pathlib import Path

import yaml
from benchmarks.common import ROOT, parser, print_table, write_results
from benchmarks.made_files import made_files

from hoptrail.documents.blocks import pack, unpack
from hoptrail.documents.decoding import cleaned
from hoptrail.documents.forms import BY_NAME, PDF, form_of, parser_of, true_form
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.errors import DocumentError
from hoptrail.types import Document

FILES = ROOT / "tests" / "documents" / "blocks"
SECONDS = 2.0
LIMITS = ReadingLimits(parsing_seconds=10)
FOLDER = 25  # number of mutated files read together
MARKS = (
    b"[", b"![", b"<div>", b"> ", b"- ", b"| a ", b"*a ", b"`", b"[[", b"\n.. x::\n   ", b"* ", b"{", b"<td>", b"&", b"\\", b"\0",
    b"\xff",
)  # fmt: skip
"""Texts that are repeated in a mutated file: beginnings of things that nest, or whose end must be searched for."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Megabytes (1,000,000 bytes of files) per CPU second; `alone` is None if no library is measured."""

    form: str
    files: int
    bytes: int
    ours: float
    alone: float | None


@dataclass(frozen=True, slots=True)
class Mutations:
    """The outcomes of a format's mutated files. `lost` counts intact files beside them that were not read correctly; `slowest` is
    the longest wait for the next document, in seconds of wall clock.
    """

    form: str
    files: int
    read: int
    refused: int
    ended: int
    late: int
    unforeseen: int
    not_tiled: int
    lost: int
    slowest: float


def markdown_alone(data: bytes) -> object:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(data.decode())


def html_alone(data: bytes) -> object:
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(data).text()


def rst_alone(data: bytes) -> object:
    from docutils.core import publish_doctree

    quiet = {"report_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    return publish_doctree(data.decode(), settings_overrides=quiet).astext()


def ipynb_alone(data: bytes) -> object:
    import nbformat

    return nbformat.reads(data.decode(), as_version=4)  # type: ignore[no-untyped-call]


def epub_alone(data: bytes) -> object:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [html_alone(archive.read(name)) for name in archive.namelist() if name.endswith("html")]


def docx_alone(data: bytes) -> object:
    from docx import Document

    return [paragraph.text for paragraph in Document(io.BytesIO(data)).paragraphs]


def pptx_alone(data: bytes) -> object:
    from pptx import Presentation

    slides = Presentation(io.BytesIO(data)).slides
    return [shape.text_frame.text for slide in slides for shape in slide.shapes if shape.has_text_frame]


def xlsx_alone(data: bytes) -> object:
    from lxml import etree  # type: ignore[import-untyped]

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [etree.fromstring(archive.read(name)) for name in archive.namelist() if name.endswith(".xml")]


def pdf_alone(data: bytes) -> object:
    """The text of PDFium; nothing of a file that has a password."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError:
        return None
    return [page.get_textpage().get_text_bounded() for page in document]


def mail_alone(data: bytes) -> object:
    message = message_from_bytes(data, policy=policy.default)
    return [part.get_payload(decode=True) for part in message.walk()]


def json_alone(data: bytes) -> object:
    """The value, or those of the lines."""
    try:
        return json.loads(data)
    except ValueError:
        return [json.loads(line) for line in data.splitlines() if line.strip()]


ALONE: dict[str, Callable[[bytes], object]] = {
    "markdown": markdown_alone,
    "html": html_alone,
    "rst": rst_alone,
    "ipynb": ipynb_alone,
    "epub": epub_alone,
    "docx": docx_alone,
    "pptx": pptx_alone,
    "xlsx": xlsx_alone,
    "pdf": pdf_alone,
    "mail": mail_alone,
    "csv": lambda data: list(csv.reader(io.StringIO(data.decode(errors="replace")))),
    "json": json_alone,
    "yaml": lambda data: list(yaml.load_all(data, yaml.BaseLoader)),
}


def read_files(folder: Path) -> dict[str, list[bytes]]:
    contents: dict[str, list[bytes]] = {}
    for path in filter(Path.is_file, sorted(folder.rglob("*"))):
        form = true_form(form_of(path), path.read_bytes())
        if form is not None and form.parser:
            contents.setdefault(form.name, []).append(path.read_bytes())
    return contents


def measure_speed(form: str, files: Sequence[bytes]) -> Speed:
    ours, alone = parser_of(form), ALONE.get(form)
    size = sum(map(len, files))
    runs = [lambda data: ours(data, LIMITS), *([alone] if alone else [])]
    speeds = [megabytes_a_second(run, files, size) for run in runs]
    return Speed(form, len(files), size, speeds[0], speeds[1] if alone else None)


def megabytes_a_second(run: Callable[[bytes], object], files: Sequence[bytes], size: int) -> float:
    """Run once for imports and compilation, then repeatedly."""
    for data in files:
        run(data)
    start, times = time.process_time(), 0
    while time.process_time() - start < SECONDS:
        for data in files:
            run(data)
        times += 1
    return times * size / 1e6 / (time.process_time() - start)


def mutated(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Make one to four changes; in an archive, half of the time within one of its members."""
    if data.startswith(b"PK") and chance.random() < 0.5:
        return with_mutated_member(data, chance)
    for _ in range(chance.randint(1, 4)):
        data = changed_once(data, chance.choice(others), chance)
    return data


def changed_once(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Cut out a part, cut off the rest, double, swap or randomise a part, or put many markers before it."""
    first, last = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    last = min(last, first + chance.choice((1, 10, 100, 10_000)))
    before, part, after = data[:first], data[first:last], data[last:]
    return chance.choice(
        (
            before + after,
            before,
            before + part * chance.choice((2, 50)) + after,
            before + other[first:last] + after,
            before + chance.randbytes(min(len(part), 20)) + after,
            before + chance.choice(MARKS) * chance.choice((2, 50, 2000)) + part + after,
        )
    )


def with_mutated_member(data: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        changed = chance.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, changed_once(content, content, chance) if name == changed else content)
    return out.getvalue()


def measure_mutations(form: str, files: Sequence[bytes], number: int, seed: int) -> Mutations:
    """Read folders of mutated files, each with an intact file beside it."""
    chance = random.Random(f"{form} {seed}")
    counts: Counter[str] = Counter()
    slowest = 0.0
    whole, text = smallest(form, files)
    for start in range(0, number, FOLDER):
        mutations = [mutated(chance.choice(files), files, chance) for _ in range(min(FOLDER, number - start))]
        with tempfile.TemporaryDirectory() as folder:
            outcomes, waited = outcomes_in(Path(folder), "".join(BY_NAME[form].endings[:1]), mutations, whole, text)
        counts.update(outcomes)
        slowest = max(slowest, waited)
    unforeseen = {what: times for what, times in counts.items() if what.startswith("unforeseen")}
    for what, times in unforeseen.items():
        print(f"{form}: {what} ({times})", file=sys.stderr)
    counted = {what: counts[what] for what in ("read", "refused", "ended", "late", "not_tiled", "lost")}
    return Mutations(form, number, unforeseen=sum(unforeseen.values()), slowest=slowest, **counted)


def smallest(form: str, files: Sequence[bytes]) -> tuple[bytes, str]:
    """The smallest readable file, and its text."""
    for data in sorted(files, key=len):
        with suppress(Unreadable):
            return data, cleaned(parser_of(form)(data, LIMITS).text).text
    sys.exit(f"no file of the format {form} can be read")


def outcomes_in(folder: Path, ending: str, made: Sequence[bytes], whole: bytes, text: str) -> tuple[list[str], float]:
    """The outcome of each mutated file, `lost` for each intact one that was not read, and the longest wait in seconds."""
    for place, data in enumerate(made):
        (folder / f"{place:04}-mutated{ending}").write_bytes(data)
        (folder / f"{place:04}-whole{ending}").write_bytes(whole)
    outcomes, waits, read, findings = [], [0.0], 0, Findings()
    start = time.perf_counter()
    for item in read_sources([folder], LIMITS, findings=findings):
        waits.append(time.perf_counter() - start)
        source = item.sources[0] if isinstance(item, Document) else item.source
        if "-mutated" in source:
            outcomes.append(outcome(item))
        else:
            read += isinstance(item, Document) and item.text == text
        start = time.perf_counter()
    # A damaged file of a format without endings may not be recognised, and is left out.
    outcomes += ["refused" for name in findings.left_out if "-mutated" in name]
    return outcomes + ["lost"] * (len(made) - read), max(waits)


def outcome(item: Document | DocumentError) -> str:
    """A field of `Mutations`, or a description of the problem."""
    if isinstance(item, DocumentError):
        if "took longer" in item.reason:
            return "late"
        if unforeseen := re.search(r"damaged or not supported \((\w+: .*)\)", item.reason):
            return f"unforeseen {unforeseen[1]}"
        return "ended" if "ended its parser" in item.reason else "refused"
    starts, ends = [block.start for block in item.blocks], [block.end for block in item.blocks]
    is_whole = not item.blocks or [*starts, len(item.text)] == [0, *ends]
    return "read" if is_whole and unpack(pack(item.blocks)) == item.blocks else "not_tiled"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--only", default="speed,mutations", help="speed, mutations or both")
    arguments.add_argument("--mutated", type=int, default=2000, metavar="N", help="mutated files, over all formats")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--files", type=Path, default=FILES, metavar="FOLDER")
    chosen = arguments.parse_args()
    contents = read_files(chosen.files)
    large = {form: [data] for form, data in made_files().items()} | {PDF: contents.get(PDF, [])}
    speeds = [measure_speed(form, files) for form, files in large.items() if files] if "speed" in chosen.only else []
    if speeds:
        header = ("form", "files", "bytes", "MB/s", "library alone MB/s")
        print_table(header, [(one.form, one.files, one.bytes, one.ours, one.alone or "") for one in speeds])
    share = chosen.mutated // len(contents)
    mutations = contents.items() if "mutations" in chosen.only else ()
    results = [measure_mutations(form, files, share, chosen.seed) for form, files in mutations]
    if results:
        print_table([field.name for field in fields(Mutations)], map(astuple, results))
    write_results(chosen.out, {"speed": speeds, "mutations": results})
    if any(one.ended or one.not_tiled or one.lost for one in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
