"""Measures converting a generated MediaWiki dump to documents and profiles: pages per second and peak memory.

    python -m benchmarks.wikipedia [--pages N] [--workers N] [--work DIR] [--out FILE.json]

The dump is bzip2, its words follow Zipf's law, and its pages are of the kinds of an encyclopaedia: articles of 2 to
60 sentences with links and references, two thirds with an infobox and one in ten with a table, three redirects per ten articles,
disambiguation pages, talk pages, and some with missing end tags. They are shorter and simpler than Wikipedia's, so expect
fewer pages per second there. The peak is that of the command's main process; `--parsing` measures the parsing processes
by converting pages in one process and nothing else. CPU seconds are those of all processes: on a busy machine compare these.
"""

from __future__ import annotations

import bz2
import json
import random
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from pathlib import Path

from benchmarks.common import parser, print_table, run_measured, size_of, write_results

VOCABULARY = 20_000
SYLLABLES = (
    *("ba", "be", "bo", "da", "den", "dor", "el", "fa", "fin", "gar", "hal", "isk", "ka", "lin", "lo", "mar", "mer"),
    *("na", "nor", "ol", "or", "pel", "ra", "ros", "sen", "ta", "tor", "ul", "ven", "wen"),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of the run. Megabytes are those of the compressed dump and of the resulting files."""

    pages: int
    documents: int
    words: int
    workers: int
    seconds: float
    cpu_seconds: float
    pages_per_second: float
    pages_per_cpu_second: float
    peak_megabytes: float
    dump_megabytes: float
    corpus_megabytes: float
    parsing_pages_per_cpu_second: float
    parsing_peak_megabytes: float


class Wiki:
    """Pages by number, the same for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        words = {"".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 4))) for _ in range(3 * VOCABULARY)}
        self.words = sorted(words)[:VOCABULARY]
        self.random.shuffle(self.words)
        self.weights = list(accumulate(1 / (rank + 2) for rank in range(len(self.words))))

    def said(self, count: int) -> str:
        """`count` random words."""
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def sentence(self, number: int) -> str:
        """A sentence with a link and sometimes a reference."""
        link = f"[[Article {self.random.randint(1, number)}|{self.said(2)}]]"
        cite = (
            f"<ref>{{{{cite web|url=http://example.org/{number}|title={self.said(6)}|publisher={self.said(2)}}}}}</ref>"
        )
        return f"{self.said(9).capitalize()} {link} {self.said(6)}.{cite if self.random.random() < 0.4 else ''} "

    def infobox(self, number: int) -> str:
        """An infobox of 3 to 15 rows."""
        rows = "".join(f"| {self.said(1)}_{row} = [[{self.said(2)}]]\n" for row in range(self.random.randint(3, 15)))
        return f"{{{{Infobox thing\n| name = Article {number}\n{rows}| area = {{{{convert|{number}|km2}}}}\n}}}}\n"

    def article(self, number: int) -> str:
        """The wikitext of an article."""
        box = self.infobox(number) if self.random.random() < 0.66 else ""
        parts = [box, f"'''Article {number}''' is a {self.said(3)}. "]
        for section in range(self.random.randint(1, 4)):
            sentences = (self.sentence(number) for _ in range(self.random.randint(1, 14)))
            parts += [f"\n== {self.said(2)} {section} ==\n", "".join(sentences)]
        if self.random.random() < 0.1:
            parts.append(
                '\n{| class="wikitable"\n' + "".join(f"|-\n| {self.said(3)} || {row}\n" for row in range(20)) + "|}\n"
            )
        return "".join(parts) + "\n{{reflist}}\n[[Category:Things]]\n"

    def page(self, number: int) -> tuple[str, str, int, str]:
        """Title, text, namespace, redirect."""
        kind = self.random.random()
        if kind < 0.2:
            target = f"Article {self.random.randint(1, 2 * number)}"
            return f"Name {number}", f"#REDIRECT [[{target}]]", 0, target
        if kind < 0.24:
            return f"Talk:Article {number}", self.said(40), 1, ""
        if kind < 0.26:
            return f"Names {number} (disambiguation)", f"* [[Article {number}]]\n{{{{disambiguation}}}}", 0, ""
        text = self.article(number)
        odd = {0: "{{unclosed ", 1: "<ref>unclosed ", 2: "{|\n| unclosed ", 3: "<!-- unclosed "}
        return f"Article {number}", odd.get(self.random.randrange(1000), "") + text, 0, ""

    def xml(self, number: int) -> str:
        """The page as XML."""
        title, text, namespace, redirect = self.page(number)
        lead = f'<redirect title="{redirect}" />' if redirect else ""
        return (
            f"  <page>\n    <title>{title}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>{lead}\n    <revision>\n"
            f'      <model>wikitext</model>\n      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
        )


def write_dump(path: Path, pages: int) -> None:
    """Write a compressed dump."""
    wiki = Wiki()
    with bz2.open(path, "wt", encoding="utf-8", compresslevel=1) as stream:
        stream.write('<mediawiki xml:lang="en">\n  <siteinfo><case>first-letter</case></siteinfo>\n')
        for number in range(1, pages + 1):
            stream.write(wiki.xml(number))
        stream.write("</mediawiki>\n")


def parse_only(dump: Path, most: int) -> tuple[int, float, float]:
    """Pages, CPU seconds and peak MB of converting in this process."""
    from hoptrail.documents.wikipedia.converting import WikipediaSettings, convert
    from hoptrail.documents.wikipedia.dump import open_dump
    from hoptrail.documents.wikipedia.page import Site

    settings, site, spent, count = WikipediaSettings(), Site(), 0.0, 0
    with open_dump(dump) as opened:
        for count, page in enumerate(opened.pages(), 1):
            started = time.process_time()
            convert(page.data, site, settings)
            spent += time.process_time() - started
            if count == most:
                break
    return count, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(folder: Path, pages: int, workers: int) -> Figures:
    """Convert a generated dump."""
    dump, corpus = folder / f"generated-{pages}.xml.bz2", folder / f"corpus-{pages}-{workers}"
    if not dump.exists():
        write_dump(dump, pages)
    hoptrail = Path(sys.executable).with_name("hoptrail")
    ran = run_measured([hoptrail, "corpus", "wikipedia", dump, "--out", corpus, "--workers", str(workers)])
    alone = run_measured([sys.executable, "-m", "benchmarks.wikipedia", "--parsing", dump])
    parsed, seconds, peak = map(float, alone.output.split())
    manifest = json.loads((corpus / "corpus.json").read_bytes())
    return Figures(
        pages=pages,
        documents=manifest["documents"],
        words=manifest["words"],
        workers=workers,
        seconds=ran.seconds,
        cpu_seconds=ran.cpu_seconds,
        pages_per_second=pages / ran.seconds,
        pages_per_cpu_second=pages / ran.cpu_seconds,
        peak_megabytes=ran.peak_megabytes,
        dump_megabytes=dump.stat().st_size / 1e6,
        corpus_megabytes=size_of(corpus) / 1e6,
        parsing_pages_per_cpu_second=parsed / seconds,
        parsing_peak_megabytes=peak,
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--pages", type=int, default=200_000)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--work", type=Path, metavar="DIR", help="keep dump and corpus here")
    options.add_argument(
        "--parsing", type=Path, metavar="DUMP", help="only parse the first 10,000 pages of this dump, here"
    )
    chosen = options.parse_args()
    if chosen.parsing:
        print(*parse_only(chosen.parsing, 10_000))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = measured(folder, chosen.pages, chosen.workers)
    print_table(
        ("", "value"), [(name.replace("_", " "), getattr(figures, name)) for name in figures.__dataclass_fields__]
    )
    write_results(chosen.out, figures)


if __name__ == "__main__":
    main()
