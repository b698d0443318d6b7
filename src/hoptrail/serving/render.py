"""Output for a terminal: the trail as a tree with the answer marked in each sentence, and tables for the rest.

Text from documents and models is never markup, and loses its control characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from hoptrail.documents.file_contents import NO_DOCUMENT
from hoptrail.errors import DocumentError
from hoptrail.index.contract import FAILED, GUESSED, NOTHING_FOUND, UNSETTLED
from hoptrail.serving.answer_text import one_line
from hoptrail.text.dates import unit_date
from hoptrail.types import Answer, AnswerKind, Evidence, Hop, Ranking, Statement, Usage, Verdict

if TYPE_CHECKING:
    from hoptrail.corpus.register import Withdrawn
    from hoptrail.evaluation.reports import EvaluationReport
    from hoptrail.index.contents import Contents
    from hoptrail.index.syncing import IndexingReport
    from hoptrail.models.chat import ChatSettings
    from hoptrail.models.spending import Ledger
    from hoptrail.serving.doctor import Check

SHOWN_DOCUMENTS = 50
SHOWN_NOTES = 20
SHOWN_EXTENSIONS = 8
EXCERPT = 240


def plain(text: str, style: str = "") -> Text:
    """Text without markup on one line, with a space for anything unprintable (escape sequences, line breaks)."""
    return Text(one_line(text), style=style)


def _lines(text: str, between: str = "\n") -> Text:
    """The lines of a text that say something, each as `plain`."""
    return Text(between).join(plain(line) for line in text.splitlines() if line.strip())


def render_answer(answer: Answer) -> RenderableType:
    """What was really asked, the answer, the statement that supports it with its place, then the trail. Of several questions each
    has its own answer.
    """
    notes = [plain(note, "yellow") for note in answer.notes]
    if answer.kind is AnswerKind.REPLY:
        return plain(answer.text or "")
    asked = [] if answer.asked == answer.question or answer.parts else [plain(f"Asked: {answer.asked}", "italic")]
    heads: list[RenderableType] = [*asked, *_conclusion(answer)]
    if answer.parts:
        heads = [line for one in answer.parts for line in (plain(one.asked, "bold"), *_conclusion(one), Text())][:-1]
    tree = Tree(plain(answer.question, "bold"), guide_style="dim")
    for position, hop in enumerate(answer.trail):
        _add_hop(tree, position, hop, [item for item in answer.evidence if item.hop == position])
    usage = answer.usage
    spent = f", {usage.calls} calls, {usage.prompt_tokens + usage.completion_tokens} tokens" if usage.calls else ""
    footer = Text(f"recipe {answer.recipe}, language {answer.language}, {usage.seconds:.2f} s{spent}", style="dim")
    return Group(*notes, *heads, Text(), tree, footer)


def _settling(text: str, items: Sequence[str], evidence: Sequence[Evidence]) -> list[RenderableType]:
    """The statement that contains an answer or a guess, from the evidence of its last hop, and its place."""
    if not evidence:
        return []
    last = [item for item in evidence if item.hop == evidence[-1].hop]
    current = [one for one in last if not one.replaced] or last
    item = next((one for one in current if text.casefold() in one.text.casefold()), current[0])
    sentence = _lines(item.said)
    found = items if len(items) > 1 else (text,)
    sentence.highlight_words([plain(one).plain for one in found], "bold green", case_sensitive=False)
    replaced = [
        plain(f"replaces what was said {f'in {one.date}' if one.date else 'before'}: {one.said}", "dim")
        for one in last
        if one.replaced
    ]
    shown = (sentence, Text.assemble(_source(item), *[f"  {item.date}"] * bool(item.date)), *replaced)
    return [Padding(line, (0, 0, 0, 2)) for line in shown]


def _source(item: Evidence | Statement) -> Text:
    """The file of a statement, as a link if the terminal has links, and the line or page."""
    path = Path(item.source if Path(item.source).exists() else item.source.partition("#")[0])
    shown = plain(item.source.removeprefix(f"{Path.cwd().as_posix()}/") or item.title)
    if path.is_absolute():
        shown.stylize(Style(link=path.as_uri()))
    return Text.assemble(shown, plain(f", {item.place}" if item.place else ""), style="dim")


def _conclusion(answer: Answer) -> list[RenderableType]:
    """The answer with its confidence, one line per item, and its statement; or that there is none, with the guess and the
    closest statements.
    """
    if answer.text is not None:
        sure = "" if answer.confidence is None else f"  ({answer.certainty}, confidence {answer.confidence:.2f})"
        if len(answer.items) < 2:
            head = Text.assemble(("Answer: ", "bold"), plain(answer.text, "bold green"), (sure, "dim"))
            return [head, *_settling(answer.text, answer.items, answer.evidence)]
        ordered = answer.kind is AnswerKind.STEPS
        marks = [f"  {number}. " if ordered else "  - " for number in range(1, len(answer.items) + 1)]
        items = [Text.assemble(mark, plain(item, "green")) for mark, item in zip(marks, answer.items, strict=True)]
        number = f"{len(items)} {'steps' if ordered else 'items'}"
        head = Text.assemble(("Answer: ", "bold"), (number, "bold green"), (sure, "dim"))
        return [head, *items, *_settling(answer.text, answer.items, answer.evidence)]
    if answer.failed:
        head = Text(FAILED, style="red")
    elif answer.guess:
        sure = f"  (a guess, confidence {answer.guess.confidence:.2f})"
        guess = Text.assemble((one_line(GUESSED.format(answer.guess.text)), "yellow"), (sure, "dim"))
        settling = _settling(answer.guess.text, (), answer.guess.evidence)
        return [guess, *settling, Text("Closest:"), *map(_closest, answer.closest)]
    else:
        head = Text(UNSETTLED if answer.closest else NOTHING_FOUND, style="yellow")
    return [head, *map(_closest, answer.closest)]


def _closest(statement: Statement) -> Text:
    """A statement below where it stands; each row or item on a line."""
    return Text.assemble("  ", _standing(statement), "\n  ", _lines(statement.said, between="\n  "))


def _standing(item: Evidence | Statement) -> Text:
    """Where a statement stands: its title and headings, date, file and place."""
    above = plain(" > ".join(filter(None, dict.fromkeys((item.title, *item.path)))), "magenta")
    return Text("  ").join(filter(None, (above, plain(item.date), _source(item))))


def _add_hop(tree: Tree, position: int, hop: Hop, evidence: Sequence[Evidence]) -> None:
    head = Text.assemble((f"hop {position + 1}  ", "bold cyan"), plain(hop.question))
    if hop.asked != hop.question:
        head.append("\n       asked: ").append_text(plain(hop.asked, "italic"))
    branch = tree.add(head)
    for item in evidence:
        sentence = _lines(item.said)
        if hop.answer:
            sentence.highlight_words([plain(hop.answer).plain], "bold green", case_sensitive=False)
        replaced = ("  replaced by what was said later", "dim") if item.replaced else ""
        branch.add(Text.assemble(_standing(item), replaced, "\n", sentence))
    if hop.answer is None:
        found = f"; {len(hop.hits)} units were found" if hop.hits else ""
        branch.add(Text(f"{hop.verdict.value}{found}", style="yellow"))
    else:
        doubt = ("  (unsupported: the citations do not say so)", "yellow")
        unsupported = hop.verdict is Verdict.UNSUPPORTED
        branch.add(Text.assemble("→ ", plain(hop.answer, "green"), *([doubt] if unsupported else [])))


def render_ranking(ranking: Ranking) -> RenderableType:
    """One row per hit."""
    if not ranking:
        return Text("Nothing was found.", style="yellow")
    table = Table(box=None, pad_edge=False)
    for column in ("score", "channel", "title", "date", "text"):
        table.add_column(column, justify="right" if column == "score" else "left", overflow="fold")
    for hit in ranking:
        rows = any(block.cells for block in hit.unit.blocks)
        text = _lines(hit.unit.readable) if rows else plain(hit.unit.text)
        text.truncate(EXCERPT, overflow="ellipsis")
        title, date = plain(hit.unit.title, "magenta"), unit_date(hit.unit)
        table.add_row(f"{hit.score:.4g}", hit.channel, title, date, text)
    return table


def render_contents(contents: Contents) -> RenderableType:
    """A summary of an index, and its first documents."""
    summary = Table(box=None, show_header=False, pad_edge=False)
    encoder = contents.encoder
    units = ", ".join(f"{count:,} {kind.value}" for kind, count in contents.units.items()) or "none"
    links = ", ".join(f"{count:,} {kind}" for kind, count in contents.links.items()) or "none"
    usage = contents.usage
    cost = f"{usage.calls} calls, {usage.prompt_tokens + usage.completion_tokens} tokens, {usage.seconds:.1f} s"
    for name, value in (
        ("format", str(contents.format)),
        ("encoder", f"{encoder.name}, {encoder.dimension} dimensions"),
        ("structures", ", ".join(contents.structures) or "none"),
        ("units", units),
        ("links", links),
        ("cost", cost),
        ("documents", f"{len(contents.documents):,}"),
        *([("state", contents.reached.line)] if contents.reached else []),
    ):
        summary.add_row(Text(name, style="bold"), plain(value))
    documents = Table(box=None, pad_edge=False)
    for column in ("id", "title", "passages", "source"):
        documents.add_column(column, overflow="fold")
    for document in contents.documents[:SHOWN_DOCUMENTS]:
        sources = ", ".join(document.sources)
        documents.add_row(document.id, plain(document.title, "magenta"), str(document.passages), plain(sources))
    return Group(summary, documents, *_more(len(contents.documents)), *_unread(contents.unread))


def _unread(files: Mapping[str, str]) -> list[Text]:
    """The files that were not read, with the reasons."""
    if not files:
        return []
    lines = [plain(f"{path}: {reason}") for path, reason in list(files.items())[:SHOWN_DOCUMENTS]]
    return [Text(f"not read: {len(files):,}", style="bold"), *lines, *_more(len(files))]


def _more(number: int) -> list[Text]:
    hidden = number - SHOWN_DOCUMENTS
    return [Text(f"and {hidden:,} more; --json lists all", style="dim")] if hidden > 0 else []


def render_indexing(report: IndexingReport, *, verbose: bool = False) -> RenderableType:
    """What a run did, and its shortfalls. `verbose` names the skipped files."""
    changes = counted(
        (report.updated, "updated"),
        (report.moved, "moved"),
        (len(report.duplicates), "with the same text as another"),
        (report.removed, "removed because their source no longer has them"),
    )
    line = ", ".join([f"{report.added:,} documents added", f"{report.unchanged:,} unchanged", *changes])
    line += f"; {report.documents:,} in the index."
    if report.failures:
        number = len(report.failures)
        line += " 1 document was not read." if number == 1 else f" {number:,} documents were not read."
    lines: list[RenderableType] = [Text(line)]
    if (spent := report.usage).calls:
        tokens = f"{spent.prompt_tokens:,} prompt and {spent.completion_tokens:,} completion tokens"
        lines.append(Text(f"{spent.calls:,} model calls: {tokens}."))
    lines.append(render_shortfalls(report, verbose=verbose))
    if report.gone:
        files = "1 file is gone" if report.gone == 1 else f"{report.gone:,} files are gone"
        lines.append(Text(f"{files}; --sync removes {'it' if report.gone == 1 else 'them'} from the index"))
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
    number = "1 file" if len(skipped) == 1 else f"{len(skipped):,} files"
    lines = [plain(f"{number} skipped: {listed}{more}; --verbose names them")] if skipped else []
    for why in dict.fromkeys(reason for reason in files.values() if reason != NO_DOCUMENT):
        paths = [path for path, reason in files.items() if reason == why]
        hidden = len(paths) - SHOWN_EXTENSIONS
        more = f" and {hidden:,} more; --verbose names them" if hidden > 0 else ""
        lines.append(plain(f"{why}: {', '.join(paths[:SHOWN_EXTENSIONS])}{more}"))
    return lines


def render_notes(notes: Sequence[str]) -> list[Text]:
    """One line each; of many, only the first."""
    lines = [Text.assemble(("note: ", "yellow"), plain(note)) for note in notes[:SHOWN_NOTES]]
    hidden = len(notes) - SHOWN_NOTES
    return lines + ([Text(f"and {hidden} more notes", style="dim")] if hidden > 0 else [])


def render_withdrawn(document: Withdrawn) -> Text:
    """Whether a document was removed, now or before, or only some of its sources."""
    if not document.id:
        return plain(f"was already removed: {document.title}")
    if not document.left:
        return plain(f"removed: {document.title}")
    lost, left = ", ".join(document.lost), ", ".join(document.left)
    return plain(f"no longer read from {lost}: {document.title}; it stays, because it was also read from {left}")


def render_failures(failures: Sequence[DocumentError]) -> RenderableType:
    """One line per document that could not be read."""
    return Group(*(Text.assemble(("not read: ", "red"), plain(str(failure))) for failure in failures))


def render_estimate(usage: Usage, settings: ChatSettings) -> RenderableType:
    """The estimated cost of indexing."""
    from hoptrail.models.spending import cost_of

    money = cost_of(usage.prompt_tokens, usage.completion_tokens, settings).money
    price = "of unknown price: prompt_price and completion_price under [chat] are not set"
    return Text(
        f"About {usage.calls:,} model calls, {usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion "
        f"tokens, {price if money is None and usage.calls else f'{money or 0:.6g} in money'}. Nothing was sent."
    )


def counted(*counts: tuple[int, str]) -> list[str]:
    """The counts that are not 0, each with what it counts."""
    return [f"{number:,} {what}" for number, what in counts if number > 0]


def failures(report: EvaluationReport) -> list[Text]:
    """A line per failed question, with the reason; of many, only the first."""
    lines = [
        plain(f"failed: {name}, question {question}: {reason}")
        for name, recipe in report.recipes
        for question, reason in recipe.failures
    ]
    hidden = len(lines) - SHOWN_NOTES
    return lines[:SHOWN_NOTES] + ([Text(f"and {hidden:,} more; --work keeps them all")] if hidden > 0 else [])


def render_ledger(replies: int, ledger: Ledger) -> RenderableType:
    """The number of replies written, and the sums of the ledger."""
    tokens = f"{ledger.prompt_tokens:,} prompt and {ledger.completion_tokens:,} completion tokens"
    notes = counted(
        (ledger.unsettled, "without a reply, at their estimate"),
        (ledger.perhaps, "of them perhaps never sent"),
        (ledger.estimated - ledger.unsettled, "counted by us"),
        (ledger.unpriced, "of unknown price"),
    )
    spent = f"{ledger.calls:,} calls, {tokens}, {ledger.money:.6g} in money"
    return Text(f"{replies:,} replies. The ledger: {'; '.join([spent, *notes])}.")


def render_check(check: Check) -> RenderableType:
    """One result of `hoptrail doctor`."""
    state = ("works  ", "green") if check.works else ("fails  ", "red" if check.needed else "yellow")
    line = Text.assemble(state, (f"{check.what}: ", "bold"), plain(check.says))
    return Text.assemble(line, "\n       ", plain(check.advice)) if check.advice else line


def share(value: float | None) -> str:
    """A share with three decimals; - for none."""
    return "-" if value is None else f"{value:.3f}"
