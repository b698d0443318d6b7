"""Searching the web with one engine, at the configured address and no other: MediaWiki's API, or Serper's JSON.

It is off unless the settings name an address: only then does a question leave the machine. Redirects are not followed, one
deadline applies to the whole exchange, and replies are bounded in size and untrusted. A key comes from an environment variable
and is never shown. There are no retries, because callers can do without. Pages are not fetched; only the engine's excerpts are
used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from hoptrail.errors import ModelUnavailable, UsageError
from hoptrail.models.client import in_time
from hoptrail.models.environment import NO_KEY, Address, certificates, find_key, hide_in_logs, without
from hoptrail.models.prompt_text import whole_text
from hoptrail.types.json_object import JsonObject

AGENT = "hoptrail (https://pypi.org/project/hoptrail/)"  # Wikimedia refuses clients that do not say who they are

SECONDS = 20.0  # the deadline of an exchange
LARGEST, CHARACTERS = 2_000_000, 2_000
"""The most bytes of a reply that are read, and characters of a page that are kept."""


@dataclass(frozen=True, slots=True)
class WebSearchSettings:
    """`engine`: `off`, `mediawiki` (address: its api.php) or `serper` (address: its search). The key is read from the environment
    variable `key_variable`; MediaWiki needs none.
    """

    engine: Literal["off", "mediawiki", "serper"] = "off"
    address: str = ""
    key_variable: str = "SERPER_API_KEY"

    def __post_init__(self) -> None:
        if self.engine != "off" and not _is_address(self.address):
            raise UsageError(f"a search engine ({self.engine}) needs an address that begins with http:// or https://")


@dataclass(frozen=True, slots=True)
class WebPage:
    title: str
    url: str
    text: str


class WebSearch:
    """Searches with one engine. Thread-safe."""

    def __init__(self, settings: WebSearchSettings) -> None:
        """Raises: UsageError: the engine is off, or needs a key and the environment has none that can be sent."""
        if settings.engine == "off":
            raise UsageError("no search engine is set: name one and its address")
        key = find_key(settings.key_variable) if settings.engine == "serper" else NO_KEY
        if not key:
            raise UsageError(f"the search engine wants a key: set the environment variable {settings.key_variable}")
        self.name = settings.engine
        self._settings = settings
        self._address = Address(settings.address, "", key)

    def search(self, question: str, limit: int) -> tuple[WebPage, ...]:
        """The first `limit` pages of the engine, in its order, without those that lack text or address.
        Raises: ModelUnavailable: there was no valid reply in time. The message contains no key, whatever the server says.
        """
        import httpx2

        try:
            return tuple(self._pages(in_time(SECONDS, partial(self._exchange, question, limit))))[:limit]
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = f"could not be asked: {type(error).__name__}: {error}"
        except _Unfit as unfit:
            reason = str(unfit)
        except TimeoutError:
            reason = f"did not finish within {SECONDS:g} seconds"
        place = self._address.place
        message = without(f"the search engine at {place} {reason}", self._address.secrets)
        # Without its cause: the library's errors carry the request.
        raise ModelUnavailable(f"{message}. Check its address and key, or set engine to off") from None

    async def _exchange(self, question: str, limit: int) -> Any:
        import httpx2

        asked, body = self._request(whole_text(question), limit), b""
        async with httpx2.AsyncClient(follow_redirects=False, verify=certificates(), timeout=SECONDS) as client:
            hide_in_logs(self._address.secrets)
            async with client.stream(**asked) as response:
                if response.status_code != 200:
                    raise _Unfit(f"answered with status {response.status_code}")
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > LARGEST:
                        raise _Unfit(f"sent more than {LARGEST} bytes")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise _Unfit("sent no JSON") from None

    def _request(self, question: str, limit: int) -> JsonObject:
        headers, url = {"User-Agent": AGENT, "Accept": "application/json"}, self._settings.address
        if self._settings.engine == "serper":
            headers["X-API-KEY"] = self._address.key
            return {"method": "POST", "url": url, "headers": headers, "json": {"q": question, "num": limit}}
        asked = {"generator": "search", "gsrsearch": question, "gsrlimit": str(limit)}
        shown = {"prop": "extracts|info", "exintro": "1", "explaintext": "1", "exlimit": "max", "inprop": "url"}
        form = {"action": "query", "format": "json", "formatversion": "2"}
        return {"method": "GET", "url": url, "headers": headers, "params": form | asked | shown}

    def _pages(self, reply: Any) -> Iterator[WebPage]:
        serper = self._settings.engine == "serper"
        found = _listed(reply, ("organic",)) if serper else _listed(reply, ("query", "pages"))
        url, text = ("link", "snippet") if serper else ("fullurl", "extract")
        for item in found if serper else sorted(found, key=_place):
            page = WebPage(_text(item, "title"), _text(item, url), _text(item, text)[:CHARACTERS])
            if page.text and _is_address(page.url):
                yield page


class _Unfit(Exception):
    """What came back cannot be used; the message says why."""


def _listed(reply: Any, path: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The objects in a list inside `reply`; none where it is not there, which is how engines say that they found nothing."""
    if not isinstance(reply, dict):
        raise _Unfit("sent JSON that is no object")
    if "error" in reply:
        raise _Unfit("answered with an error in its JSON")
    value: Any = reply
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return whole_text(value).strip() if isinstance(value, str) else ""


def _place(item: Mapping[str, Any]) -> float:
    """MediaWiki gives pages in no order, each with its place."""
    place = item.get("index")
    return float(place) if isinstance(place, int) else float("inf")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
