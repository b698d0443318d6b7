"""One page of a dump, and what the dump says of its wiki: parsed by expat through defusedxml, any document type refused.

Of several revisions the last counts. Wikitext is not understood here, save for a redirect in dumps too old to mark it.
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
    """A wiki: its namespaces (number, name in lower case), and whether titles begin with a capital whatever is written."""

    namespaces: tuple[tuple[int, str], ...] = ((FILE, "file"), (FILE, "image"), (CATEGORY, "category"))
    capitals: bool = True

    def namespace_of(self, title: str) -> int:
        """By the part before the colon; 0 for articles."""
        prefix, colon, _ = title.partition(":")
        name = squeeze(prefix.replace("_", " ")).lower()
        return next((number for number, known in self.namespaces if colon and known == name), 0)

    def title(self, written: str) -> str:
        """The title that a link means: without section and underscores, with its capital."""
        title = squeeze(written.partition("#")[0].replace("_", " ")).lstrip(": ")
        return title[:1].upper() + title[1:] if self.capitals else title


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its last text. `redirect` is the title that it leads to, empty if it leads nowhere."""

    title: str
    id: str
    namespace: int
    model: str
    redirect: str
    text: str


def read_site(header: bytes) -> Site:
    """What the beginning of a dump says of its wiki; the usual names where it says nothing.

    Raises:
        Unreadable: it says it in XML that is broken.
    """
    found = _SITE.search(header)
    if not found:
        return Site()
    element = _parsed(found[0])
    named = [(int(one.get("key", "0")), (one.text or "").lower()) for one in element.iter("namespace")]
    known = (*Site().namespaces, *((number, name) for number, name in named if name))
    return Site(tuple(dict.fromkeys(known)), (element.findtext("case") or "first-letter") == "first-letter")


def read_page(data: bytes, site: Site) -> Page:
    """A page by its XML.

    Raises:
        Unreadable: it is not well-formed, or has no title.
    """
    element = _parsed(data)
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
    marked = element.find("redirect")
    if marked is not None and (title := marked.get("title")):
        return site.title(title)
    old = marked is not None or text.lstrip()[:9].upper() == "#REDIRECT"
    found = _REDIRECT.match(text) if old else None
    return site.title(found[1]) if found else ""


def _parsed(data: bytes) -> Element:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        element: Element = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Unreadable(f"is not well-formed XML ({error})") from error
    return element
