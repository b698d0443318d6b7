"""The dump of a small wiki, written for the tests: towns, bridges, and the oddities of real pages."""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice

SITE = """  <siteinfo>
    <sitename>Tallow</sitename>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-1" case="first-letter">Special</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
HEADER = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n{SITE}'
END = "</mediawiki>\n"


def page(
    title: str, text: str, number: int = 1, namespace: int | None = 0, redirect: str = "", model: str = "wikitext"
) -> str:
    """The XML of a page."""
    place = "" if namespace is None else f"    <ns>{namespace}</ns>\n"
    lead = f'    <redirect title="{escape(redirect)}" />\n' if redirect else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n{place}    <id>{number}</id>\n{lead}    <revision>\n"
        f'      <model>{model}</model>\n      <text xml:space="preserve">{escape(text)}</text>\n'
        "    </revision>\n  </page>\n"
    )


def redirect(title: str, target: str, number: int = 900) -> str:
    return page(title, f"#REDIRECT [[{target}]]", number, redirect=target)


def dump_of(pages: Iterable[str], header: str = HEADER, end: str = END) -> bytes:
    return (header + "".join(pages) + end).encode()


BRIDGE = """{{Short description|Bridge}}
<!-- a comment with {{Infobox bridge | name = Wrong}} -->
{{Infobox bridge
| bridge_name = Tallow Bridge
| image = Tallow.jpg
| image_size = 250px
| designer = [[Orla Finch|Orla Finch]]<ref name="a">{{cite book|title=Bridges}}</ref>
| crosses = {{ubl|[[Isk (river)|Isk]]|{{nowrap|the old canal}}}}
| length = {{convert|90|m|ft}}
| begun = {{start date|1869|5}}
| opened = {{Start date|1871|7|9|df=y}}
| owner =
| label1 = Toll
| data1 = none<br />since 1902
| module = {{Infobox weir | height = 3 m }}
}}
The '''Tallow Bridge''' ({{IPA|x}}; built 1871) spans the [[harbour]] of [[Dunmere]].<ref>A missing end
tag: <ref name=b>{{cite web|url=http://x}}</ref> It was designed by [[Orla Finch]],
a ''civil'' engineer.

{| class="wikitable"
|-
! Year !! Load
{| inner
| nested
|}
| 1871 || 40
|}
== History ==
[[Datei:Tallow.jpg|thumb|The bridge in [[winter]]]]
The first stone was laid in 1869 &mdash; by '''''hand'''''.
* Opened in 1871
* Closed in 1902 by {{lang|fr|la guerre}}
=== Empty ===
{{main|Other}}
== References ==
{{reflist}}
* Smith, ''Bridges''
== Elsewhere ==
[http://example.org The site] and [http://example.org]
[[Kategorie:Bridges]]
[[de:Talgbrücke]]
"""

BRIDGE_TEXT = """The Tallow Bridge (built 1871) spans the harbour of Dunmere.A missing end tag: It was designed by Orla Finch, \
a civil engineer.

History

The first stone was laid in 1869 — by hand.

Opened in 1871

Closed in 1902 by la guerre

Elsewhere

The site and

Bridge name: Tallow Bridge

Designer: Orla Finch

Crosses: Isk, the old canal

Length: 90 m

Begun: May 1869

Opened: 9 July 1871

Toll: none, since 1902

Height: 3 m"""

RIVER = """{{Infobox river
| name = Isk
| source = Grey Hills
| mouth = Dunmere
}}
The '''Isk''' is a river. It rises in the Grey Hills."""

SONG = "{{infobox song|name=Isk|artist=Nell Harrow}}\n'''Isk''' is a song. Nell Harrow sang it in a barn."

FINCH = """{{Infobox person
| name = Orla Finch
| birth_date = {{birth date|1840|2|3}}
| birth_place = [[Wrenmouth]]
| occupation = {{plainlist|
* engineer
* painter
}}
}}
'''Orla Finch''' was an engineer."""

PAGES = [
    redirect("Tallow Crossing", "Tallow Bridge", 1),
    redirect("The Crossing", "Tallow Crossing", 2),
    page("Tallow Bridge", BRIDGE, 3),
    page("Talk:Tallow Bridge", "Is it old?", 4, namespace=1),
    page("Isk", "'''Isk''' may be:\n* [[Isk (river)]]\n* [[Isk (song)]]\n{{disambiguation}}", 5),
    page("Isk (river)", RIVER, 6),
    page("Isk (song)", SONG, 7),
    page("Orla Finch", FINCH, 8),
    redirect("O. Finch", "Orla Finch", 9),
    redirect("Nowhere", "A page that is not there", 10),
    redirect("Round", "And round", 11),
    redirect("And round", "Round", 12),
    page("Finch", "'''Finch''' may be [[Orla Finch]].\n{{hndis|name=Finch}}", 13),
    page("Wrenmouth", "'''Wrenmouth''' is a market town. It stands on a hill.", 14),
    page("Data", '{"a": 1}', 15, model="json"),
    page("Blank", "{{stub}}", 16),
    page("Wrenmouth (disambiguation)", "Ships called Wrenmouth.", 17),
]

HOSTILE = {
    "braces": "{{" * 20_000,
    "arguments": "{{a|" * 12_000,
    "links": "[[" * 20_000,
    "tables": "{|\n" * 20_000,
    "tags": "<div>" * 5_000,
    "comments": "<!--" * 20_000,
    "references": "<ref>" * 20_000,
    "quotes": "'" * 60_000,
    "nested": "{{a|" * 3_000 + "x" + "}}" * 3_000,
    "headings": "=" * 30_000,
    "control": "\x1e1\ufeff\u200e" * 1000,
}


def made_pages(count: int) -> Iterator[str]:
    """Redirects, towns with infoboxes, disambiguation pages, villages, and every hundredth page hostile."""
    hostile = [text for name, text in HOSTILE.items() if name not in {"arguments", "nested"}]
    for number in range(count):
        if number % 100 == 3:
            yield page(f"Odd {number}", "'''Odd'''. " + hostile[number // 100 % len(hostile)][:9000], number)
        elif number % 10 == 0:
            yield redirect(f"Old town {number}", f"Town {number + 1}", number)
        elif number % 10 == 1:
            box = f"{{{{Infobox town|name=T{number}|river=[[Isk]]}}}}"
            yield page(f"Town {number}", f"{box}\n'''It''' is a town.", number)
        elif number % 10 == 2:
            yield page(f"Name {number}", "May be:\n* [[Town 1]]\n{{disambiguation}}", number)
        else:
            yield page(f"Village {number}", f"A village with {number} inhabitants. " * 5, number)


def packed(pages: Iterable[str], size: int = 3) -> bytes:
    """A multistream dump: the header, runs of pages, the end, each in a stream of its own."""
    run = iter(pages)
    runs = iter(lambda: "".join(islice(run, size)), "")
    return b"".join(bz2.compress(part.encode()) for part in (HEADER, *runs, END))
