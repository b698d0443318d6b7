"""The command `setup`: find the chat models that answer on this machine or at a named address, try one, write its settings.

Only this machine's usual ports are looked at, and the address that the person names (`--url`, `OPENAI_BASE_URL`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hoptrail.errors import UsageError, disk_errors
from hoptrail.models.chat import ChatSettings
from hoptrail.models.environment import NO_KEY, configured_base_url, find_key
from hoptrail.serving import options
from hoptrail.system.atomic_write import replace_file

USUAL = tuple(f"http://127.0.0.1:{port}/v1" for port in ["11434", "1234", "8080", "8000"])
"""Ollama, LM Studio, llama.cpp, vLLM."""
_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
"""What servers call the window of a model, the one in use first."""


@dataclass(frozen=True, slots=True)
class Found:
    """A model at an address, and its window in tokens (0: unknown)."""

    base_url: str
    model: str
    window: int

    def __str__(self) -> str:
        return f"{self.model} at {self.base_url}" + (f", {self.window:,} tokens" if self.window else "")

    @property
    def chat(self) -> ChatSettings:
        """The settings that use it; a window of unknown size is taken for the default one."""
        window = min(self.window, 32_768) or ChatSettings().context_window  # no recipe fills more
        return ChatSettings(self.base_url, self.model, context_window=window, max_output_tokens=min(1024, window // 2))


def find_models(base_urls: Sequence[str] = ()) -> list[Found]:
    """The models for chats that answer at these addresses, or on this machine, in order. What does not answer is left out."""
    base_urls = base_urls or USUAL
    with ThreadPoolExecutor(len(base_urls)) as pool:
        return [found for models in pool.map(_models_at, base_urls) for found in models if "embed" not in found.model]


def offer() -> str:
    """Names a chat model on this machine that may settle what the offline language did not; empty where none answers."""
    found = next(iter(find_models()), None)
    return f"{found} may settle it: `hoptrail setup` tries it and writes the settings." if found else ""


def _models_at(base_url: str) -> list[Found]:
    data = _content(f"{base_url}/models").get("data")
    if not isinstance(data, list):
        return [] if base_url.endswith("/v1") else _models_at(f"{base_url}/v1")
    entries = [one for one in data if isinstance(one, dict) and one.get("owned_by") != "hoptrail"]
    known = {str(one.get("id")): _window(one) for one in entries}
    root = base_url.removesuffix("/v1")
    if known and not any(known.values()):
        for path, key in ("api/v0/models", "data"), ("api/ps", "models"):  # LM Studio, Ollama
            entries = [one for one in _content(f"{root}/{path}").get(key) or [] if isinstance(one, dict)]
            known |= {name: _window(one) for one in entries if (name := one.get("id") or one.get("name")) in known}
    if known and not any(known.values()):
        known = dict.fromkeys(known, _window(_content(f"{root}/props").get("default_generation_settings")))  # llama.cpp
    return [Found(base_url, *one) for one in known.items()]


def _window(entry: Any) -> int:
    sizes = map(entry.get, _WINDOWS) if isinstance(entry, dict) else ()
    return next((size for size in sizes if isinstance(size, int) and size > 0), 0)


def _content(address: str) -> dict[str, Any]:
    """The JSON object at an address; empty where none comes."""
    import httpx2

    key = NO_KEY if address.startswith("http://127.0.0.1:") else find_key("OPENAI_API_KEY") or NO_KEY
    with suppress(httpx2.HTTPError, ValueError):
        reply = httpx2.get(address, headers={"Authorization": f"Bearer {key}"}, timeout=2.0, trust_env=False)
        if reply.is_success and isinstance(content := reply.json(), dict):
            return content
    return {}


def setup(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The settings file to write.")] = Path("hoptrail.toml"),
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model; needed if there are several.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Where to look, instead of this machine.")] = None,
) -> None:
    """Find a chat model on this machine, try it, and write the settings that use it."""
    from hoptrail.index.settings import Settings
    from hoptrail.serving.doctor import report

    if out.exists():
        raise UsageError(f"{out} is there already: name another file by --out, or remove it")
    named = configured_base_url(url or "").rstrip("/")
    found = [one for one in find_models((named,) if named else ()) if model in {None, one.model}]
    if not found:
        where = named or "the usual ports of Ollama, LM Studio, llama.cpp and vLLM on this machine"
        raise UsageError(f"no such chat model answers at {where}: start one, or name its address by --url")
    chosen = _choose(found)
    report(Settings(chat=chosen.chat), None)
    loaded = (one for one in find_models((chosen.base_url,)) if one.model == chosen.model)  # its window is known by now
    chat = next(loaded, chosen).chat
    values = {name: getattr(chat, name) for name in ("base_url", "model", "context_window", "max_output_tokens")}
    lines = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    with disk_errors(f"cannot write {out}"):
        replace_file(out, f'language = "chat"\n\n[chat]\n{lines}'.encode())
    options.say(f"{out} is written. Use it: hoptrail ask QUESTION --index DIR --settings {out}")


def _choose(found: Sequence[Found]) -> Found:
    """The model to use; of several, the one that the person at the terminal chooses."""
    for number, one in enumerate(found, 1):
        options.say(f"{number}. {one}")
    if len(found) == 1:
        return found[0]
    if not sys.stdin.isatty():
        raise UsageError("several models answer: name one by --model")
    chosen: int = typer.prompt("Which one", default=1, type=int)
    if not 1 <= chosen <= len(found):
        raise UsageError(f"there is no number {chosen}")
    return found[chosen - 1]
