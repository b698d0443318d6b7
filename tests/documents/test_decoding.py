"""Every detectable encoding is decoded with a note; binary data is refused."""

from __future__ import annotations

import codecs
import contextlib

import charset_normalizer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.documents.decoding import Decoded, cleaned, decode
from hoptrail.documents.limits import Unreadable

SAMPLE = "Zürich liegt am See. Élan vital, naïve café.\n"
JAPANESE = "今日は雨です。明日は晴れです。\n" * 4


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_c7_byte_order_marks(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + SAMPLE.encode(encoding))
    assert decoded.text == SAMPLE
    assert bool(decoded.notes) == (encoding != "utf-8")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_c7_wide_encodings_without_a_mark(encoding: str) -> None:
    decoded = decode(SAMPLE.encode(encoding))
    assert decoded.text == SAMPLE
    assert encoding.upper() in decoded.notes[0]


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (JAPANESE, "iso2022_jp", "iso2022_jp_ext"),
        ("Tokyo: 東京。", "iso2022_jp", "iso2022_jp_ext"),
        ("東京のｱｲｳ", "iso2022_jp_ext", "iso2022_jp_ext"),
        ("서울은 대한민국의 수도이다.", "iso2022_kr", "iso2022_kr"),
    ],
)
@pytest.mark.parametrize("declared", [None, "iso-2022-jp"])
def test_c7_iso_2022_is_detected_by_its_escapes(text: str, encoding: str, named: str, declared: str | None) -> None:
    assert decode(text.encode(encoding), declared) == Decoded(text, (f"read as {named}, by its escape sequences",))


def test_c7_one_undecodable_character_is_replaced() -> None:
    """Such as ① in Japanese mail from Windows."""
    decoded = decode(b"\x1b$B-!El5~\x1b(B is old.")
    assert decoded.text == "\ufffd東京 is old."
    assert "1 byte sequences are not iso2022_jp_ext" in decoded.notes[1]


@pytest.mark.parametrize("text", ["\x1b[1mBold\x1b[0m $B", "Press \x1b$Bxyz to go on, it costs $B 5.", "Grün: \x1b$B"])
def test_c7_other_escapes_change_nothing(text: str) -> None:
    assert decode(text.encode()) == Decoded(text)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SAMPLE * 5, "cp1252"),
        ("El niño comió año tras año, ¿verdad? Sí, señor. " * 5, "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. " * 5, "cp1250"),
        ("Привет, мир. Это русский текст о погоде и о людях. " * 5, "cp1251"),
        (JAPANESE, "shift_jis"),
    ],
)
def test_c7_other_encodings_are_guessed_with_a_note(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert "guess" in decoded.notes[0]


def test_c7_a_declared_encoding_is_used_if_utf8_does_not_fit() -> None:
    assert decode("Ödön".encode("iso8859-2"), "iso8859-2").text == "Ödön"
    assert decode("Ödön".encode(), "iso8859-2").text == "Ödön"
    assert decode("Ödön".encode(), "no-such-codec").text == "Ödön"


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("iso-8859-1", "cp1252", "“Café” – he said it’s 5 €."),
        ("Latin1", "cp1252", "“Café” – he said it’s 5 €."),
        ("us-ascii", "cp1252", "“Café”"),
        ("iso-8859-9", "cp1254", "“Şehir”"),
        ("gb2312", "gb18030", "朱镕基在北京。"),
        ("x-sjis", "cp932", "①髙島屋で買う。"),
        ("euc-kr", "cp949", "똠방각하"),
    ],
)
def test_c7_declared_encodings_are_read_as_browsers_read_them(label: str, encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), label) == Decoded(
        text, (f"read as {encoding}, because the file declares {label}",)
    )


@pytest.mark.parametrize(
    "label", ["utf-16", "utf-16le", "unicode_escape", "rot13", "idna", "undefined", "utf-7", "cp500"]
)
def test_c7_encodings_that_a_page_cannot_declare_are_ignored(label: str) -> None:
    assert decode(r"The “café” \u0041 is a fine place for +AGE- and x.".encode("cp1252"), label) == Decoded(
        r"The “café” \u0041 is a fine place for +AGE- and x.", ("not UTF-8; read as cp1252, a guess from its bytes",)
    )


@pytest.mark.parametrize(
    "text",
    [
        "The Partido Regionalista del País Leonés is a party in Spain.",
        "It was 20°C in the room today.",
        "« C’était là, à côté de l’église », dit-il. La ville est au bord de la mer et possède un grand port – œuvre d’art.",
    ],
)
def test_c7_a_few_western_letters_and_signs_are_windows_1252(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (
            "Miasto leży nad morzem i ma duży port. Most został zbudowany w 1871 roku, a później przyszła kolej. ",
            "cp1250",
        ),
        ("The goalkeeper Novotná and Román Kaká were seen in Antártida with the others.", "cp850"),
    ],
)
def test_c7_bytes_that_are_unusual_in_windows_1252_are_left_to_the_guess(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_c7_mixed_encodings_keep_the_utf8_part() -> None:
    decoded = decode(("Zürich, Élan, naïve, " * 10).encode() + "café".encode("latin-1"))
    assert decoded.text.startswith("Zürich")
    assert decoded.text.endswith("caf\N{REPLACEMENT CHARACTER}")
    assert "1 byte sequences" in decoded.notes[0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Zoë met René in a caf".encode() + "é".encode()[:1], "Zoë met René in a caf\ufffd"),
        ("“Yes,” he said — ".encode() + b"\xe9", "“Yes,” he said — \ufffd"),
        ("\ufffd, Zoë, ".encode() + b"\xe9", "\ufffd, Zoë, \ufffd"),
        (codecs.BOM_UTF8 + b"# Title\nText \xe9 bad", "# Title\nText \ufffd bad"),
    ],
)
def test_c7_one_bad_byte_is_replaced(data: bytes, text: str) -> None:
    assert decode(data) == Decoded(text, ("1 byte sequences are not UTF-8 and were replaced by U+FFFD",))


@pytest.mark.parametrize(
    "data",
    [
        b"abc\0def",
        bytes(range(256)) * 8,
        b"\x7fELF\x02\x01\x01" + b"\0" * 40,
        b"\x01\x02\x03\x04\x05" * 100,
        b"\0" * 100,
    ],
)
def test_c7_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"binary|encoding"):
        decode(data)


def test_line_ends_become_one_character() -> None:
    assert decode(b"a\r\nb\rc\n\r\n").text == "a\nb\nc\n\n"


def test_c7_lone_surrogates_and_nul_are_replaced_with_a_note() -> None:
    clean = cleaned("a\ud800b\0c\U0001f469")
    assert clean.text == "a\ufffdb\ufffdc\U0001f469"
    assert clean.notes == ("2 lone surrogates or NUL characters were replaced by U+FFFD",)


def test_c8_nothing_is_normalised() -> None:
    text = "e\u0301 é ﬁ １ \u202eright\u202c \u200d"
    assert decode(text.encode()) == cleaned(text)
    assert cleaned(text).text == text


@given(st.binary(max_size=200))
def test_c7_any_bytes_give_storable_text_or_an_error(data: bytes) -> None:
    with contextlib.suppress(Unreadable):
        text = decode(data).text
        assert "\0" not in text
        assert "\r" not in text
        text.encode()


def test_c7_a_long_text_is_guessed_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    guess, guessed = charset_normalizer.from_bytes, list[int]()

    def counted(data: bytes) -> charset_normalizer.CharsetMatches:
        guessed.append(len(data))
        return guess(data)

    monkeypatch.setattr(charset_normalizer, "from_bytes", counted)
    text = JAPANESE * 20_000
    data = text.encode("shift_jis")
    assert decode(data).text == text
    assert guessed
    assert max(guessed) <= 256 * 1024 < len(data)


def test_what_nobody_sees_within_a_word_is_left_out() -> None:
    text = "The con\u00adtrac\u00adtor of Al\u200btona\u2060 is help\ufeffless."
    assert decode(text.encode()).text == "The contractor of Altona is helpless."
    assert cleaned("ភាសា\u200bខ្មែរ").text == "ភាសា\u200bខ្មែរ"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Présents\xa0: Mme\xa0Zoé Lefèvre, Hélène Côté. L’œuvre est au 3e étage, à côté du n°\xa05.", "cp1252"),
        ("A reunião será às 9h em São Paulo. Não há informações.", "cp1252"),
        ("Győző és Ödön elmentek a tűzoltósághoz, őrült hideg volt.", "cp1250"),
        ("Miasto leży nad morzem. Most został zbudowany, później przyszła kolej.", "iso8859-2"),
        ("Įmonė įsikūrusi Šiauliuose, ąžuolas žydi.", "cp1257"),
        ("İstanbul güzel bir şehir, ağaç çok ışık alıyor.", "cp1254"),
        ("La ferme ouvre à dix heures ; l’entrée coûte 3 francs.", "mac-roman"),
        ("Der Küster heißt Götz Müller.", "cp437"),
        ("Þórður býr í Reykjavík, hún er góð.", "cp1252"),
    ],
)
def test_c7_latin_script_is_read_in_the_encoding_that_gives_the_letters_of_one_language(
    text: str, encoding: str
) -> None:
    assert decode(text.encode(encoding)).text == text
