"""The hits of a search for a terminal: file, place, and the lines that say most of the question's words."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from hoptrail.language.closeness import Wording, asked_words
from hoptrail.recipes.closest import MOST_SHOWN, excerpt_start
from hoptrail.serving.render import EXCERPT, render_source
from hoptrail.text.dates import unit_date
from hoptrail.text.statements import statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Ranking, Statement


def render_search(question: str, ranking: Ranking, sources: Mapping[str, str]) -> RenderableType:
    """The hits in their order, each with the share of the question's words that it says (words that few hits say weigh more).
    `sources` has the file of each document.
    """
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
        # Each line is cut where it says most of the words that were asked.
        cuts = [
            (one.alone, start, start + EXCERPT) for one in lines for start in [excerpt_start(one.alone, asked, EXCERPT)]
        ]
        excerpts = [f"{'…' * (a > 0)}{line[a:b]}{'…' * (b < len(line))}" for line, a, b in cuts]
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
