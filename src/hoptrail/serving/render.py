"""Output for a terminal: the answer before how it was found, a tree of its steps, and lines or tables for what is found, what an
index holds and what was done to it.

Text from documents and models is never markup, and loses its control characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from hoptrail.corpus.source_files import file_of
from hoptrail.documents.file_contents import NO_DOCUMENT
from hoptrail.errors import DocumentError
from hoptrail.index.contract import FAILED, GUESSED, NOTHING_FOUND, UNSETTLED
from hoptrail.serving.answer_text import one_line
from hoptrail.text.words import content_stems, terms
from hoptrail.types.answer import SURE, Answer, AnswerKind, Cited, Evidence, Hop, Statement, Usage, Verdict
from hoptrail.types.document import Block, BlockKind, Document
from hoptrail.types.sources import file_name
from hoptrail.types.unit import Ranking

if TYPE_CHECKING:
    from hoptrail.corpus.register import Withdrawn
    from hoptrail.index.contents import Contents, DocumentSummary
    from hoptrail.index.syncing import IndexingReport
    from hoptrail.models.chat import ChatSettings
    from hoptrail.models.ledger import Ledger

SHOWN_DOCUMENTS, SHOWN_NOTES, SHOWN_EXTENSIONS = 50, 20, 8
EXCERPT = 240
DISAGREE = "your documents disagree, and no date tells which holds"
_NUMERIC = frozenset("0123456789.,+-*[] ")
ADVICE = "Ask for one thing at a time in words of your documents; `hoptrail search` shows more places."


def plain(text: str, style: str = "") -> Text:
    """Text without markup on one line, with a space for anything unprintable (escape sequences, line breaks)."""
    return Text(one_line(text), style=style)


def lines_of(text: str, values: Sequence[str] = ()) -> Text:
    """The lines of a text that say something, each as `plain`. The `values` in them stand out."""
    lines = Text("\n").join(plain(line) for line in text.splitlines() if line.strip())
    if values:
        lines.highlight_words([one_line(value) for value in values], "bold green", case_sensitive=False)
    return lines


def table_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows of cells below their header, numbers aligned right and words left."""
    table = Table(box=None, pad_edge=False)
    for name, *cells in zip(header, *rows, strict=True):
        numeric = all(set(cell) <= _NUMERIC for cell in cells)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(plain, row))
    return table


@dataclass(frozen=True)
class _Indented:
    """A text whose every line begins with some spaces, and none ends with any."""

    text: Text
    spaces: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrower = options.update(width=max(1, options.max_width - self.spaces))
        for line in console.render_lines(self.text, narrower, pad=False):
            yield Segment(" " * self.spaces)
            yield from line
            yield Segment.line()


def render_answer(answer: Answer, *, folded: bool = False) -> RenderableType:
    """What was really asked, the answer, how sure it is and the statement it rests on with its place, or what comes closest;
    then, unless `folded`, how it was found. Of several questions each has its own answer.
    """
    if answer.kind is AnswerKind.REPLY:
        return plain(answer.text or "")
    heads: list[RenderableType] = [plain(note, "yellow") for note in answer.notes]
    if answer.parts:
        for number, one in enumerate(answer.parts):
            heads += [*[Text()][:number], plain(one.asked, "bold"), *_conclusion(one)]
    else:
        asked = [] if answer.asked == answer.question else [plain(f"Asked: {answer.asked}", "italic")]
        heads += [*asked, *_conclusion(answer)]
    if folded:
        return Group(*heads)
    tree = Tree(plain(answer.question, "bold"), guide_style="dim")
    for position, hop in enumerate(answer.trail):
        _add_hop(tree, position, hop, [item for item in answer.evidence if item.hop == position])
    usage = answer.usage
    spent = f", {usage.calls} calls, {usage.prompt_tokens + usage.completion_tokens} tokens" if usage.calls else ""
    footer = Text(f"recipe {answer.recipe}, language {answer.language}, {usage.seconds:.2f} s{spent}", style="dim")
    return Group(*heads, Text(), tree, footer)


def near(path: str) -> str:
    """A path without the current folder."""
    return path.removeprefix(f"{Path.cwd().as_posix()}/")


def number_of(count: int, what: str) -> str:
    """A count with its noun: `1 document`, `2,000 documents`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def sources_of(answer: Answer) -> list[Cited]:
    """What an answer rests on, or what comes closest, each once, in the order shown."""
    shown = [said for one in answer.parts or (answer,) for said in (one.closest if one.text is None else one.evidence)]
    return list({(one.document, one.start, one.end): one for one in shown}.values())


def render_source(label: str, item: Cited, marked: Collection[str] = (), value: str = "") -> RenderableType:
    """A statement below where it stands, each row or item on a line. Words of the `marked` stems and a `value` stand out."""
    said = lines_of(item.said, [value] if value else ())
    for word in terms(said.plain) if marked else ():
        if word.stem in marked:
            said.stylize("bold", word.start, word.end)
    return Group(Text.assemble(label, "  ", _standing(item)), _Indented(said, len(label) + 2))


def _conclusion(answer: Answer) -> list[RenderableType]:
    """What was found, or that nothing settles the question: then the guess, the closest statements and what to do."""
    if answer.text is not None:
        steps = answer.kind is AnswerKind.STEPS
        return _found(Text("Answer: "), _certainty(answer), answer.text, answer.evidence, answer.items, steps=steps)
    guess, asked = answer.guess, content_stems(answer.asked)
    value = guess.text if guess else ""
    shown = [render_source(str(number), one, asked, value) for number, one in enumerate(answer.closest, start=1)]
    if answer.failed:
        return [Text(FAILED, style="red"), *shown]
    if guess is None:
        return [Text(UNSETTLED if shown else NOTHING_FOUND, style="yellow"), *shown, Text(ADVICE, style="dim")]
    bases = [said for said in guess.evidence if not said.replaced]
    numbers = [
        str(number)
        for number, one in enumerate(answer.closest, start=1)
        if any(one.document == said.document and one.start <= said.start < one.end for said in bases)
    ]
    place = f" from {', '.join(numbers)} below" if numbers else ""
    certainty = Text(f"A guess ({guess.confidence:.2f}){place}, not sure enough to be the answer.", style="yellow")
    found = _found(Text(GUESSED.format(""), style="yellow"), certainty, guess.text, guess.evidence, told=bool(numbers))
    return [*found, Text("Closest:"), *shown, Text(ADVICE, style="dim")]


def _certainty(answer: Answer) -> Text:
    if any(hop.verdict is Verdict.UNSUPPORTED for hop in answer.trail):
        return Text("Unsupported: what is cited does not say so. Check it.", style="yellow")
    if answer.confidence is None:
        return Text("How sure this is was not estimated.", style="dim")
    end, style = (".", "dim") if answer.confidence >= SURE else (": check what it rests on.", "yellow")
    return Text(f"{answer.certainty.capitalize()} ({answer.confidence:.2f}){end}", style=style)


def _found(
    head: Text,
    certainty: Text,
    text: str,
    evidence: Sequence[Evidence],
    items: Sequence[str] = (),
    *,
    steps: bool = False,
    told: bool = False,
) -> list[RenderableType]:
    """An answer or a guess, how sure it is, and what it rests on, once: a place beside each value, or a statement with its place,
    unless it is `told` elsewhere.
    """
    last = [item for item in evidence if item.hop == evidence[-1].hop]
    current = [one for one in last if not one.replaced] or last
    differing = _disputed(items or text.split("; "), current)
    values = differing or [(one, _home(one, current)) for one in (items if len(items) > 1 else [text])]
    homes = list(dict.fromkeys(home for _, home in values if home)) or current[:1]
    if len(values) == 1:
        shown = [Text.assemble(head, plain(text, "green" if len(text) > EXCERPT else "bold green"))]
        before = {(one.document, one.start) for one in evidence if one.hop != evidence[-1].hop}
        homes += [one for one in current if one not in homes and (one.document, one.start) in before]  # values compared
    else:
        said = DISAGREE if differing else f"{len(values)} {'steps' if steps else 'items'}"
        shown = [Text.assemble(head, (said, "bold"))]
        for number, (value, home) in enumerate(values, start=1):
            place = Text.assemble("  ", _source(home)) if home and len(homes) > 1 else ""
            shown.append(Text.assemble(f"  {number}. " if steps else "  - ", plain(value, "green"), place))
        certainty = Text("Check which of them holds.", style="yellow") if differing else certainty
    told = told or (len(homes) > 1 and len(values) > 1)  # then it stands beside each value
    below = [line for one in homes if not told for line in _statement(one, [value for value, _ in values])]
    replaced = [
        plain(f"  replaces what was said {f'in {one.date}' if one.date else 'before'}: {one.said}", "dim")
        for one in last
        if one.replaced
    ]
    return [*shown, certainty, *below, *replaced]


def _disputed(values: Sequence[str], evidence: Sequence[Evidence]) -> list[tuple[str, Evidence | None]]:
    """The values with their statements, if each is said by another document and names it: `311 (Finance)`; else none."""
    found: list[tuple[str, Evidence | None]] = []
    for value, one in product(values, evidence):
        ends = [f" ({name})" for name in (one.title, *one.path) if value.endswith(f" ({name})")]
        if any(_home(value.removesuffix(end), [one]) for end in ends):
            found.append((value, one))
    documents = {one.document for _, one in found if one}
    return found if 1 < len(values) == len(found) == len(documents) else []


def _home(value: str, evidence: Sequence[Evidence]) -> Evidence | None:
    """The first statement that says a value."""
    return next((one for one in evidence if one_line(value).casefold() in one_line(one.said).casefold()), None)


def _statement(item: Evidence, values: Sequence[str]) -> list[RenderableType]:
    """A statement, unless the values say all of it, and its place."""
    said = (line for line in item.said.splitlines() if one_line(line) not in map(one_line, values))
    shown = lines_of("\n".join(said), values)
    place = Text.assemble(_source(item), f"  {item.date}" if item.date else "")
    return [_Indented(line, 2) for line in (shown, place) if line]


def _source(item: Cited) -> Text:
    """The file of a statement, as a link if the terminal has links, and the line or page."""
    path = Path(item.source if Path(item.source).exists() else item.source.partition("#")[0])
    shown = plain(near(item.source) or item.title)
    if path.is_absolute():
        shown.stylize(Style(link=path.as_uri()))
    return Text.assemble(shown, plain(f", {item.place}" if item.place else ""), style="dim")


def _standing(item: Cited) -> Text:
    """Where a statement stands: its title and headings, date, file and place."""
    above = plain(" > ".join(filter(None, dict.fromkeys((item.title, *item.path)))), "magenta")
    return Text("  ").join(filter(None, (above, plain(item.date), _source(item))))


def _add_hop(tree: Tree, position: int, hop: Hop, evidence: Sequence[Evidence]) -> None:
    head = Text.assemble((f"hop {position + 1}  ", "bold cyan"), plain(hop.question))
    if hop.asked != hop.question:
        head.append("\n       asked: ").append_text(plain(hop.asked, "italic"))
    branch = tree.add(head)
    for item in evidence:
        sentence = lines_of(item.said, [hop.answer] if hop.answer else ())
        replaced = ("  replaced by what was said later", "dim") if item.replaced else ""
        branch.add(Text.assemble(_standing(item), replaced, "\n", sentence))
    if hop.answer is None:
        found = f"; {len(hop.hits)} pieces of text were found" if hop.hits else ""
        branch.add(Text(f"{hop.verdict.value}{found}", style="yellow"))
    else:
        doubt = ("  (unsupported: the citations do not say so)", "yellow")
        unsupported = hop.verdict is Verdict.UNSUPPORTED
        branch.add(Text.assemble("→ ", plain(hop.answer, "green"), *([doubt] if unsupported else [])))


def render_search(question: str, ranking: Ranking, sources: Mapping[str, str]) -> RenderableType:
    """The hits in their order, each with the share of the question's words that it says (words that few hits say weigh more).
    `sources` has the file of each document.
    """
    from hoptrail.language.closeness import Wording, asked_words
    from hoptrail.recipes.closest import MOST_SHOWN, excerpt_start
    from hoptrail.text.dates import unit_date
    from hoptrail.text.statements import statements_of

    if not ranking:
        return Text("Nothing was found.", style="yellow")
    hits = [(hit.unit, statements_of(hit.unit)) for hit in ranking]
    wording, asked = Wording(question, [said for _, statements in hits for said in statements]), asked_words(question)
    shown = []
    for unit, statements in hits:
        best = sorted(statements, key=lambda said: -wording.share(said))[:MOST_SHOWN]
        saying = [said for said in best if asked & content_stems(said.alone)] or best[:1]
        lines = sorted(saying, key=lambda said: said.start)
        block = lines[0].block if lines else None
        excerpts = []
        for line in (one.alone for one in lines):  # each is cut where it says most of the words that were asked
            start = excerpt_start(line, asked, EXCERPT)
            cut = "…" * (start + EXCERPT < len(line))
            excerpts.append(f"{'…' * (start > 0)}{line[start : start + EXCERPT]}{cut}")
        hit = Statement(
            *(unit.document, unit.title, 0, 0, unit.text, unit.id),
            path=lines[0].path if lines else unit.path,
            place=block.place if block else "",
            date=unit_date(unit),
            source=sources.get(unit.document, ""),
            said="\n".join(excerpts) or unit.text[:EXCERPT],
        )
        shown.append(render_source(f"{100 * wording.share(*statements):3.0f} %", hit, asked))
    return Group(*shown)


def render_contents(contents: Contents) -> RenderableType:
    """The documents of an index by folder, the files that were not read, and what is stored of them."""
    folders: dict[str, list[DocumentSummary]] = {}
    for document in contents.documents:
        source = next(iter(document.sources), "")
        folders.setdefault(near(source.removesuffix(file_name(source))), []).append(document)
    table = Table(box=None, pad_edge=False, show_header=False)
    left = SHOWN_DOCUMENTS
    for folder, documents in sorted(folders.items()):
        table.add_row(plain(folder or "./", "bold"), Text(number_of(len(documents), "document"), style="dim"))
        for document in sorted(documents, key=lambda one: one.title.casefold())[: max(left, 0)]:
            names = ", ".join(map(file_name, document.sources))
            table.add_row(Text.assemble("  ", plain(document.title, "magenta")), plain(names))
        left -= len(documents)
    usage, encoder = contents.usage, contents.encoder
    units = [number_of(count, kind.value) for kind, count in contents.units.items()]
    links = [f"{count:,} {kind}" for kind, count in contents.links.items()]
    cost = f"{usage.calls:,} calls, {usage.prompt_tokens + usage.completion_tokens:,} tokens, {usage.seconds:.1f} s"
    about = (f"{encoder.name} with {encoder.dimension} dimensions", f"format {contents.format}")
    unread = [plain(f"{near(path)}: {reason}") for path, reason in contents.unread.items()]
    if unread:
        head = Text(f"not read: {len(unread):,}", style="bold")
        unread = [head, *first_of(unread, SHOWN_DOCUMENTS, "; --json lists all")]
    return Group(
        Text(number_of(len(contents.documents), "document"), style="bold"),
        *([plain(contents.reached.line, "yellow")] if contents.reached else []),
        table,
        *and_more(-left, "; --json lists all"),
        *unread,
        Text(
            f"stored: {', '.join([*units, *links, *about])}; built: {', '.join(contents.structures) or 'nothing'}; cost: {cost}",
            style="dim",
        ),
    )


def render_document(document: Document) -> RenderableType:
    """A document as it was read: what is known of it, and its blocks with place and kind."""
    about = Table(box=None, show_header=False, pad_edge=False)
    date = f"{document.date} ({document.date_from})" if document.date else "none"
    sources = [("source", source) for source in document.sources]
    for name, value in (("title", document.title), ("id", document.id), *sources, ("date", date)):
        about.add_row(Text(name, style="bold"), plain(value))
    for note in document.notes:
        about.add_row(Text("note", style="bold"), plain(note))
    blocks = Table(box=None, pad_edge=False)
    for column in ("place", "block", "text"):
        blocks.add_column(column, overflow="fold")
    for block in document.blocks or (Block(BlockKind.PARAGRAPH, 0, len(document.text)),):
        cells = [(cell.header, document.text[cell.start : cell.end]) for cell in block.cells]
        row = "; ".join(f"{header}: {value}" if header else value for header, value in cells)
        date = "" if block.date == document.date else block.date
        kind = " ".join(filter(None, (block.kind, str(block.level or ""), date)))
        blocks.add_row(plain(block.place), kind, lines_of(row or document.text[block.start : block.end].strip("\n")))
    return Group(about, "", blocks)


def render_indexing(report: IndexingReport, *, verbose: bool = False) -> RenderableType:
    """What a run did, and its shortfalls. `verbose` names the skipped files."""
    changes = counted(
        (report.updated, "updated"),
        (report.moved, "moved"),
        (len(report.duplicates), "with the same text as another"),
        (report.removed, "removed because their source no longer has them"),
    )
    line = ", ".join([f"{number_of(report.added, 'document')} added", f"{report.unchanged:,} unchanged", *changes])
    line += f"; {report.documents:,} in the index."
    if number := len(report.failures):
        line += f" {number_of(number, 'document')} {'was' if number == 1 else 'were'} not read."
    lines: list[RenderableType] = [Text(line)]
    if report.usage.calls:
        lines.append(Text(f"{report.usage.calls:,} model calls: {_tokens(report.usage)}."))
    lines.append(render_shortfalls(report, verbose=verbose))
    if report.gone:
        one = report.gone == 1
        files = f"{number_of(report.gone, 'file')} {'is' if one else 'are'} gone"
        lines.append(Text(f"{files}; --sync removes {'it' if one else 'them'} from the index"))
    lines += [plain(f"not read now: {file}; an older reading is still in the index") for file in report.outdated]
    if report.outdated:
        lines.append(Text(f"--sync removes {'it' if len(report.outdated) == 1 else 'them'} from the index"))
    return Group(*lines)


def render_shortfalls(report: IndexingReport, *, verbose: bool = False) -> RenderableType:
    """Notes, skipped files and failures of a run. `verbose` names all skipped files."""
    left_out = [f"skipped: {path}: {reason}" for path, reason in report.left_out.items()]
    left_out += [f"same text as another document: {source}" for source in report.duplicates]
    listed = map(plain, left_out) if verbose else _left_out(report.left_out)
    return Group(*render_notes(report.notes), *listed, render_failures(report.failures))


def _left_out(files: Mapping[str, str]) -> list[Text]:
    """The number of skipped files by extension, and the names of those that the user or git leaves out."""
    skipped = [path for path, reason in files.items() if reason == NO_DOCUMENT]
    extensions = Counter(PurePosixPath(file).suffix.lower() or "without an extension" for file in skipped)
    listed = ", ".join(f"{number:,} {extension}" for extension, number in extensions.most_common(SHOWN_EXTENSIONS))
    more = ", …" if len(extensions) > SHOWN_EXTENSIONS else ""
    skip = f"{number_of(len(skipped), 'file')} skipped: {listed}{more}; --verbose names them"
    lines = [plain(skip)] if skipped else []
    for why in dict.fromkeys(reason for reason in files.values() if reason != NO_DOCUMENT):
        paths = [path for path, reason in files.items() if reason == why]
        hidden = len(paths) - SHOWN_EXTENSIONS
        more = f" and {hidden:,} more; --verbose names them" if hidden > 0 else ""
        lines.append(plain(f"{why}: {', '.join(paths[:SHOWN_EXTENSIONS])}{more}"))
    return lines


def render_notes(notes: Sequence[str]) -> list[Text]:
    """One line each; of many, only the first."""
    return first_of([Text.assemble(("note: ", "yellow"), plain(near(note))) for note in notes], SHOWN_NOTES, " notes")


def first_of(lines: Sequence[Text], most: int, what: str) -> list[Text]:
    """The first lines, and how many are left out, if any are."""
    return [*lines[:most], *and_more(len(lines) - most, what)]


def and_more(number: int, what: str) -> list[Text]:
    """How many lines are left out, if any are."""
    return [Text(f"and {number:,} more{what}", style="dim")] if number > 0 else []


def render_removed(documents: Sequence[Withdrawn]) -> list[Text]:
    """Whether each document was removed, now or before, or only some of its sources; and which files are still there."""
    lines = []
    for one in documents:
        lost, left = ", ".join(one.lost), ", ".join(one.left)
        said = f"removed: {one.title}" if one.id else f"was already removed: {one.title}"
        kept = f"no longer read from {lost}: {one.title}; it stays, because it was also read from {left}"
        lines.append(plain(kept if one.left else said))
    files = dict.fromkeys(
        near(file_of(source)) for one in documents for source in one.lost if Path(file_of(source)).is_file()
    )
    it = "it" if len(files) == 1 else "them"
    still = (
        f"still on disk, so the next `hoptrail index` of the folder reads {it} again: {', '.join(files)}. Delete {it} or "
        f"leave {it} out: `--exclude NAME`, a line in .gitignore, or the setting `exclude`"
    )
    return [*lines, plain(still)] if files else lines


def render_failures(failures: Sequence[DocumentError]) -> RenderableType:
    return Group(*(Text.assemble(("not read: ", "red"), plain(near(str(failure)))) for failure in failures))


def render_estimate(usage: Usage, settings: ChatSettings) -> RenderableType:
    from hoptrail.models.ledger import cost_of

    money = cost_of(usage.prompt_tokens, usage.completion_tokens, settings).money
    price = f"{money or 0:.6g} in money"
    if money is None and usage.calls:
        price = "of unknown price: prompt_price and completion_price under [chat] are not set"
    return Text(f"About {usage.calls:,} model calls, {_tokens(usage)}, {price}. Nothing was sent.")


def counted(*counts: tuple[int, str]) -> list[str]:
    """The counts that are not 0, each with what it counts."""
    return [f"{number:,} {what}" for number, what in counts if number > 0]


def render_ledger(replies: int, ledger: Ledger) -> RenderableType:
    """The number of replies written, and the sums of the ledger."""
    notes = counted(
        (ledger.unsettled, "without a reply, at their estimate"),
        (ledger.estimated - ledger.unsettled, "counted by us"),
        (ledger.unpriced, "of unknown price"),
    )
    spent = f"{ledger.calls:,} calls, {_tokens(ledger)}, {ledger.money:.6g} in money"
    return Text(f"{replies:,} replies. The ledger: {'; '.join([spent, *notes])}.")


def _tokens(spent: Usage | Ledger) -> str:
    return f"{spent.prompt_tokens:,} prompt and {spent.completion_tokens:,} completion tokens"
