"""Encoders by name, and what is said when an optional package is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.errors import ModelUnavailable, UsageError
from hoptrail.models.encoder_factory import check_encoder, open_encoder
from hoptrail.models.environment import configured_base_url
from hoptrail.models.local import MiniLmEncoder
from hoptrail.models.rerankers import CrossEncoderReranker
from hoptrail_papers.sunar.answer_uncertainty import EntailmentModel


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://host/v1/chat/completions", "http://host/v1"),
        ("http://host/v1/embeddings/?a=models/", "http://host/v1?a=models/"),
        *((url, url) for url in ("http://host/v1/", "http://host/v1", "http://models/", "http://embeddings")),
    ],
)
def test_an_address_is_cut_only_where_it_is_that_of_a_call(given: str, address: str) -> None:
    assert configured_base_url(given) == address


def test_minilm_and_folders(tiny_folder: Path) -> None:
    assert isinstance(open_encoder("minilm"), MiniLmEncoder)
    assert open_encoder(str(tiny_folder)).encode(["old harbour"]).shape == (1, 8)


@pytest.mark.parametrize(
    "name",
    [
        *("", "nonsense", "endpoint:", "endpoint", "fastembed:", "openai:x", "MiniLM", "a\0b"),
        *("/no/such/folder", "~no-such-user/model"),
    ],
)
def test_unknown_names_list_the_choices(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_encoder(name)
    if "/" not in name:
        with pytest.raises(UsageError) as caught:
            check_encoder(name)
    for choice in (repr(name), "minilm", "folder", "endpoint:MODEL", "sentence-transformers:MODEL", "fastembed:MODEL"):
        assert choice in str(caught.value)


def test_a_name_can_be_checked_without_opening_what_is_called_so(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("minilm", "endpoint:m", "fastembed:x/y", "/on/another/machine", "models/mine", "~no-such-user/model"):
        check_encoder(name)
    monkeypatch.chdir(tiny_folder.parent)
    check_encoder(tiny_folder.name)


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (lambda: open_encoder("sentence-transformers:some/model"), "sentence-transformers"),
        (lambda: open_encoder("fastembed:some/model"), "fastembed"),
        (lambda: CrossEncoderReranker("some/model"), "sentence-transformers"),
        (lambda: EntailmentModel("some/model"), "sentence-transformers"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    make: Callable[[], object], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)  # as if it were not installed
    with pytest.raises(ModelUnavailable, match=rf"pip install hoptrail\[{package}\]"):
        make()
