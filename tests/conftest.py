"""Fixtures that tests of several folders share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import word_classifier
from command import Hoptrail
from hoptrail.models import reader
from hoptrail.types import Document
from shared_models import COMPUTED, INSTALLED
from world import FACTS, HashingEncoder, make_document, write_facts

# How long an example takes depends on what else the machine does; `timeout` bounds a test.
hypothesis.settings.register_profile("hoptrail", deadline=None)
hypothesis.settings.load_profile("hoptrail")


def pytest_collection() -> None:
    """What is loaded stays, so that looking for garbage is wasted."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From now on, garbage is looked for among what tests make, not among what is loaded, which takes half a second each time;
    and seldom, because a test leaves little.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def long_memory_of_readings() -> Iterator[None]:
    """The tests of a process ask the same of the same small worlds again and again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_KEPT", 100_000)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for what the models that ship compute, for all processes of this run."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "computed"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(COMPUTED, str(folder))
        for name, once in INSTALLED.items():
            patch.setattr(name, once)
        yield


@pytest.fixture
def encoder() -> HashingEncoder:
    return HashingEncoder()


@pytest.fixture
def documents() -> list[Document]:
    return [make_document(title, text) for title, text in FACTS.items()]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """The facts as a folder of text files."""
    return write_facts(tmp_path / "world")


@pytest.fixture
def word_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package sentence-transformers were installed, with classifiers of words."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", word_classifier.as_package())


@pytest.fixture
def hoptrail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hoptrail:
    """The command line in this process, with no settings from outside."""
    monkeypatch.delenv("HOPTRAIL_SETTINGS", raising=False)
    return Hoptrail(monkeypatch, capsys)
