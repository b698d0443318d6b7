"""Names, quoted titles, dates and numbers in a text, each where it stands."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.mentions import Shape, figure_shape, find_mentions, find_names
from hoptrail.text.normal_forms import squeeze

TEXTS = st.lists(
    st.sampled_from(
        [
            *(
                "Ida",
                "Berg",
                "the",
                "The",
                "of",
                "van",
                "St.",
                "J.",
                "5",
                "1,250",
                "3.5",
                "million",
                "March",
                "2024",
                "1920s",
            ),
            *(
                '"A night in beds"',
                'Ferry"',
                "*Gull*",
                "(film)",
                "'s",
                ",",
                "\n",
                "\t",
                "Élan",
                "E\u0301dith",
                "中文",
                "😀",
                "\x00",
                "İ",
            ),
        ]
    ),
    max_size=25,
).map(" ".join)


def found(text: str, shape: Shape, titles: tuple[str, ...] = ()) -> list[str]:
    return [mention.text for mention in find_mentions(text, titles) if mention.shape is shape]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ludwig van Beethoven left Bonn.", ["Ludwig van Beethoven", "Bonn"]),
        ("Leonardo da Vinci met Charles de Gaulle.", ["Leonardo da Vinci", "Charles de Gaulle"]),
        ("She came with Ibn Sina and the von Trapp family.", ["Ibn Sina", "Trapp"]),
        ("J. R. R. Tolkien and C. S. Lewis met.", ["J. R. R. Tolkien", "C. S. Lewis"]),
        ("Jean-Luc O'Neill's ship", ["Jean-Luc O'Neill"]),
        ("Martin Luther King Jr. spoke.", ["Martin Luther King Jr"]),
        ("It was Dr. Ada Lunt or Mr. Holm.", ["Dr. Ada Lunt", "Mr. Holm"]),
        ("They moved to St. John's, Newfoundland", ["St. John's", "Newfoundland"]),
        ("Harbour & Sons sold the Boeing 747 to Henry VIII", ["Harbour & Sons", "Boeing 747", "Henry VIII"]),
        ("the University of Oslo, the Bank of England of old", ["University of Oslo", "Bank of England"]),
        ("Ida Berg's and Ida Berg’s", ["Ida Berg", "Ida Berg"]),
    ],
)
def test_particles_initials_and_hyphens_are_parts_of_names(text: str, names: list[str]) -> None:
    assert found(text, Shape.NAME) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("IDA BERG WON", ["IDA BERG WON"]),
        ("ida berg won", []),
        ("Today it rained. However, nobody left.", []),
        ("She heard the song of The Gulls there", ["The Gulls"]),
        ("The Gulls sang.", ["Gulls"]),
        ("It IS so. THE END", ["END"]),
        ("", []),
    ],
)
def test_a_capital_makes_a_name_but_not_of_a_function_word(text: str, names: list[str]) -> None:
    assert found(text, Shape.NAME) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("E\u0301dith Piaf sang.", ["E\u0301dith Piaf"]),
        ("Владимир жил в Ленинграде", ["Владимир", "Ленинграде"]),
        ("李白是诗人", []),
        ("😀 Ida Berg 😀", ["Ida Berg"]),
        ("Ida\x00Berg", ["Ida", "Berg"]),
        ("Ida\r\nBerg", ["Ida Berg"]),
        ("Ida    Berg", ["Ida", "Berg"]),
    ],
)
def test_names_of_other_scripts_and_odd_characters(text: str, names: list[str]) -> None:
    assert found(text, Shape.NAME) == names


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('He read "The Saltwife" twice', ["The Saltwife"]),
        ("He read “Night Ferry” and *Gull*", ["Night Ferry", "Gull"]),
        ("He read “the saltwife”", []),
        ('"A" is short', []),
        ("2 * B * 4 and a*Bcd*e", []),
        ('a "Break\nof line" here', []),
    ],
)
def test_quoted_titles_begin_with_a_capital(text: str, titles: list[str]) -> None:
    assert found(text, Shape.QUOTED) == titles


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 5 March 2024 or March 5, 2024", ["5 March 2024", "March 5, 2024"]),
        ("the 3rd of May 1850", ["3rd of May 1850"]),
        ("in May 1850 and on 12 June", ["May 1850", "12 June"]),
        ("2024-03-05 and 2024-03", ["2024-03-05", "2024-03"]),
        ("in the 1920s and 1914-18", ["1920s", "1914"]),
        ("the 17th century, 300 BC, 800 CE", ["17th century", "300 BC", "800 CE"]),
        ("3\u00a0May\n1850", ["3 May 1850"]),
        ("room 512 of 3000, 1,999 or 1999.5", []),
        ("may 5 and March of the guards", []),
    ],
)
def test_dates_in_the_forms_that_english_texts_write(text: str, dates: list[str]) -> None:
    assert found(text, Shape.DATE) == dates


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3.5 million and 1,250 crowns", ["3.5 million", "1,250"]),
        ("5% or 50 percent", ["5%", "50 percent"]),
        ("twenty-three boats, forty acres", ["twenty-three", "forty"]),
        ("one of them had one eye", ["one"]),
        ("5kg of B12 and x5", []),
        ("1234567890123456 is too long", []),
    ],
)
def test_numbers_in_digits_and_words(text: str, numbers: list[str]) -> None:
    assert found(text, Shape.NUMBER) == numbers


@given(TEXTS, st.sampled_from([(), ("Ida", "Night Ferry"), ("the", "")]), st.booleans())
def test_mentions_stand_where_they_say_in_order_and_apart(text: str, titles: tuple[str, ...], question: bool) -> None:
    mentions = find_mentions(text, titles, question=question)
    assert all(squeeze(text[one.start : one.end]) == one.text != "" for one in mentions)
    assert all(one.end <= other.start for one, other in pairwise(mentions))


@given(TEXTS)
def test_names_of_a_question_are_its_mentions_that_are_no_figures(text: str) -> None:
    mentions = find_mentions(text, question=True)
    figures = {Shape.DATE, Shape.NUMBER}
    assert find_names(text) == tuple(one for one in mentions if one.shape not in figures)


@pytest.mark.parametrize(
    ("text", "titles", "names"),
    [
        ("who wrote night ferry in arden", ("Night Ferry", "Arden", "Ard"), ["night ferry", "arden"]),
        ("who wrote nightly in ardennes", ("Night", "Arden"), []),
        ("who wrote midnight in bearden", ("Night", "Arden"), []),
        ("Who wrote The Old Night Ferry?", ("Night Ferry",), ["The Old Night Ferry"]),
        ("who runs night ferry of İzmir", ("night ferry",), ["İzmir"]),
        ("what is x", ("x",), []),
    ],
)
def test_known_titles_are_found_as_whole_words_in_any_case(
    text: str, titles: tuple[str, ...], names: list[str]
) -> None:
    assert [name.text for name in find_names(text, titles)] == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who directed The Game (1997 film)?", ["The Game (1997 film)"]),
        ("Who is Maud, Countess of Linn's father?", ["Maud, Countess of Linn"]),
        ("Is Hugh Gray, 2nd Earl of Linn dead?", ["Hugh Gray, 2nd Earl of Linn"]),
        ("Who met Ida, Bo and Max?", ["Ida", "Bo", "Max"]),
        ("Who sang The Worries of the City?", ["The Worries of the City"]),
        ("Who made Hell's Gate?", ["Hell's Gate"]),
        ("Who wrote “Of mice and men” in 1934?", ["Of mice and men"]),
    ],
)
def test_a_question_names_people_and_works_in_full(question: str, names: list[str]) -> None:
    assert [name.text for name in find_names(question)] == names


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        *(("1990", Shape.DATE), ("March 2024", Shape.DATE), ("17th century", Shape.DATE), ("5 March", Shape.DATE)),
        *(("5", Shape.NUMBER), ("5%", Shape.NUMBER), ("2.5 million", Shape.NUMBER), ("one", Shape.NUMBER)),
        *((text, None) for text in ("Ida", "May", "5 boats", "3/4", "1.2.3", "-5", "5 ", "")),
    ],
)
def test_a_figure_is_a_date_or_number_and_nothing_else(text: str, shape: Shape | None) -> None:
    assert figure_shape(text) is shape
