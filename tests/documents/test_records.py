"""Broken JSON and YAML files, files that would take all memory or time, and what reading leaves behind."""

from __future__ import annotations

import csv
import json

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.child import Parsing
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.records import parse_csv, parse_json, parse_xml, parse_yaml

ALIASES = "a0: &a0 [ha, ha]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


def json_refusal(data: bytes, limits: ReadingLimits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Unreadable) as raised:
        parse_json(data, limits)
    return str(raised.value)


def yaml_refusal(text: str, limits: ReadingLimits = DEFAULT_LIMITS) -> str:
    with pytest.raises(Unreadable) as raised:
        parse_yaml(text.encode(), limits)
    return str(raised.value)


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": 1', b"not json", b'{"a": 1}\nnot json\n'])
def test_files_that_are_not_json(data: bytes) -> None:
    assert "is not JSON (" in json_refusal(data)


def test_a_broken_line_among_lines_of_json_is_skipped() -> None:
    parsed = parse_json(b'{"port": "Foss"}\n{"port": \n{"port": "Holm"}\n', DEFAULT_LIMITS)
    assert parsed.text == "port: Foss\nport: Holm"
    assert parsed.notes == ("line 2 is not JSON and was left out",)


def test_deep_nesting() -> None:
    assert "nested too deep" in json_refusal(b"[" * 100_000 + b"]" * 100_000)
    assert "nested too deep" in yaml_refusal("[" * 600 + "]" * 600)


def test_more_records_than_the_limit() -> None:
    records = json.dumps([{"a": number} for number in range(4)]).encode()
    assert len(parse_json(records, ReadingLimits(rows=4)).blocks) == 4
    assert "more than 3 records: split it, or raise the limit `rows`" in json_refusal(records, ReadingLimits(rows=3))


def test_aliases_are_followed_to_a_limit() -> None:
    assert "gives more than 500 values" in yaml_refusal(ALIASES, ReadingLimits(rows=10))
    with Parsing(ReadingLimits(parsing_seconds=30, rows=1000)) as parsing, pytest.raises(Unreadable, match="values"):
        parsing.parse("yaml", ALIASES.encode())


def test_a_key_may_be_a_list_or_a_mapping() -> None:
    parsed = parse_yaml(b"? [Hull, Leith]\n: 120 miles\n? {from: Leith}\n: 90 miles\n1: 2\n", DEFAULT_LIMITS)
    assert parsed.text == "Hull, Leith: 120 miles\nfrom: Leith: 90 miles\n1: 2"


def test_an_alias_of_itself() -> None:
    assert yaml_refusal("a: &a [*a]")


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\tx: 1", "a: *nobody"])
def test_texts_that_are_not_yaml(text: str) -> None:
    assert "is not YAML (" in yaml_refusal(text)


def test_tags_construct_only_plain_values() -> None:
    assert parse_yaml(b'a: !!python/object/apply:os.system ["exit 1"]', DEFAULT_LIMITS).text == "a\n\nexit 1"


def test_values_stay_as_they_are_written() -> None:
    lines = ["name: Bergen", "country: NO", "code: 007", "berth: 12:30", "version: 1.10", "since: 1999-1-2", "on: yes"]
    assert parse_yaml("\n".join([*lines, "mayor: null", "crew: !!set {a, b}"]).encode(), DEFAULT_LIMITS).text == (
        "\n".join(lines) + "\n\ncrew\n\na\nb"
    )
    assert parse_json(b'{"version": 1.10, "mass": 1e3, "id": 12345678901234567890123}', DEFAULT_LIMITS).text == (
        "version: 1.10\nmass: 1e3\nid: 12345678901234567890123"
    )


def test_a_merged_mapping_of_yaml_is_part_of_the_record() -> None:
    parsed = parse_yaml(b"base: &base {port: Foss}\nship:\n  <<: *base\n  name: Aurora\n", DEFAULT_LIMITS)
    assert parsed.text == "base\n\nport: Foss\n\nship\n\nport: Foss\nname: Aurora"


def test_records_without_a_value_leave_nothing() -> None:
    assert parse_json(b'{"a": [[]], "b": [{}], "c": "Foss"}', DEFAULT_LIMITS).text == "c: Foss"


def test_reading_rows_leaves_other_readers_of_csv_their_limit() -> None:
    before = csv.field_size_limit()
    parse_csv(b"name,age\nAda,36\n", DEFAULT_LIMITS)
    assert csv.field_size_limit() >= before


def test_xml_expands_nothing_and_keeps_the_text_after_an_element() -> None:
    entities = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
    parsed = parse_xml(f"{entities}<a>One <i>two</i> &b;&c;three.<!-- no --></a><!-- no -->".encode(), DEFAULT_LIMITS)
    assert parsed.text == "One two &b;&c;three."
    assert parse_xml(b"<a><b>x</b> <b>y</b>\n</a>", DEFAULT_LIMITS).text == "b\n\nx\ny"
    assert parse_xml(f"\n{entities}<a><b n='1'>&b;</b><c>ha</c></a>".encode(), DEFAULT_LIMITS).text.endswith(
        "text: &b;"
    )
    for page, text in (
        ('<a><b text="x">y</b></a>', "b\n\ntext: x, y"),
        ('<a title="A"><title>B</title></a>', "title\n\nA\nB"),
        ("<a><b>A List&lt;String&gt; of a &lt;b and c&gt; d</b></a>", "b: A List<String> of a <b and c> d"),
        (
            '<a><b type="html">&lt;p&gt;Oars &lt;b&gt;dry&lt;/b&gt;.&lt;/p&gt;</b></a>',
            "b\n\ntype: html\ttext: Oars dry.",
        ),
        ('<a><data encoding="base64">iVBORw0KGgo=</data><binary id="n">iVBO</binary><c>1</c></a>', "c: 1"),
    ):
        assert parse_xml(page.encode(), DEFAULT_LIMITS).text.endswith(text)
    for data, reason in ((b"", "is not XML"), (b"<a><b></a>", "is not XML"), (b"<a>" * 9000, "not XML|nested")):
        with pytest.raises(Unreadable, match=reason):
            parse_xml(data, DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("form", "text", "lines"),
    [
        (
            "json",
            '[{"id": 7, "at": {"x": [1, {"y": "z"}]}, "none": null, "empty": ""}, {"id": false}]',
            ["row |  | record 1 | id=7 ¦ at.x.1=1 ¦ at.x.2.y=z", "row |  | record 2 | id=false"],
        ),
        (
            "json",
            '{"quay": {"title": "Quay", "built": 1850}, "told": "It burnt.\\nIt stands.", "n": 1.10}',
            [
                "row |  | n | n=1.10",
                "heading 1 |  | quay | quay",
                "row | quay | quay.title | title=Quay",
                "row | quay | quay.built | built=1850",
                "heading 1 |  | told | told",
                "paragraph | told | told | It burnt.\\nIt stands.",
            ],
        ),
        (
            "json",
            '{"a": 1}\n\n{"a": {"b": 2}}\n{"a":',
            ["note: line 4 is not JSON and was left out", "row |  | record 1 | a=1", "row |  | record 2 | a.b=2"],
        ),
        ("json", '\ufeff{"\\u05e9": "שלום"}', ["row |  | ש | ש=שלום"]),
        (
            "json",
            '[{"name": "Ada", "phone": "111", "phone": "222"}, {"x": {"a": 1}, "x": 2}]',
            ["row |  | record 1 | name=Ada ¦ phone=111, 222", "row |  | record 2 | x.1.a=1 ¦ x.2=2"],
        ),
        (
            "yaml",
            "a: &a {b: 1}\nd:\n- {c: 1, c: 2}\n- {<<: *a, b: 3}\n",
            [
                "heading 1 |  | a | a",
                "row | a | a.b | b=1",
                "heading 1 |  | d | d",
                "row | d | d, record 1 | c=1, 2",
                "row | d | d, record 2 | b=3",
            ],
        ),
        (
            "json",
            '[{"name": "Ada", "told": {"on": "May 3", "text": "It burnt.\\nIt stands."}}, {"name": "Bo"}]',
            [
                "heading 1 |  | record 1 | Ada",
                "row | Ada | record 1 | name=Ada ¦ told.on=May 3",
                "paragraph | Ada | record 1, told.text | It burnt.\\nIt stands.",
                "heading 1 |  | record 2 | Bo",
                "row | Bo | record 2 | name=Bo",
            ],
        ),
        ("json", '["a", 2]', ["item 1 |  | record 1 | a", "item 1 |  | record 2 | 2"]),
        ("json", "[[1, 2], [3]]", ["row |  | record 1 | 1, 2", "row |  | record 2 | 3"]),
        (
            "yaml",
            "a: NO\nb: 007\nc: ~\nd: 2024-03-05\n",
            ["row |  | a | a=NO", "row |  | b | b=007", "row |  | d | d=2024-03-05"],
        ),
        (
            "yaml",
            "told: |\n  One.\n  Two.\nof:\n- a\n- b: c\n",
            [
                "heading 1 |  | told | told",
                "paragraph | told | told | One.\\nTwo.",
                "heading 1 |  | of | of",
                "item 1 | of | of, record 1 | a",
                "row | of | of, record 2 | b=c",
            ],
        ),
        ("yaml", "# nothing\n", []),
        (
            "xml",
            '<r><a n="1">x</a><a>y<b>z</b> w</a><e/><c><![CDATA[1 < 2]]> &amp; &#233;</c></r>',
            [
                "row |  | c | c=1 < 2 & é",
                "heading 1 |  | a | a",
                "row | a | a, record 1 | n=1 ¦ text=x",
                "item 1 | a | a, record 2 | yz w",
            ],
        ),
        (
            "csv",
            "Name,Town\nAda,Bern\nBo\nCy,Basel,extra\n",
            [
                "row header |  | row 1 | Name ¦ Town",
                "row |  | row 2 | Name=Ada ¦ Town=Bern",
                "row |  | row 3 | Name=Bo",
                "row |  | row 4 | Name=Cy ¦ Town=Basel ¦ extra",
            ],
        ),
        (
            "csv",
            "Datum;Betrag\r\n05.03.2024;1.234,50\r\n",
            [
                "row header |  | row 1 | Datum ¦ Betrag",
                "row |  | row 2 | Datum=05.03.2024 ¦ Betrag=1.234,50",
            ],
        ),
        ("csv", "\ufeffשם,עיר\nעדה,ברן\n", ["row header |  | row 1 | שם ¦ עיר", "row |  | row 2 | שם=עדה ¦ עיר=ברן"]),
        ("csv", ",,\n,,\n\n", []),
        ("csv", f"a,b\n{'x' * 5000},y\n", ["row header |  | row 1 | a ¦ b", f"row |  | row 2 | a={'x' * 5000} ¦ b=y"]),
    ],
)
def test_records_have_their_place_and_each_value_its_key(form: str, text: str, lines: list[str]) -> None:
    assert lines_of(form, text) == lines


@pytest.mark.parametrize(
    ("elements", "lines"),
    [
        (
            '<item sku="A1" price="3.20">Brass hinge</item>',
            ["row | item | item | sku=A1 ¦ price=3.20 ¦ text=Brass hinge"],
        ),
        (
            '<item sku="A1">Brass <b>hinge</b></item><item sku="A2">Bolt</item>',
            [
                "row | item | item, record 1 | sku=A1 ¦ text=Brass hinge",
                "row | item | item, record 2 | sku=A2 ¦ text=Bolt",
            ],
        ),
        (
            '<item>Hinge<price in="EUR">3.20</price><left>14</left></item><item>Bolt\n <left>2</left>\n</item>',
            [
                "row | item | item, record 1 | text=Hinge ¦ price.in=EUR ¦ price.text=3.20 ¦ left=14",
                "row | item | item, record 2 | text=Bolt ¦ left=2",
            ],
        ),
        ("<item>Hinge<br/>of brass</item>", ["paragraph | item | item | Hinge\\nof brass"]),
        (
            '<item id="1"><div xmlns="http://www.w3.org/1999/xhtml">It<p class="x">is <i>old</i>.</p></div></item>',
            [
                "row | item | item.id | id=1",
                "heading 2 | item | item.div | div",
                "paragraph | item > div | item.div | It\\n\\nis old.",
            ],
        ),
    ],
    ids=["text", "marked-up text", "elements beside the text", "line break", "page"],
)
def test_an_element_has_its_attributes_and_elements_beside_its_text(elements: str, lines: list[str]) -> None:
    assert lines_of("xml", f"<r>{elements}</r>") == ["heading 1 |  | item | item", *lines]


def test_a_page_in_xml_has_its_title_and_headings() -> None:
    page = "<head><title>Tides</title></head><body><h1>Foss</h1><p>High at noon.</p></body>"
    assert lines_of("xml", f'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">{page}</html>') == [
        "title: Tides",
        "heading 1 |  | line 2 | Foss",
        "paragraph | Foss | line 2 | High at noon.",
    ]
