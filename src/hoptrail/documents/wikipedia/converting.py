"""One page of a dump to what it is: an entity with its text and profile, a redirect, a disambiguation page, or nothing.

Knows no file and no other page. The text of an entity: paragraphs, list items and headings, each a line with an empty line
between, then the pairs of its infoboxes, `key: value`, in the same way; so a sentence never runs from one line into the next.
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

_NAMED = re.compile(r"\{\{\s*+([^{}|<>\[\]\n]{1,80})")
_PAGE_OF_NAMES = re.compile(
    r".*\((?:disambiguation|begriffsklärung|homonymie|desambiguación|disambigua|doorverwijspagina)\)"
)


@dataclass(frozen=True, slots=True)
class WikipediaSettings:
    """What is taken for what. Names are compared without case; those of other languages' wikis may be given.

    `disambiguation`: templates whose pages list namesakes. `disambiguation_documents`: make documents of such pages, too.
    `infoboxes`: how the names of infobox templates begin. `templates`: what further templates show, or those known show instead,
    as pairs of a name and a pattern (`templates.Pattern`; empty: nothing). `left_out_sections`: headings
    whose sections are no prose. A page whose wikitext is longer than `characters`, or takes longer than `seconds` of CPU time to
    convert, is named and left out.
    """

    disambiguation: tuple[str, ...] = (
        *(
            "disambiguation",
            "disambig",
            "disamb",
            "dab",
            "hndis",
            "geodis",
            "mil-unit-dis",
            "numberdis",
            "roaddis",
            "schooldis",
        ),
        *("callsigndis", "letter-number combination disambiguation", "disambiguation page"),
    )
    disambiguation_documents: bool = False
    infoboxes: tuple[str, ...] = (
        "infobox",
        "taxobox",
        "automatic taxobox",
        "speciesbox",
        "geobox",
        "drugbox",
        "chembox",
    )
    templates: tuple[tuple[str, str], ...] = ()
    left_out_sections: tuple[str, ...] = ("references", "external links", "further reading", "footnotes", "citations")
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
                    f"what the template {name!r} shows cannot be read: {pattern!r}. $1 stands for its first argument, ${{name}} "
                    "for a named one, and $$ for a dollar."
                )


class Form(StrEnum):
    """What a page turned out to be."""

    ENTITY = "entity"
    REDIRECT = "redirect"
    DISAMBIGUATION = "disambiguation"
    LEFT_OUT = "left out"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Converted:
    """A page, converted. `told`: where a redirect leads, or why a page is left out or cannot be used. `words` are those of
    `text`, counted as passages count them; both are empty where the page is no document. `dropped`: templates that showed
    nothing, and how often.
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
    """A page by its XML. Whatever is wrong with it is told in what is returned."""
    try:
        page = read_page(data, site)
        return _converted(page, site, settings)
    except Unreadable as refusal:
        return Converted(Form.FAULT, title_of(data), detail=str(refusal))


def _converted(page: Page, site: Site, settings: WikipediaSettings) -> Converted:
    if page.namespace != 0:
        return Converted(Form.LEFT_OUT, page.title, detail="in another namespace than articles")
    if page.redirect:
        return Converted(Form.REDIRECT, page.title, detail=page.redirect)
    if page.model != "wikitext":
        return Converted(Form.LEFT_OUT, page.title, detail=f"not wikitext but {page.model}")
    if len(page.text) > settings.characters:
        raise Unreadable(f"is longer than {settings.characters} characters")
    wikitext = without_unseen(page.text)
    listing = lists_namesakes(page.title, wikitext, settings)
    if listing and not settings.disambiguation_documents:
        return Converted(Form.DISAMBIGUATION, page.title)
    text, pairs, dropped = convert_text(wikitext, site, settings)
    if not text:
        form = Form.DISAMBIGUATION if listing else Form.LEFT_OUT
        return Converted(form, page.title, detail="without text", dropped=dropped)
    form = Form.DISAMBIGUATION if listing else Form.ENTITY
    return Converted(form, page.title, page.id, text, pairs, words_in(text), dropped=dropped)


def lists_namesakes(title: str, wikitext: str, settings: WikipediaSettings) -> bool:
    """Whether a page is a disambiguation page: by the end of its title, or by a template that it holds."""
    if _PAGE_OF_NAMES.fullmatch(title.lower()):
        return True
    names = _template_names(settings.disambiguation)
    return any(template_name(found[1]) in names for found in _NAMED.finditer(wikitext))


@lru_cache(maxsize=8)
def _template_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(template_name, names))


@lru_cache(maxsize=8)
def _templates(patterns: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {template_name(name): pattern for name, pattern in patterns}


def convert_text(
    wikitext: str, site: Site, settings: WikipediaSettings
) -> tuple[str, tuple[Pair, ...], tuple[tuple[str, int], ...]]:
    """The text of a document, the pairs whose lines it ends with, and the templates that showed nothing with their numbers;
    wikitext as `without_unseen` gives it.

    Raises:
        Unreadable: the parser gives up.
    """
    import mwparserfromhell

    left_out = frozenset(map(folded, settings.left_out_sections))
    infoboxes = _template_names(settings.infoboxes)
    renderer = Renderer(site, _templates(settings.templates))
    try:
        code = mwparserfromhell.parse(with_plain_links(wikitext), skip_style_tags=True)
        blocks = [one.text for one in without_sections(renderer.blocks(code), lambda name: folded(name) in left_out)]
        pairs = tuple(dict.fromkeys(infobox_pairs(code.nodes, renderer, infoboxes)))
    except Exception as error:  # a foreign parser on foreign text: whatever it raises costs this page only
        raise Unreadable(f"cannot be parsed ({type(error).__name__}: {error})"[:300]) from error
    lines = [f"{key}: {value}" for key, value in pairs]
    dropped = tuple((name, count) for name, count in renderer.dropped.items() if not is_infobox(name, infoboxes))
    return cleaned("\n\n".join([*blocks, *lines])).text, pairs, dropped
