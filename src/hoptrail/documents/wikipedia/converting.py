"""Converts one page of a dump into an entity with text and profile, a redirect, a disambiguation page, or nothing.

The text of an entity has its paragraphs, list items and headings, and then the pairs of its infoboxes as `key: value`. Each is a
line with an empty line between, so that no sentence runs from one into the next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from hoptrail.documents.decoding import Unreadable, cleaned
from hoptrail.documents.limits import MIB
from hoptrail.documents.wikipedia.dump import title_of
from hoptrail.documents.wikipedia.infobox import Pair, infobox_pairs, is_infobox
from hoptrail.documents.wikipedia.markup import Renderer, with_plain_links, without_sections, without_unseen
from hoptrail.documents.wikipedia.page import Page, Site, read_page
from hoptrail.documents.wikipedia.templates import Pattern, template_name
from hoptrail.errors import UsageError
from hoptrail.text.normal_forms import folded
from hoptrail.text.words import words_in

_TEMPLATE = re.compile(r"\{\{\s*+([^{}|<>\[\]\n]{1,80})")
_DISAMBIGUATION_TITLE = re.compile(
    r".*\((?:disambiguation|begriffsklärung|homonymie|desambiguación|disambigua|doorverwijspagina)\)"
)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


@dataclass(frozen=True, slots=True)
class WikipediaSettings:
    """Settings for a wiki. Names are compared without case; wikis in other languages need other names.

    `disambiguation`: templates whose pages list namesakes. `disambiguation_documents`: make documents of such pages as well.
    `infoboxes`: beginnings of the names of infobox templates. `templates`: the text that further templates show, or known ones
    instead of their default, as pairs of a name and a pattern (`templates.Pattern`; empty: nothing). `left_out_sections`:
    headings whose sections are not prose. A page whose wikitext is longer than `characters`, or that takes more than `seconds`
    of CPU time to convert, is reported and left out.

    Raises:
        UsageError: a number is below 1, a name is empty, or a pattern is invalid.
    """

    disambiguation: tuple[str, ...] = _names(
        "disambiguation, disambig, disamb, dab, hndis, geodis, mil-unit-dis, numberdis, roaddis, schooldis, callsigndis, "
        "letter-number combination disambiguation, disambiguation page"
    )
    disambiguation_documents: bool = False
    infoboxes: tuple[str, ...] = _names("infobox, taxobox, automatic taxobox, speciesbox, geobox, drugbox, chembox")
    templates: tuple[tuple[str, str], ...] = ()
    left_out_sections: tuple[str, ...] = _names("references, external links, further reading, footnotes, citations")
    characters: int = 4 * MIB
    seconds: int = 20

    def __post_init__(self) -> None:
        if min(self.characters, self.seconds) < 1:
            raise UsageError("characters and seconds are at least 1")
        if not all(map(str.strip, (*self.disambiguation, *self.infoboxes, *self.left_out_sections))):
            raise UsageError("a name of a template or section is empty")
        for name, pattern in self.templates:
            if not name.strip() or not Pattern(pattern).is_valid():
                raise UsageError(
                    f"the pattern of the template {name!r} is invalid: {pattern!r}. $1 stands for its first argument, ${{name}} "
                    "for a named one, and $$ for a dollar."
                )


class Form(StrEnum):
    """The kind of a page."""

    ENTITY = "entity"
    REDIRECT = "redirect"
    DISAMBIGUATION = "disambiguation"
    LEFT_OUT = "left out"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted page.

    `detail`: the target of a redirect, or the reason why a page is left out or faulty. `words`: the length of `text` as
    `words_in` counts it; both are empty if the page is no document. `dropped`: templates that showed nothing, with counts.
    """

    form: Form
    title: str
    id: str = ""
    text: str = ""
    pairs: tuple[Pair, ...] = ()
    words: int = 0
    detail: str = ""
    dropped: tuple[tuple[str, int], ...] = ()


def convert(data: bytes, site: Site, settings: WikipediaSettings) -> Converted:
    """Convert a page from its XML. Errors become a result of the form `FAULT`."""
    try:
        return _convert_page(read_page(data, site), site, settings)
    except Unreadable as refusal:
        return Converted(Form.FAULT, title_of(data), detail=str(refusal))


def _convert_page(page: Page, site: Site, settings: WikipediaSettings) -> Converted:
    if page.namespace != 0:
        return Converted(Form.LEFT_OUT, page.title, detail="in another namespace than articles")
    if page.redirect:
        return Converted(Form.REDIRECT, page.title, detail=page.redirect)
    if page.model != "wikitext":
        return Converted(Form.LEFT_OUT, page.title, detail=f"not wikitext but {page.model}")
    if len(page.text) > settings.characters:
        raise Unreadable(f"is longer than {settings.characters} characters")
    wikitext = without_unseen(page.text)
    listing = _lists_namesakes(page.title, wikitext, settings)
    if listing and not settings.disambiguation_documents:
        return Converted(Form.DISAMBIGUATION, page.title)
    text, pairs, dropped = convert_text(wikitext, site, settings)
    form = Form.ENTITY if text else Form.LEFT_OUT
    form = Form.DISAMBIGUATION if listing else form
    if not text:
        return Converted(form, page.title, detail="without text", dropped=dropped)
    return Converted(form, page.title, page.id, text, pairs, words_in(text), dropped=dropped)


def _lists_namesakes(title: str, wikitext: str, settings: WikipediaSettings) -> bool:
    """Whether a page is a disambiguation page, by the end of its title or by one of its templates."""
    if _DISAMBIGUATION_TITLE.fullmatch(title.lower()):
        return True
    names = _template_names(settings.disambiguation)
    return any(template_name(match[1]) in names for match in _TEMPLATE.finditer(wikitext))


@lru_cache(maxsize=8)
def _template_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(template_name, names))


@lru_cache(maxsize=8)
def _templates(patterns: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {template_name(name): pattern for name, pattern in patterns}


def convert_text(
    wikitext: str, site: Site, settings: WikipediaSettings
) -> tuple[str, tuple[Pair, ...], tuple[tuple[str, int], ...]]:
    """Convert wikitext, as `without_unseen` returns it.

    Returns the text of the document, the pairs of its infoboxes, and the templates that showed nothing with their counts.

    Raises:
        Unreadable: the parser failed.
    """
    import mwparserfromhell

    left_out = frozenset(map(folded, settings.left_out_sections))
    infoboxes = _template_names(settings.infoboxes)
    renderer = Renderer(site, _templates(settings.templates))
    try:
        code = mwparserfromhell.parse(with_plain_links(wikitext), skip_style_tags=True)
        sections = without_sections(renderer.blocks(code), lambda name: folded(name) in left_out)
        blocks = [block.text for block in sections]
        pairs = tuple(dict.fromkeys(infobox_pairs(code.nodes, renderer, infoboxes)))
    except Exception as error:  # an external parser on untrusted text: any error costs this page only
        raise Unreadable(f"cannot be parsed ({type(error).__name__}: {error})"[:300]) from error
    lines = [f"{key}: {value}" for key, value in pairs]
    dropped = tuple((name, count) for name, count in renderer.dropped.items() if not is_infobox(name, infoboxes))
    return cleaned("\n\n".join([*blocks, *lines])).text, pairs, dropped
