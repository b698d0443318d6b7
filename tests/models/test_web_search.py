"""Search engines on the web, against a real local server that answers well or badly on request."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from hoptrail.errors import ModelUnavailable, UsageError
from hoptrail_papers.hirag import web_search
from hoptrail_papers.hirag.web_search import WebPage, WebSearch, WebSearchSettings
from search_server import SERPER, WIKI, Server, serving

KEY = "sk-secret-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(WIKI) as running:
        yield running


@pytest.fixture
def wiki(server: Server) -> WebSearch:
    return WebSearch(WebSearchSettings("mediawiki", server.address))


@pytest.fixture
def serper(server: Server, monkeypatch: pytest.MonkeyPatch) -> WebSearch:
    monkeypatch.setenv("SERPER_API_KEY", KEY)
    server.reply = SERPER
    return WebSearch(WebSearchSettings("serper", server.address))


def test_mediawiki_gives_pages_in_its_own_order(server: Server, wiki: WebSearch) -> None:
    assert wiki.search("rivers & towns?", 5) == (
        WebPage("Orla Finch", "https://wiki.example/Orla", "A designer."),
        WebPage("Isk", "https://wiki.example/Isk", "The Isk is a river."),
    )
    ((method, asked, headers),) = server.asked
    assert (method, asked["gsrsearch"], asked["gsrlimit"], asked["action"]) == ("GET", "rivers & towns?", "5", "query")
    assert headers["User-Agent"].startswith("hoptrail")
    assert "X-Api-Key" not in {name.title() for name in headers}
    assert len(wiki.search("again", 1)) == 1


def test_serper_is_asked_with_its_key(server: Server, serper: WebSearch) -> None:
    assert serper.search("Isk", 5) == (
        WebPage("Isk", "https://web.example/isk", "The Isk is a river."),
        WebPage("", "https://web.example/odd", "A title that is a number."),
    )
    ((method, asked, headers),) = server.asked
    assert (method, asked) == ("POST", {"q": "Isk", "num": 5})
    assert {name.lower(): value for name, value in headers.items()}["x-api-key"] == KEY


@pytest.mark.parametrize("reply", [{}, {"query": {}}, {"query": {"pages": {"1": {}}}}, {"query": {"pages": [1, None]}}])
def test_nothing_found_is_no_error(server: Server, wiki: WebSearch, reply: object) -> None:
    server.reply = reply
    assert wiki.search("Isk", 5) == ()


@pytest.mark.parametrize(
    ("reply", "reason"), [([], "no object"), ({"error": {"info": KEY}}, "an error in its JSON"), ("text", "no object")]
)
def test_replies_that_are_none_are_refused(server: Server, wiki: WebSearch, reply: object, reason: str) -> None:
    server.reply = reply
    with pytest.raises(ModelUnavailable, match=reason):
        wiki.search("Isk", 5)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("refuse", "status 403"),
        ("break", "status 500"),
        ("html", "sent no JSON"),
        ("deep", "sent no JSON"),
        ("short", "could not be asked: RemoteProtocolError"),
    ],
)
def test_failures_are_told_without_the_key(
    server: Server, serper: WebSearch, behaviour: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.behaviour = behaviour
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelUnavailable, match=reason) as raised:
        serper.search("Isk", 5)
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert KEY not in caplog.text
    assert len(server.asked) == 1, "nothing is asked twice"


def test_redirects_are_not_followed(server: Server, serper: WebSearch) -> None:
    server.behaviour = "redirect"
    with serving({}) as other:
        server.elsewhere = other.address
        with pytest.raises(ModelUnavailable, match="status 302"):
            serper.search("Isk", 5)
        assert other.asked == []


def test_one_deadline_holds_for_a_reply_that_drips(
    server: Server, wiki: WebSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = "endless"
    monkeypatch.setattr(web_search, "SECONDS", 0.3)
    with pytest.raises(ModelUnavailable, match=r"did not finish within 0\.3 seconds"):
        wiki.search("Isk", 5)


def test_size_is_bounded_while_reading(wiki: WebSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_search, "CHARACTERS", 5)
    (page, _) = wiki.search("Isk", 5)
    assert page.text == "A des"
    monkeypatch.setattr(web_search, "LARGEST", 50)
    with pytest.raises(ModelUnavailable, match="more than 50 bytes"):
        wiki.search("Isk", 5)


def test_nobody_there(server: Server, wiki: WebSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    server.server_close()
    monkeypatch.setattr(web_search, "SECONDS", 2.0)
    with pytest.raises(ModelUnavailable, match=r"could not be asked|did not finish"):
        WebSearch(WebSearchSettings("mediawiki", "http://127.0.0.1:9/")).search("Isk", 5)
    assert wiki.name == "mediawiki"


def test_a_key_is_wanted_from_the_environment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    with pytest.raises(UsageError, match="SERPER_API_KEY"):
        WebSearch(WebSearchSettings("serper", "https://google.serper.example/search"))
    with pytest.raises(UsageError, match="no search engine is set"):
        WebSearch(WebSearchSettings())


@pytest.mark.parametrize("address", ["", "ftp://x", "nowhere", "http://", "http://[bad"])
def test_an_engine_needs_an_address(address: str) -> None:
    with pytest.raises(UsageError, match="needs an address"):
        WebSearchSettings("mediawiki", address)
