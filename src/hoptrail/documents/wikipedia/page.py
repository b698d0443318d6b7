"""Parses one page of a dump, and the description of its wiki, with expat through defusedxml; document types are refused.

Of several revisions the last counts. Wikitext is read only for redirects, in dumps too old to mark them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from hoptrail.documents.decoding import Unreadable, cleaned
from hoptrail.text.normal_forms import squeeze

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

FILE, CATEGORY = 6, 14
"""Numbers of namespaces, the same in every wiki."""

_SITE = re.compile(rb"<siteinfo>.*?</siteinfo>", re.DOTALL)
_REDIRECT = re.compile(r"\s*#[^\W\d]+\s*:?\s*\[\[([^\[\]|]+)")


@dataclass(frozen=True, slots=True)
class Site:
    """A wiki: its namespaces (number, name in lower case), and whether all titles begin with a capital."""

    namespaces: tuple[tuple[int, str], ...] = ((FILE, "file"), (FILE, "image"), (CATEGORY, "category"))
    capitals: bool = True

    def namespace_of(self, title: str) -> int:
        """The number of the namespace before the colon; 0 for articles."""
        prefix, colon, _ = title.partition(":")
        name = squeeze(prefix.replace("_", " ")).lower()
        return next((number for number, known in self.namespaces if colon and known == name), 0)

    def title(self, written: str) -> str:
        """The title that a link leads to: without section and underscores, with a capital if the wiki has it."""
        title = squeeze(written.partition("#")[0].replace("_", " ")).lstrip(": ")
        return title[:1].upper() + title[1:] if self.capitals else title


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its latest text. `redirect` is the title that it redirects to, or empty."""

    title: str
    id: str
    namespace: int
    model: str
    redirect: str
    text: str


def read_site(header: bytes) -> Site:
    """Read the description of the wiki from the beginning of a dump; the default names if there is none.

    Raises:
        Unreadable: its XML is broken.
    """
    match = _SITE.search(header)
    if not match:
        return Site()
    element = _parse_xml(match[0])
    declared = [(int(space.get("key", "0")), (space.text or "").lower()) for space in element.iter("namespace")]
    known = (*Site().namespaces, *((number, name) for number, name in declared if name))
    return Site(tuple(dict.fromkeys(known)), (element.findtext("case") or "first-letter") == "first-letter")


def read_page(data: bytes, site: Site) -> Page:
    """Read a page from its XML.

    Raises:
        Unreadable: it is not well-formed, or has no title.
    """
    element = _parse_xml(data)
    title = squeeze(cleaned(element.findtext("title") or "").text)
    if not title:
        raise Unreadable("has no title")
    number = element.findtext("ns")
    revisions = element.findall("revision")
    text = (revisions[-1].findtext("text") if revisions else None) or ""
    return Page(
        title=title,
        id=element.findtext("id") or title,
        namespace=int(number) if number and number.strip().lstrip("-").isdigit() else site.namespace_of(title),
        model=(revisions[-1].findtext("model") if revisions else None) or "wikitext",
        redirect=_redirect(element, text, site),
        text=text,
    )


def _redirect(element: Element, text: str, site: Site) -> str:
    mark = element.find("redirect")
    if mark is not None and (title := mark.get("title")):
        return site.title(title)
    is_redirect = mark is not None or text.lstrip()[:9].upper() == "#REDIRECT"
    match = _REDIRECT.match(text) if is_redirect else None
    return site.title(match[1]) if match else ""


def _parse_xml(data: bytes) -> Element:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        element: Element = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Unreadable(f"is not well-formed XML ({error})") from error
    return element
