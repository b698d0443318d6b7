"""Where an index may be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoptrail.errors import UsageError
from hoptrail.store.place import Place, endpoint, secrets, without_tls


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("s3://bucket/path/to/index/", "s3://bucket/path/to/index"),
        ("s3://bucket", "s3://bucket"),
        ("gs://bucket/ü with spaces", "gs://bucket/ü with spaces"),
        ("az://container/x", "az://container/x"),
    ],
)
def test_an_address_is_a_place_that_is_not_local(given: str, address: str) -> None:
    place = Place.of(given)
    assert (str(place), place.is_local, place.identity) == (address, False, address)
    with pytest.raises(UsageError, match="a folder of this machine only"):
        place.folder  # noqa: B018 - asking is the test


def test_a_path_is_a_place_in_whatever_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert Place.of("~/index").folder == tmp_path / "index"
    assert Place.of("index").identity == Place.of(tmp_path / "index").identity
    assert Place.of(Place.of("index")) == Place.of("index")
    assert Place.of("index").beside == Path("index")


@pytest.mark.parametrize("given", ["", " "])
def test_no_text_is_no_place_rather_than_the_current_folder(given: str) -> None:
    with pytest.raises(UsageError, match="empty address: name a folder"):
        Place.of(given)
    assert Place.of(".") == Place.of(Path())


@pytest.mark.parametrize(
    "given",
    [
        "http://example.org/index",
        "s3:///path",
        "s3://user:password@bucket/path",
        "s3://bucket:9000/path",
        "s3://bucket/a//b",
        "s3://bucket/../other",
        "s3://bucket/index?versionId=1",
        "s3://bucket/100%",
        "s3://bucket/a#b",
    ],
)
def test_what_is_no_place_is_refused_with_what_to_write(given: str) -> None:
    with pytest.raises(UsageError, match=r"s3://") as caught:
        Place.of(given)
    assert "password@" not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["az://bucket/index?se=2030&sig=secret", Path("az://bucket/x?sig=secret"), "s3://b#secret"]
)
def test_a_signature_in_an_address_is_not_shown(given: str | Path) -> None:
    with pytest.raises(UsageError, match="b") as caught:
        Place.of(given)
    assert "secret" not in str(caught.value)


def test_an_address_that_became_a_path_is_not_taken_for_a_folder() -> None:
    with pytest.raises(UsageError, match="as text"):
        Place.of(Path("s3://bucket/index"))


def test_what_stays_on_this_machine_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPTRAIL_DATA", str(tmp_path))
    names = ["s3://bucket/a/b", "s3://bucket/a-b", "gs://bucket/a/b", "s3://bucket/" + "x" * 300]
    folders = {Place.of(name).beside for name in names}
    assert len(folders) == len(names)
    for folder in folders:
        folder.mkdir(parents=True)
        assert tmp_path in folder.parents
    monkeypatch.delenv("HOPTRAIL_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "hoptrail" in Place.of("s3://bucket/a").beside.parts


def test_the_endpoint_is_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:pass%20word@minio.local:9000/")
    assert endpoint() == "http://minio.local:9000"
    assert without_tls()
    assert {"pass word", "pass%20word"} <= set(secrets())
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://minio.local")
    assert not without_tls()


@pytest.mark.parametrize("inline", [True, False])
def test_a_google_account_names_a_server_and_keeps_a_key(
    tmp_path: Path, inline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = json.dumps({"gcs_base_url": "http://127.0.0.1:4443", "private_key": "key-of-nobody"})
    file = tmp_path / "account.json"
    file.write_text(account, encoding="utf-8")
    assert not without_tls()
    if inline:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", account)
    else:
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(file))
    assert without_tls()
    assert endpoint() == "http://127.0.0.1:4443"
    assert "key-of-nobody" in secrets()


@pytest.mark.parametrize("content", ["", "[]", '{"gcs_base_url": 1}', "not json"])
def test_an_account_that_cannot_be_read_is_left_to_whoever_needs_it(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "account.json"
    file.write_text(content, encoding="utf-8")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(file))
    assert not without_tls()
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "none.json"))
    assert not without_tls()
