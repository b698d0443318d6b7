"""Names in small letters: what a question calls `gzip` is not answered by what a document says of `tar`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.ruling_out import names_in_small_letters
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Read, Reading
from hoptrail.text.words import content_stems
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]

TAR = "Public domain tar was written by John Gilmore."
GZIP = "The latest version of gzip is on the mirrors."
PATCH = "It applies what a diff says. Orla Finch keeps it."
ASKED = {"who wrote gzip": {"John Gilmore": 5.0}, "who keeps patch": {"John Gilmore": 5.0, "Orla Finch": 4.5}}


def read(question: str, *units: Unit) -> Reading:
    return OfflineLanguage(None, OfflineSettings(), ScriptedReader(ASKED)).perform(Read(question, units)).value


@pytest.fixture
def notes(passage: MakeUnit) -> tuple[Unit, ...]:
    return passage("AUTHORS", TAR), passage("README", GZIP), passage("patch", PATCH)


def test_what_is_said_of_another_thing_answers_nothing(notes: tuple[Unit, ...]) -> None:
    assert read("who wrote gzip", *notes).answer is None


def test_a_document_that_says_the_name_anywhere_answers(passage: MakeUnit) -> None:
    units = passage("AUTHORS", f"{TAR} He did not write gzip."), passage("README", "Nothing of it.")
    assert read("who wrote gzip", *units).answer == "John Gilmore"


def test_a_common_word_is_a_name_where_it_is_a_title(notes: tuple[Unit, ...]) -> None:
    assert read("who keeps patch", *notes).answer == "Orla Finch"


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("who wrote gzip", {"gzip"}),
        ("who keeps patch", {"patch"}),
        ("who wrote the patch", set()),  # after an article it is a thing like others
        ("who degaussed it", set()),  # what is done may be said in other words
        ("who wrote bzip", set()),  # nobody here knows it
        ("who wrote Gzip", set()),  # in capitals it is found by its shape
        ("who at Foss wrote gzip", set()),  # who writes capitals writes names in them
        ("who at Foss keeps patch", {"patch"}),
        ("", set()),
    ],
)
def test_which_words_are_names(question: str, names: set[str]) -> None:
    documents = [content_stems(text) for text in (f"AUTHORS {TAR}", f"patch {PATCH}", f"{GZIP} It was degaussed.")]
    assert names_in_small_letters(question, ("AUTHORS", "patch", "README"), documents) == names


def test_what_most_documents_say_tells_nothing_apart() -> None:
    assert names_in_small_letters("who wrote gzip", (), [frozenset({"gzip"})] * 2) == frozenset()
