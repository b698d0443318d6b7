"""The title index: titles found in questions, titles like a name, ambiguous names, further names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoptrail_papers.hirag.hierarchy import CANDIDATES, TitleIndex, is_ambiguous
from hoptrail_papers.hirag.profiles import Profiles, ProfileSettings
from structures.site import Site
from world import make_document

NAMES = [
    "Orla Finch",
    "Orla Finch (film)",
    "Finch",
    "The Tallow Bridge",
    "Tallow",
    "Isk",
    "Álvaro Núñez",
    "Home",
    "1917 (film)",
    "Who",
    "东京",
    "राम",
    "रोम",
    "लंदन",
]


@pytest.fixture
def index() -> TitleIndex:
    return TitleIndex((name, f"d{number}") for number, name in enumerate(NAMES))


def names(index: TitleIndex, name: str, least: float = 0.8) -> list[str]:
    return [match.title.name for match in index.similar_to(name, least)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Who designed the Tallow Bridge?", ["the Tallow Bridge"]),
        ("Is Tallow where Orla Finch and Finch met?", ["Orla Finch", "Tallow", "Finch"]),
        ("When was ALVARO NUNEZ born?", ["ALVARO NUNEZ"]),
        ("Who went home to Lund in 1917?", []),
        ("who went home in 1917", ["home"]),
        ("Did the actress in Home sing?", ["Home"]),
        ("Was Orla Finch (film) a success?", ["Orla Finch (film"]),
        ("where was orla finch born", ["orla finch"]),
        ("Where is 东京?", ["东京"]),
        ("रोम कहाँ है?", ["रोम"]),
        ("BBC का मुख्यालय लंदन में है?", ["लंदन"]),  # no script without capitals has any
        ("Which band is called The Who?", ["Who"]),
        ("", []),
        ("?!", []),
        ("a " * 3000, []),
    ],
)
def test_the_longest_titles_in_a_question_are_found(index: TitleIndex, question: str, found: list[str]) -> None:
    assert index.named_in(question) == found


def test_equal_names_come_first_then_similar_ones(index: TitleIndex) -> None:
    found = index.similar_to("orla finch", 0.5)
    assert [(match.title.name, match.similarity) for match in found[:2]] == [
        ("Orla Finch", 1),
        ("Orla Finch (film)", 1),
    ]
    assert 0.5 <= found[2].similarity < 1
    assert names(index, "Orla Fynch") == ["Orla Finch", "Orla Finch (film)"]
    assert names(index, "Orla Finch film", least=1) == ["Orla Finch (film)"]
    assert names(index, "Nobody") == []
    assert names(index, "") == []


def test_a_name_is_ambiguous_when_several_titles_equal_it(index: TitleIndex) -> None:
    assert is_ambiguous(index.similar_to("Orla Finch", 0.8), 1)
    assert not is_ambiguous(index.similar_to("Orla Finch", 0.8), 2)
    assert not is_ambiguous(index.similar_to("Orla Finch (film)", 0.8), 1)
    assert not is_ambiguous(index.similar_to("Orla Fynch", 0.8), 1), "similar is not equal"
    assert not is_ambiguous((), 1)


def test_a_page_that_lists_namesakes_makes_no_tie_with_the_primary_title() -> None:
    index = TitleIndex([("Paris", "d1"), ("Paris (disambiguation)", "d2"), ("Finch (disambiguation)", "d3")])
    assert not is_ambiguous(index.similar_to("Paris", 0.8), 1)
    assert is_ambiguous(index.similar_to("Finch", 0.8), 1), "nothing is called that by itself"
    namesakes = TitleIndex([("Paris", "d1"), ("Paris (disambiguation)", "d2"), ("Paris (myth)", "d3")])
    assert is_ambiguous(namesakes.similar_to("Paris", 0.8), 1), "two things are called that"
    assert not is_ambiguous(namesakes.similar_to("Paris", 0.8), 2)


def test_a_name_that_is_marked_as_shared_is_ambiguous_even_if_it_is_a_title() -> None:
    """Marked by whoever made the profiles: there is no primary topic then."""
    shared = TitleIndex([("Isk", "d1")], [("Isk (disambiguation)", "d1")])
    assert is_ambiguous(shared.similar_to("Isk", 0.8), 1)
    elsewhere = TitleIndex([("Isk", "d1"), ("Isk (song)", "d2")], [("Isk (disambiguation)", "d2")])
    assert not is_ambiguous(elsewhere.similar_to("Isk", 0.8), 2)


def test_documents_of_one_title_are_one_page() -> None:
    index = TitleIndex([("Isk", "d2"), ("isk ", "d1"), ("", "d3"), ("", "d4")])
    (match,) = index.similar_to("Isk", 1)
    assert match.title.documents == ("d1", "d2")
    assert not is_ambiguous([match], 1)
    assert index.page_of("d2") == match.title
    assert index.page_of("d3").documents == ("d3",), "without a title every document is a page of its own"
    assert index.named_in("What is the Isk?") == ["Isk"]


def test_no_titles_at_all() -> None:
    for index in (TitleIndex([]), TitleIndex([("", "d1")]), TitleIndex([("?", "d1")])):
        assert index.named_in("Who designed the Tallow Bridge?") == []
        assert index.similar_to("Tallow Bridge", 0.0) == ()


def test_two_pages_may_share_a_further_name() -> None:
    index = TitleIndex([("Isk", "d1"), ("Isk song", "d2")], [("River", "d1"), ("River", "d2")])
    assert names(index, "River") == ["Isk", "Isk song"]
    assert is_ambiguous(index.similar_to("River", 0.8), 1)


def test_further_names_lead_to_their_document(tmp_path: Path) -> None:
    site = Site(tmp_path / "index")
    isk, song = make_document("Isk", "A river."), make_document("Isk song", "A song.")
    file = tmp_path / "profiles.jsonl"
    lines = [{"title": "Isk", "also": ["River Isk"]}, {"title": "Isk song", "also": ["Isk"]}]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    site.build(Profiles(ProfileSettings(str(file))), add=[isk, song])
    index = TitleIndex.of(site.snapshot)
    assert [match.title.documents for match in index.similar_to("River Isk", 1)] == [(isk.id,)]
    assert index.named_in("How long is the River Isk?") == ["River Isk"]
    assert index.page_of(song.id).documents == (song.id,), "a page goes by its own title, not by a further name"
    both = index.similar_to("Isk", 1)
    assert [match.title.name for match in both] == ["Isk", "Isk song"]
    assert is_ambiguous(both, 1)


@pytest.mark.parametrize(("ambiguous", "expected"), [(True, True), (False, False)])
def test_a_title_marked_ambiguous_is(tmp_path: Path, ambiguous: bool, expected: bool) -> None:
    site = Site(tmp_path / "index")
    file = tmp_path / "profiles.jsonl"
    file.write_text(json.dumps({"title": "Isk (river)", "ambiguous": ambiguous}), encoding="utf-8")
    site.build(Profiles(ProfileSettings(str(file))), add=[make_document("Isk (river)", "A river.")])
    assert is_ambiguous(TitleIndex.of(site.snapshot).similar_to("Isk", 1), 1) is expected


def test_titles_of_up_to_sixteen_words_are_found_in_a_question() -> None:
    words = [f"W{number}" for number in range(17)]
    longest, longer = " ".join(words[:-1]), " ".join(words)
    assert TitleIndex([(longest, "d1")]).named_in(f"Who wrote {longest} at last?") == [longest]
    assert TitleIndex([(longer, "d1")]).named_in(f"Who wrote {longer} at last?") == []


def test_of_many_titles_that_share_a_word_those_that_share_a_rare_one_are_compared() -> None:
    """Thirty rivers, and the one meant comes after them: a common word alone would leave it out."""
    titled = [(f"River Number{number:02}", f"d{number:02}") for number in range(30)] + [("Zeb Quernstone", "d99")]
    index = TitleIndex(titled)
    assert "Zeb Quernstone" in names(index, "River Quernstone", least=0.5)
    assert sorted(names(index, "River", least=0.0)) == [name for name, _ in titled[:CANDIDATES]]


def test_only_an_equal_title_is_wholly_similar_and_equally_similar_ones_come_by_title_then_document() -> None:
    long = "Wharf " * 50
    (match,) = TitleIndex([(f"{long}east", "d1")]).similar_to(f"{long}west", 0.5)
    assert match.similarity < 1, "only the first 200 letters are compared"
    index = TitleIndex([("Isk Mill A", "d4"), ("Isk Mill C", "d3"), ("Isk Mill B", "d5")])
    assert names(index, "Isk Mill X", least=0.5) == ["Isk Mill A", "Isk Mill B", "Isk Mill C"]
