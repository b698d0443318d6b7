"""Wikitext becomes text and profile, including the errors of real pages."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from documents.wikipedia.small_wiki import BRIDGE, BRIDGE_TEXT, HEADER, page
from hoptrail.documents.wikipedia import converting
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings, convert, convert_text
from hoptrail.documents.wikipedia.markup import with_plain_links, without_unseen
from hoptrail.documents.wikipedia.page import read_site
from hoptrail.errors import UsageError
from hoptrail.structures.profile_file import ProfileLine
from hoptrail.text.sentences import sentence_ends
from hoptrail.text.words import words_in

SITE = read_site(HEADER.encode())
SETTINGS = WikipediaSettings()


def convert_wikitext(text: str, title: str = "Isk", settings: WikipediaSettings = SETTINGS) -> Converted:
    return convert(page(title, text).encode(), SITE, settings)


def test_a_page_with_nearly_everything() -> None:
    result = convert_wikitext(BRIDGE, "Tallow Bridge")
    assert result.text == BRIDGE_TEXT
    assert (result.form, result.words) == (Form.ENTITY, words_in(BRIDGE_TEXT))


def test_every_pair_is_a_line_and_a_sentence_of_the_text() -> None:
    result = convert_wikitext(BRIDGE, "Tallow Bridge")
    ends = (0, *sentence_ends(result.text))
    sentences = [result.text[start:end].strip() for start, end in pairwise(ends)]
    lines = list(ProfileLine("Tallow Bridge", result.pairs).pairs)
    assert len(lines) == 8
    assert sentences[-8:] == lines


PROSE = [
    ("'''Bold''', ''italic'', ''''quoted'''' and it's", "Bold, italic, 'quoted' and it's"),
    ("One\nline, wrapped.\n\nAnother.", "One line, wrapped.\n\nAnother."),
    ("Of [[Isk (river)|the Isk]] and [[:Datei:A.jpg]]s", "Of the Isk and Datei:A.jpgs"),
    ("A[[File:x.jpg|thumb|with [[link]]]][[Image:y.png]][[Kategorie:Z]][[fr:Isk]]B", "AB"),
    ("A&nbsp;river&#58; 5&lt;6 &#9999999999; &unknown; end", "A river: 5<6 &#9999999999; &unknown; end"),
    ("Isk ({{IPA|x}}, {{audio|y}}) rises", "Isk rises"),
    ("Isk ({{IPA|x}}; a brook) rises {{citation needed}}.", "Isk (a brook) rises."),
    ("90 {{unknown|{{nested|{{deep}}}}}}km", "90 km"),
    ("It is {{convert|90|km|mi}} long, {{cvt|5|to|7|m}} deep", "It is 90 km long, 5 to 7 m deep"),
    ("Born {{birth date and age|1840|2|3}} and {{as of|2001}}", "Born 3 February 1840 and As of 2001"),
    (
        "(born {{circa|1815}}, {{circa}} 1816 or {{c.|1817|1820}}; {{fl.|1840}}, {{floruit|1841|1843}})",
        "(born c. 1815, c. 1816 or c. 1817 – c. 1820; fl. 1840, fl. 1841–1843)",
    ),
    (
        "The {{ship|HMS|Foss|1815|6}} and {{Ship||Arden}} cost {{US$|5 million|link=yes}}",
        "The HMS Foss and Arden cost US$5 million",
    ),
    ("{{frac|2}}, {{frac|3|4}}, {{Fraction|5|3|4}} miles", "1/2, 3/4, 5 3/4 miles"),
    (
        "She said:{{quote|Never [[again]].|Ada}}Then {{Blockquote|text=It sank.|author=Ada}}",
        "She said:\n\nNever again.\n\nThen\n\nIt sank.",
    ),
    ("A{{{argument|default}}}B{{{none}}}", "AdefaultB"),
    ("<nowiki>[[not a link]]</nowiki> <math>x^2</math><!-- no -->!x", "[[not a link]] !x"),
    ("H<sub>2</sub>O <br> next<blockquote>said</blockquote>after", "H2O\n\nnext\n\nsaid\n\nafter"),
    ("; Term\n: Its meaning\n# One\n## Two\nAfter", "Term\n\nIts meaning\n\nOne\n\nTwo\n\nAfter"),
    ("== A ==\n=== B ===\nText.\n== C ==\n", "A\n\nB\n\nText."),
    ("Text.\n== External links ==\n* x\n=== Of these ===\n* y\n== D ==\nMore.", "Text.\n\nD\n\nMore."),
    ("__NOTOC__Text __TOC__", "Text"),
    # what is not closed, closed twice, or nested wrongly
    ("Before {{unclosed | a = b\n\nAfter.", "Before unclosed | a = b\n\nAfter."),
    ("Before [[unclosed and after.", "Before unclosed and after."),
    ("Before ]] and }} after.", "Before and after."),
    ("Before <ref>unclosed and after.", "Before unclosed and after."),
    ("Before </ref> after.", "Before after."),
    ("One<ref name=a>first <ref>second</ref> two<ref name=a />.", "Onefirst two."),
    ("Before <!-- unclosed and after.", "Before"),
    ("Before --> after.", "Before after."),
    ("Before <div class=x>and <b>after.", "Before and after."),
    ("Before\n{| class=x\n| cell\n\n== Heading ==\nAfter.", "Before\n\nHeading\n\nAfter."),
    ("Before\n|}\nAfter.", "Before\n\nAfter."),
    ("{|\n|{{t\n|}}\n| cell\n|}\nAfter.", "After."),
    ("'''Unclosed bold and ''italic.", "Unclosed bold and italic."),
    ("<table><tr><td>cell</td></tr></table>After.", "After."),
    ("火は[[水]]より強い。", "火は水より強い。"),
]


@pytest.mark.parametrize(("wikitext", "text"), PROSE, ids=[row[0][:40] for row in PROSE])
def test_prose(wikitext: str, text: str) -> None:
    assert convert_wikitext(wikitext).text == text


LINKS = [
    ("of [[Wrenmouth]] and [[Isk (river)|the Isk]]s", "of Wrenmouth and the Isks"),
    ("{{ubl|[[A]]|[[B|c]]}}", "{{ubl|A|c}}"),
    ("'[[Isk]]'s hills", "'Isk's hills"),
    *((unchanged, unchanged) for unchanged in (
        "[[File:x.jpg|thumb]] [[de:Isk]] [[http://isk.org]] [[:Category:Isk]]",
        "[[Isk|''the'' Isk]] [[Isk|a & b]] [[Isk|a=b]] [[|Isk]] [[Isk|]] [[Isk|a|b]]",
        "[[*a]] [[Isk|#b]] http://x.org/[[Isk]] [[[Isk]]] [[Isk",
        "<nowiki>[[Isk]]</nowiki> [[Isk]]",
        "{{{1|[[Isk]]}}}",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("wikitext", "text"), LINKS)
def test_links_with_only_words_become_these_words(wikitext: str, text: str) -> None:
    assert with_plain_links(wikitext) == text


PARTS = (
    *("[[Isk]]", "[[Isk (river)|the Isk]]", "[[a|b's]]", "[[", "]]", "|", "{{", "}}", "{{ubl|", "{{Infobox a|b="),
    *("''", "'", " ", "\n", "== H ==", "* ", "<b>", "</b>", "<br>", "(", ")", ", ", ".", "word", "[[File:x.jpg|"),
)


def test_the_result_does_not_depend_on_when_links_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolving links before parsing gives the same text as the parser, among any markup, even broken markup."""
    random = Random(6)
    texts = [without_unseen("".join(random.choices(PARTS, k=8))) for _ in range(400)]
    before = [convert_text(text, SITE, SETTINGS) for text in texts]
    monkeypatch.setattr(converting, "with_plain_links", str)
    assert before == [convert_text(text, SITE, SETTINGS) for text in texts]


INFOBOXES = [
    ("{{Infobox a|birth_place=[[Wrenmouth]], by the sea|empty=|Area_km2 = 5}}x",
     ["Birth place: Wrenmouth, by the sea", "Area km2: 5"]),
    ("{{infobox_river\n|source={{hlist|A|[[B]]|{{nowrap|C}}}}}}x", ["Source: A, B, C"]),
    ("{{Settlement infobox|mayor=Nell<br/>Finch}}x", ["Mayor: Nell, Finch"]),
    ("{{Infobox a|image=x.jpg|map_caption=m|text_color=red|cover=y.PNG|altitude=5|spouse={{marriage|Ann|1860|1870}}}}x",
     ["Altitude: 5", "Spouse: Ann (1860–1870)"]),
    ("{{Infobox|label2=Built|data2=1871|data3=unlabelled|header1=Head}}x", ["Built: 1871"]),
    ("{{Infobox a|x=1}}{{Infobox b|x=1|y=2}}x", ["X: 1", "Y: 2"]),
    ("{{Infobox a|key=a{{!}}b <ref>no</ref>&ndash; c}}x", ["Key: a|b – c"]),
    ("{{box|a=1}}x", []),
    ("{{Infobox a|site={{URL|example.org}}|born={{birth date|soon}}|died={{death date and age|1900|13|1|1840|1|1}}}}x",
     ["Site: example.org", "Born: soon", "Died: 1900"]),
]  # fmt: skip


@pytest.mark.parametrize(("wikitext", "lines"), INFOBOXES, ids=[row[0][:40] for row in INFOBOXES])
def test_infoboxes(wikitext: str, lines: list[str]) -> None:
    result = convert_wikitext(wikitext)
    assert [f"{key}: {value}" for key, value in result.pairs] == lines
    assert result.text.split("\n\n") == ["x", *lines]


def test_other_languages_name_their_templates() -> None:
    settings = WikipediaSettings(infoboxes=("ficha de",), disambiguation=("Homonimia_Larga",))
    assert convert_wikitext("{{Ficha de río|nombre=Isk}}x", settings=settings).pairs == (("Nombre", "Isk"),)
    assert convert_wikitext("{{homonimia larga}}x", settings=settings).form is Form.DISAMBIGUATION
    assert convert_wikitext("{{disambiguation}}x", settings=settings).form is Form.ENTITY


FORMS = [
    ("Isk", "x{{Disambiguation|geo}}", Form.DISAMBIGUATION),
    ("Isk", "x{{ hndis }}", Form.DISAMBIGUATION),
    ("Isk (disambiguation)", "x", Form.DISAMBIGUATION),
    ("Isk", "It is<!-- {{dab}} --> one{{disambiguation needed}}.", Form.ENTITY),
    ("Isk", "{{stub}}", Form.LEFT_OUT),
    ("Isk", "", Form.LEFT_OUT),
]


@pytest.mark.parametrize(("title", "text", "form"), FORMS)
def test_forms_of_pages(title: str, text: str, form: Form) -> None:
    result = convert_wikitext(text, title)
    assert (result.form, result.title, bool(result.text)) == (form, title, form is Form.ENTITY)


def test_a_disambiguation_page_becomes_a_document_on_request() -> None:
    result = convert_wikitext("* [[Isk (river)]]{{dab}}", settings=WikipediaSettings(disambiguation_documents=True))
    assert (result.form, result.text) == (Form.DISAMBIGUATION, "Isk (river)")


def test_faulty_pages_have_a_reason() -> None:
    long = convert_wikitext("x" * 101, settings=WikipediaSettings(characters=100))
    assert (long.form, long.detail) == (Form.FAULT, "is longer than 100 characters")
    broken = convert(b"<page><title>Q &amp; A</title><text></page>", SITE, SETTINGS)
    assert (broken.form, broken.title) == (Form.FAULT, "Q & A")
    for wrong in ({"seconds": 0}, {"characters": 0}, {"infoboxes": (" ",)}):
        with pytest.raises(UsageError):
            WikipediaSettings(**wrong)


@pytest.mark.parametrize(
    "part",
    ["<ref>", "</ref>", "<ref", "<!--", "-->", "{|\n", "|}\n", "<ref>{|\n<!--", "[[", "[[a", "[[a|", "[[a|b]", "a"],
)
def test_removing_hidden_parts_takes_linear_time(part: str) -> None:
    text = part * (2_000_000 // len(part))
    with_plain_links(without_unseen(text))  # a quadratic pattern takes longer than a test may
    with_plain_links(text)


def test_deep_nesting_is_survived() -> None:
    result = convert_wikitext("Start. " + "{{a|" * 200 + "x" + "}}" * 200 + "[[b|" * 200 + "]]" * 200 + " End.")
    assert result.form is Form.ENTITY
    assert result.text.startswith("Start.")
    assert result.text.endswith("End.")
