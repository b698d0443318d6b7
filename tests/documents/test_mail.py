"""Hostile mails and files that are no mails: each is reported and affects no other."""

from __future__ import annotations

import base64
import struct
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from documents.block_lines import lines_of
from documents.file_makers import compound_file, word_file
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.child import Parsing
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.mail import parse_mail, parse_mbox
from hoptrail.documents.outlook import parse_msg

HEADER = "From: ada@example.org\nSubject: Lists\nDate: Tue, 5 Mar 2024 09:30:00 +0000\n"


def mail(*parts: tuple[str, bytes]) -> bytes:
    """A mail with a short text and these attachments: the rest of their header, and their content."""
    lines = [f'{HEADER}Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\nSee the lists.']
    for header, content in parts:
        encoded = base64.encodebytes(content).decode()
        lines.append(f"--b\n{header}\nContent-Transfer-Encoding: base64\n\n{encoded}")
    return "\n".join([*lines, "--b--\n"]).encode()


def attachment(name: str, content: bytes) -> tuple[str, bytes]:
    return f'Content-Type: application/octet-stream\nContent-Disposition: attachment; filename="{name}"', content


def headings(parsed: Parsed) -> list[str]:
    return [parsed.text[block.start : block.end].strip() for block in parsed.blocks if block.kind == "heading"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        (r"C:\\Windows\\notes.txt", "notes.txt"),
        ("=?utf-8?B?4oCuZ25wLnR4dA==?=", "gnp.txt"),
        ("  .hidden.txt", "hidden.txt"),
        ("a" * 500 + ".txt", "a" * 116 + ".txt"),
        ("..", "part 1"),
    ],
)
def test_hostile_names_are_cleaned(given: str, shown: str) -> None:
    text = "Content-Type: text/plain\n" + attachment(given, b"")[0].split("\n")[1]
    parsed = parse_mail(mail((text, b"Rope is sold.")), DEFAULT_LIMITS)
    assert headings(parsed) == [shown]
    assert parsed.text.endswith("Rope is sold.")


def test_a_bad_attachment_does_not_affect_the_others(tmp_path: Path) -> None:
    word = word_file(tmp_path / "a.docx", [("Heading 1", "Ports"), ("Normal", "It opened.")]).read_bytes()
    locked = (Path(__file__).parent / "refused" / "password.pdf").read_bytes()
    parts = [
        ("locked.pdf", locked),
        ("bad.docx", word[:-50]),
        ("odd.bin", b"\0\1"),
        ("rows.csv", b"a,b\n" * 9),
        ("a.docx", word),
    ]
    parsed = parse_mail(mail(*(attachment(*part) for part in parts)), ReadingLimits(rows=5))
    assert headings(parsed) == ["a.docx", "Ports"]
    assert [note.split(" (")[0] for note in parsed.notes] == [
        "attachment locked.pdf: is encrypted and needs a password: save it unencrypted",
        "attachment bad.docx: is not a Word file, or a damaged one",
        "attachment odd.bin: is of no known format",
        "attachment rows.csv: has more than 5 rows: split it, or raise the limit `rows`",
    ]


def test_mails_within_mails_are_read_to_a_limit() -> None:
    inner = f"{HEADER}\nThe bell is broken.".encode()
    for _ in range(6):
        inner = mail(attachment("inner.eml", inner))
    parsed = parse_mail(inner, DEFAULT_LIMITS)
    assert headings(parsed) == ["inner.eml"] * 3
    assert parsed.notes == ("attachment inner.eml: is a mail within 4 others, and was left out",)


def test_very_many_attachments() -> None:
    parsed = parse_mail(mail(*[attachment("a.txt", b"Rope.")] * 300), DEFAULT_LIMITS)
    assert len(headings(parsed)) == 200
    assert parsed.notes == ("attachments after the first 200 were left out",)


def test_very_deep_parts_affect_only_their_mail() -> None:
    deep = HEADER + "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(3000))
    with Parsing(ReadingLimits(parsing_seconds=20)) as parsing:
        with pytest.raises(Unreadable):
            parsing.parse("mail", f"{deep}Content-Type: text/plain\n\nDown here.".encode())
        assert parsing.parse("mail", f"{HEADER}\nAll is well.".encode()).text.endswith("All is well.")


def test_malformed_headers_and_encodings_are_read_as_far_as_possible() -> None:
    header = b"From: =?utf-8?B?A?=\nSubject: =?no-such-charset?Q?Gr=FC=DFe?=\nDate: yesterday\n"
    data = header + b"Content-Type: text/plain; charset=no-such\n\nCaf\xc3\xa9."
    parsed = parse_mail(data, DEFAULT_LIMITS)
    assert parsed.title == "=?no-such-charset?Q?Gr=FC=DFe?="
    assert parsed.text.endswith("Café.")
    assert parsed.date == ""


@pytest.mark.parametrize("data", [b"", b"just a text\n", b"\x00\x01", b"<html>"])
def test_files_that_are_no_mail(data: bytes) -> None:
    with pytest.raises(Unreadable, match="is not a mail"):
        parse_mail(data, DEFAULT_LIMITS)
    with pytest.raises(Unreadable, match="is not a file of mails"):
        parse_mbox(data, DEFAULT_LIMITS)


def test_more_mails_than_the_limit() -> None:
    single = f"From a Tue Mar  5 09:30:00 2024\n{HEADER}\nText.\n\n".encode()
    assert len(headings(parse_mbox(single * 3, ReadingLimits(rows=3)))) == 3
    with pytest.raises(Unreadable, match="holds more than 3 mails: split it, or raise the limit `rows`"):
        parse_mbox(single * 4, ReadingLimits(rows=3))


def alternative(plain: str, page: str) -> Parsed:
    parts = "".join(f"--b\nContent-Type: text/{kind}\n\n{text}\n" for kind, text in (("plain", plain), ("html", page)))
    head = f'{HEADER}Content-Type: multipart/alternative; boundary="b"\n\n'
    return parse_mail(f"{head}{parts}--b--\n".encode(), DEFAULT_LIMITS)


def test_the_page_is_read_where_the_plain_text_lacks_much_of_it() -> None:
    hidden, table = "<p hidden>Preheader</p>", "<table><tr><th>Balance<th>Due</tr><tr><td>812.40 euros<td>May</table>"
    page = f"{hidden}<p>Your statement is ready.</p>{table}"
    parsed = alternative("Your statement is ready.", page)
    assert parsed.text.endswith("Your statement is ready.\n\nBalance\tDue\n812.40 euros\tMay")
    assert parsed.notes == ("text that is not shown was left out",)
    assert (
        alternative("The balance is 812.40\n> Is it?", "<p>The balance is <b>812.40</b>, <a>unsubscribe</a></p>")
        .blocks[-1]
        .kind
        == "quote"
    )


def test_attachments_in_an_alternative_that_is_not_read_or_without_a_name_are_read() -> None:
    listed = "Content-Type: text/csv{}\n\ntree,year\nash,1871"
    page = "--c\nContent-Type: text/html\n\n<p>See the list.</p>"
    logo = '--c\nContent-Type: image/png; name="logo.png"\nContent-ID: <logo>\n\nx'
    mixed = f'Content-Type: multipart/mixed; boundary="c"\n\n{page}\n{logo}\n--c\n{listed.format("; name=trees.csv")}\n--c--'
    head = f'{HEADER}Content-Type: multipart/alternative; boundary="b"\n\n'
    apple = f"{head}--b\nContent-Type: text/plain\n\nSee the list.\n--b\n{mixed}\n--b--\n"
    head = f'{HEADER}Content-Type: multipart/related; boundary="c"\n\n'
    unnamed = f"{head}{page}\n--c\nContent-ID: <list>\n{listed.format('')}\n--c--\n"
    for written, name in ((apple, "trees.csv"), (unnamed, "part 1")):
        parsed = parse_mail(written.encode(), DEFAULT_LIMITS)
        assert parsed.text.endswith(f"See the list.\n\n{name}\n\ntree\tyear\nash\t1871"), parsed.text
        assert parsed.notes == ()


def test_a_mail_that_is_answered_is_a_quote_also_without_marks() -> None:
    head = "From: Nadia Orban <n@example.org>\nSent: 4 March 2024 10:00\nTo: Ada\nSubject: Audit"
    text = f"Fine.\n\n{head}\n\nThe audit is on Thursday."
    blocks = parse_mail(f"{HEADER}\n{text}".encode(), DEFAULT_LIMITS).blocks
    assert [block.kind for block in blocks] == ["row", "paragraph", "quote", "quote"]
    page = (
        f"X-Id:1\n{HEADER}Content-Type: text/html\n\n<p>Fine.</p><p>{head.replace(chr(10), '<br>')}</p><p>On Thursday."
    )
    blocks = parse_mail(page.encode(), DEFAULT_LIMITS).blocks
    assert [block.kind for block in blocks] == ["row", "paragraph", "quote", "quote"]
    letter = "From: the harbour\nTo: the town\n\nIt takes an hour."
    assert parse_mail(f"{HEADER}\n{letter}".encode(), DEFAULT_LIMITS).blocks[-1].kind == "paragraph"


def test_mails_that_an_editor_saved_as_utf_16_or_with_a_mark() -> None:
    letter = (
        f"{HEADER.replace('Lists', 'Låner')}Content-Type: text/plain; charset=us-ascii\n\nThe bell of Åmål is broken."
    )
    for encoding in ("utf-16", "utf-8-sig"):
        parsed = parse_mail(letter.encode(encoding), DEFAULT_LIMITS)
        assert parsed.title == "Låner"
        assert parsed.text.endswith("\n\nThe bell of Åmål is broken.")
        assert headings(parse_mbox(f"From a\n{letter}".encode(encoding), DEFAULT_LIMITS)) == ["Låner"]


def stored(head: int, *, sent: bool = True, **texts: str) -> dict[str, Any]:
    """The storage of a mail of Outlook: its texts by the numbers of their properties, and the day on which it was sent."""
    ticks = (date(2024, 3, 5) - date(1601, 1, 1)).days * 864_000_000_000
    properties = bytes(head) + struct.pack("<IIQ", 0x0039_0040, 0, ticks) * sent
    streams = {f"__substg1.0_{name[1:]}001F": text.encode("utf-16-le") for name, text in texts.items()}
    return {"__properties_version1.0": properties, **streams}


def test_mails_that_outlook_has_saved() -> None:
    inner = stored(24, sent=False, _0037="The bell", _1000="It is broken.")
    outer = stored(
        32, _0037="Lists", _0C1A="Ada Brun", _5D01="ada@example.org", _0E04="Odd Hale", _1000="See the lists."
    )
    files = {
        "__substg1.0_37010102": b"Rope;Price\nThin;4\nThick;9\n",
        "__substg1.0_3707001F": "a.csv".encode("utf-16-le"),
    }
    attached = {"__attach_#0": files, "__attach_#1": {"__substg1.0_3701000D": inner}}
    data = compound_file(outer | {"__substg1.0_10130102": b"<p>See the <b>lists</b>."} | attached)
    parsed = parse_msg(data, DEFAULT_LIMITS)
    assert (parsed.title, parsed.date, parsed.notes) == ("Lists", "2024-03-05", ())
    assert parsed.text.startswith(
        "From: Ada Brun <ada@example.org>\tTo: Odd Hale\tDate: 2024-03-05 00:00\tSubject: Lists"
    )
    assert parsed.text.endswith(
        "See the lists.\n\na.csv\n\nRope\tPrice\nThin\t4\nThick\t9\n\nThe bell\n\nSubject: The bell\n\nIt is broken."
    )
    only_rtf = stored(32, _0037="Lists") | {"__substg1.0_10090102": b"LZFu"}
    around = stored(32, _1013="<p>See <b>this</b>.") | {"__attach_#0": {"__substg1.0_3701000D": only_rtf}}
    for mail in (only_rtf, around):
        notes = parse_msg(compound_file(mail), DEFAULT_LIMITS).notes
        assert notes == ("text that is RTF was not read: save it as .eml",)
    assert "See this." in parse_msg(compound_file(around), DEFAULT_LIMITS).text  # a page that is stored as text
    for broken in (b"", compound_file({"WordDocument": b"See"}), data[:900], data[:2000] + bytes(400) + data[2400:]):
        with pytest.raises(Unreadable, match="is not a mail of Outlook"):
            parse_msg(broken, DEFAULT_LIMITS)


def parts(*parts: str, kind: str = "mixed") -> str:
    inside = "".join(f"--b\nContent-Type: {part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="b"\n\n{inside}'


@pytest.mark.parametrize(
    ("rest", "lines"),
    [
        (
            "\nYes.\n\n> quoted\n>> twice\n\nOn Tue, Bo wrote:\n> older\n\n-- \nAda\n",
            [
                "paragraph |  | text, line 1 | Yes.",
                "quote |  | text, line 3 | quoted",
                "quote |  | text, line 4 | twice",
                "paragraph |  | text, line 6 | On Tue, Bo wrote:",
                "quote |  | text, line 7 | older",
                "paragraph |  | text, line 9 | -- \\nAda",
            ],
        ),
        (
            "Content-Type: text/plain; format=flowed\n\nlong \nline \njoined\n\n> q \n> r\n",
            ["paragraph |  | text, line 1 | long line joined", "quote |  | text, line 5 | q r"],
        ),
        (
            "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\ncaf=E9 soft=\nwrap\n",
            ["paragraph |  | text, line 1 | café softwrap"],
        ),
        (
            "Content-Type: text/html\n\n<p>one<table><tr><th>a<th>b\n<tr><td>1<td>2</table>",
            [
                "paragraph |  | text, line 1 | one",
                "row header |  | text, line 1 | a ¦ b",
                "row |  | text, line 2 | a=1 ¦ b=2",
            ],
        ),
        (
            parts(
                "text/plain\n\ncut off", 'text/plain\nContent-Disposition: attachment; filename="a.txt"\n\nin a file'
            ),
            [
                "paragraph |  | text, line 1 | cut off",
                "heading 1 |  | attachment a.txt | a.txt",
                "paragraph | a.txt | attachment a.txt | in a file",
            ],
        ),
        (
            parts(
                "text/html\n\n<p>see",
                'application/json\nContent-Disposition: attachment; filename="=?utf-8?Q?=C3=A9.json?="\n\n[{"n": 1}]',
            ),
            [
                "paragraph |  | text, line 1 | see",
                "heading 1 |  | attachment é.json | é.json",
                "row | é.json | attachment é.json, record 1 | n=1",
            ],
        ),
        (
            parts("text/plain\n\n", "text/html\n\n<p>Only here", kind="alternative"),
            ["paragraph |  | text, line 1 | Only here"],
        ),
        (
            parts("text/plain\n\nsee", f"message/rfc822\n\n{HEADER}\ninner"),
            [
                "paragraph |  | text, line 1 | see",
                "heading 1 |  | attachment Lists | Lists",
                "row | Lists | attachment Lists, header | From=ada@example.org ¦ Date=2024-03-05 09:30 ¦ Subject=Lists",
                "paragraph | Lists | attachment Lists, text, line 1 | inner",
            ],
        ),
        (
            "\nשלום\n\n- א\n- ב\n",
            ["paragraph |  | text, line 1 | שלום", "item 1 |  | text, line 3 | א", "item 1 |  | text, line 4 | ב"],
        ),
        ("", []),
        (f"\n{'word ' * 3000}", [f"paragraph |  | text, line 1 | {('word ' * 3000).strip()}"]),
    ],
    ids=[
        *("replies", "flowed", "quoted-printable", "page", "attachment that is cut off", "encoded name"),
        *("empty text", "mail in a mail", "from right to left", "only a header", "long"),
    ],
)
def test_a_mail_is_read_as_its_reader_sees_it(rest: str, lines: list[str]) -> None:
    head = "row |  | header | From=ada@example.org ¦ Date=2024-03-05 09:30 ¦ Subject=Lists"
    expected = ["title: Lists", "date: 2024-03-05 (mail header)", head, *lines]
    assert lines_of("mail", f"{HEADER}{rest}") == expected
    assert lines_of("mail", f"{HEADER}{rest}".replace("\n", "\r\n")) == expected


def test_a_line_of_a_mailbox_that_begins_with_from_may_be_text() -> None:
    one = f"From a Tue Mar  5 09:30:00 2024\n{HEADER}\nFrom the start it was.\n>From the end.\n\n"
    assert [line.split(" | ", 1)[1] for line in lines_of("mbox", one * 2) if line.startswith("paragraph")] == [
        "Lists | mail 1, text, line 1 | From the start it was.\\nFrom the end. @2024-03-05",
        "Lists | mail 2, text, line 1 | From the start it was.\\nFrom the end. @2024-03-05",
    ]
