"""Output for a terminal: what an index holds, and a document as it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hoptrail.serving.render import and_more, lines_of, near, number_of, plain
from hoptrail.types import Block, BlockKind, Document
from hoptrail.types.sources import file_name

if TYPE_CHECKING:
    from hoptrail.index.contents import Contents, DocumentSummary

SHOWN_DOCUMENTS = 50


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
    kept = ", ".join(
        [*units, *links, f"{encoder.name} with {encoder.dimension} dimensions", f"format {contents.format}"]
    )
    unread = [plain(f"{near(path)}: {reason}") for path, reason in contents.unread.items()]
    if unread:
        head = Text(f"not read: {len(unread):,}", style="bold")
        unread = [head, *unread[:SHOWN_DOCUMENTS], *and_more(len(unread) - SHOWN_DOCUMENTS, "; --json lists all")]
    return Group(
        Text(number_of(len(contents.documents), "document"), style="bold"),
        *([plain(contents.reached.line, "yellow")] if contents.reached else []),
        table,
        *and_more(-left, "; --json lists all"),
        *unread,
        Text(f"stored: {kept}; built: {', '.join(contents.structures) or 'nothing'}; cost: {cost}", style="dim"),
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
