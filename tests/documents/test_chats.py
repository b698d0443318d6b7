"""Chats and subtitles apart from their blocks (see `blocks/chat`): days in every order, odd messages, captions that roll."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.chats import is_chat, is_chat_json, parse_subtitles
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable


def messages(form: str, content: str) -> list[str]:
    """Place and text of each message."""
    shown = (line.split(" | ", 3) for line in lines_of(form, content) if line.startswith("paragraph"))
    return [f"{place}: {text.partition(' @2024')[0]}" for _, _, place, text in shown]


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (("05/03/2024, 09:30 - Ada: a", "06/03/2024, 00:05 - Ada: b"), ("5 March 2024, 09:30", "6 March 2024, 00:05")),
        (("3/5/24, 09:30 - Ada: a", "3/14/24, 10:05 - Ada: b"), ("5 March 2024, 09:30", "14 March 2024, 10:05")),
        (("3/5/24, 9:30 AM - Ada: a", "3/14/24, 12:05 AM - Ada: b"), ("5 March 2024, 09:30", "14 March 2024, 00:05")),
        (("3/5/24, 9:30 pm - Ada: a", "3/6/24, 12:30 PM - Ada: b"), ("5 March 2024, 21:30", "6 March 2024, 12:30")),
        (
            ("[2024-03-05, 09:30:11] Ada: a", "[2024-03-06, 9:31:11] Ada: b"),
            ("5 March 2024, 09:30", "6 March 2024, 09:31"),
        ),
        (("05.03.24, 09:30 - Ada: a", "14.03.24, 09.31 - Ada: b"), ("5 March 2024, 09:30", "14 March 2024, 09:31")),
        (
            ("2024년 3월 5일 오후 6:05, Ada : a", "2024년 3월 6일 오전 12:05, Ada : b"),
            ("5 March 2024, 18:05", "6 March 2024, 00:05"),
        ),
    ],
)
def test_all_days_of_a_chat_tell_the_order_of_day_and_month(lines: Sequence[str], days: Sequence[str]) -> None:
    shown = [line.partition(": ")[2].partition(": ")[0] for line in messages("chat", "\n".join(lines))]
    assert shown == [f"Ada, {day}" for day in days]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (
            ("Ada: hi", "and more", "", "still: here"),
            ["line 1: Ada, 5 March 2024, 09:30: hi\\nand more\\n\\nstill: here"],
        ),
        (("Ada: see: http://x.org",), ["line 1: Ada, 5 March 2024, 09:30: see: http://x.org"]),
        (("Ada left",), ["line 1: 5 March 2024, 09:30: Ada left"]),
        (
            ("~\u202aAda Brun\u202c: yes \u200e<This message was edited>",),
            ["line 1: Ada Brun, 5 March 2024, 09:30: yes"],
        ),
        (("Ada: <Media omitted>",), []),
        (("Ada: \u200eimage omitted", "the quay"), ["line 1: Ada, 5 March 2024, 09:30: the quay"]),
        (("עדה: שלום",), ["line 1: עדה, 5 March 2024, 09:30: שלום"]),
    ],
)
def test_a_message_has_its_sender_and_all_its_lines(lines: Sequence[str], shown: list[str]) -> None:
    text = "\n".join((f"05/03/2024, 09:30 - {lines[0]}", *lines[1:], "14/03/2024, 10:00 - Bo: end"))
    assert messages("chat", text)[:-1] == shown


def test_what_stands_before_the_first_message_is_read() -> None:
    text = "the end of a message\nthat was cut\n\n14/03/2024, 09:30 - Ada: a"
    assert messages("chat", text) == [
        "line 1: the end of a message\\nthat was cut",
        "line 4: Ada, 14 March 2024, 09:30: a",
    ]


def test_a_day_that_does_not_exist_leaves_the_message_below_the_day_before() -> None:
    text = "[14/03/2024, 09:30] Ada: a\n[31/02/2024, 09:31] Bo: b\n[15/03/2024, 09:32] Ada: c"
    assert lines_of("chat", text)[:3] == [
        "heading 1 |  | line 1 | 14 March 2024",
        "paragraph | 14 March 2024 | line 1 | Ada, 14 March 2024, 09:30: a @2024-03-14",
        "paragraph | 14 March 2024 | line 2 | Bo, 09:31: b @2024-03-14",
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["05/03/2024, 09:30 - Ada: a"] * 3, True),
        (["05/03/2024, 09:30 - Ada: a"] * 2, False),
        ([*["05/03/2024, 09:30 - Ada: a"] * 3, *["goes on"] * 7], True),
        ([*["05/03/2024, 09:30 - Ada: a"] * 3, *["goes on"] * 8], False),
        (["05/03/2024 is the day of the fair"] * 9, False),
        (["2024-03-05 09:30:11 INFO started: ok"] * 9, False),
    ],
)
def test_a_good_part_of_the_lines_of_a_chat_begins_a_message(lines: list[str], expected: bool) -> None:
    assert is_chat("\n".join(lines).encode()) is expected


TELEGRAM = [
    {
        "date": "2024-03-05T09:30:00",
        "from": "Ada",
        "text": ["see ", {"type": "link", "text": "x.org"}, "!"],
        "text_entities": [],
    },
    {"date": "soon", "from": None, "actor": "Bo", "text": "joined"},
    {"date": "2024-03-05T09:31:00", "from": "Ada", "text": ""},
    7,
]
SLACK = [
    {
        "type": "message",
        "user": "U1",
        "ts": "1709631000.1",
        "text": "<@U1> to <@U2>: <https://x.org|plan> &amp; <#C1|quay> <!here>",
    },
    {"type": "message", "user": "U1", "ts": "x", "text": "<https://z.org>", "user_profile": {"real_name": "Ada Brun"}},
    {"type": "message", "username": "bot", "ts": 1709731000, "text": "up"},
]
DISCORD = [
    {
        "author": {"name": "ada", "nickname": "Ada B"},
        "channel": 1,
        "timestamp": "2024-03-05T09:30:00+01:00",
        "content": "yes",
    }
]
MESSENGER = [
    {"sender_name": "Zo\u00c3\u00ab", "timestamp_ms": 1709631060000, "content": "second \u00f0\u009f\u0098\u0080"},
    {"sender_name": "Zoë", "timestamp_ms": 1709631000000, "content": "first"},
    {"sender_name": "Bo", "timestamp_ms": 1709630000000},
]


@pytest.mark.parametrize(
    ("chat", "shown"),
    [
        (
            {"name": "Quay", "messages": TELEGRAM},
            ["message 1: Ada, 5 March 2024, 09:30: see x.org!", "message 2: Bo: joined"],
        ),
        (
            SLACK,
            [
                "message 1: Ada Brun, 5 March 2024, 09:30: Ada Brun to U2: plan & quay @here",
                "message 2: Ada Brun: https://z.org",
                "message 3: bot, 6 March 2024, 13:16: up",
            ],
        ),
        ({"channel": {"name": "Quay"}, "messages": DISCORD}, ["message 1: Ada B, 5 March 2024, 09:30: yes"]),
        (
            {"title": "Quay", "messages": MESSENGER},
            [
                "message 2: Zoë, 5 March 2024, 09:30: first",
                "message 1: Zoë, 5 March 2024, 09:31: second 😀",
            ],
        ),
    ],
    ids=["Telegram", "Slack", "Discord", "Messenger"],
)
def test_chats_as_json_are_recognised_and_name_their_senders(chat: object, shown: list[str]) -> None:
    content = json.dumps(chat)
    assert is_chat_json(content.encode())
    assert messages("chat-json", content) == shown
    assert (lines_of("chat-json", content)[0] == "title: Quay") == isinstance(chat, dict)


@pytest.mark.parametrize("chat", ["[]", "{}", "[1]", "null", '{"messages": 5}', '{"messages": [null]}'])
def test_a_chat_without_messages_gives_no_text(chat: str) -> None:
    assert not is_chat_json(chat.encode())
    assert lines_of("chat-json", chat) == []


def cue(start: str, end: str, *lines: str) -> str:
    return "\n".join((f"00:00:{start},000 --> 00:00:{end},000", *lines, "", ""))


@pytest.mark.parametrize(
    ("cues", "shown"),
    [
        (
            (cue("01", "02", "Hello there,"), cue("03", "04", "friend."), cue("05", "06", "Yes.")),
            ["00:00:01: Hello there, friend.", "00:00:05: Yes."],
        ),
        (
            (cue("01", "02", "Hello there,"), cue("06", "07", "friend.")),
            ["00:00:01: Hello there,", "00:00:06: friend."],
        ),
        (
            (cue("01", "02", "ADA: Stop!", "- BO: Why"), cue("02", "03", ">> CY: because.")),
            ["00:00:01: ADA: Stop!", "00:00:01: BO: Why", "00:00:02: CY: because."],
        ),
        (
            (cue("01", "02", "roll one"), cue("02", "03", "roll one", "two"), cue("03", "04", "two", "three")),
            ["00:00:01: roll one two three"],
        ),
        (
            (cue("01", "02", "<v Ada>Is it <b>open</b>?", "<v Bo>Yes &amp; no."),),
            ["00:00:01: Ada: Is it open?", "00:00:01: Bo: Yes & no."],
        ),
        ((cue("01", "02"), cue("03", "04", "{\\an8}<i>Top</i>")), ["00:00:03: Top"]),
        ((cue("01", "02", "It is 9:30. note: late"),), ["00:00:01: It is 9:30. note: late"]),
        ((cue("01", "02", "word " * 99), cue("02", "03", "more")), [f"00:00:01: {'word ' * 98}word", "00:00:02: more"]),
        ((cue("01", "02", "Ended.").replace("\n", "\r\n"),), ["00:00:01: Ended."]),
    ],
)
def test_sentences_of_subtitles_go_on_over_cues(cues: Sequence[str], shown: list[str]) -> None:
    assert messages("subtitles", "\n".join(f"{number}\n{one}" for number, one in enumerate(cues, 1))) == shown


def test_notes_and_styles_of_a_transcript_are_not_said() -> None:
    head = "WEBVTT - Talk\n\nNOTE made by hand\non Friday\n\nSTYLE\n::cue { color: red }\n\nintro\n"
    assert lines_of("subtitles", f"{head}01:00.000 --> 01:02.000 align:start\nWelcome.") == [
        "title: Talk",
        "paragraph |  | 01:00 | Welcome.",
    ]


@pytest.mark.parametrize("text", ["", "text", "WEBVTT", "00:00:01,000 --> 00:00:02,000", "1\n00:01 -> 00:02\nx"])
def test_files_without_anything_said_are_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="holds no subtitles"):
        parse_subtitles(text.encode(), DEFAULT_LIMITS)
