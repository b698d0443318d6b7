"""The metadata of an index: the encoder of its vectors, its structures, its cost, the number of commits."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoptrail.corpus.database import Database
from hoptrail.errors import IndexMismatch
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Usage

NO_ENCODER = EncoderIdentity("", "", 0)  # the encoder of an index without vectors


@dataclass(frozen=True, slots=True)
class Head:
    """The metadata of a commit.

    - `structures`: the finished structures with the fingerprints of their settings.
    - `unfinished`: the same of structures that may have rows but are not up to date, because a run was stopped or rows were
      lost.
    - `languages`: the structures that a language made, with its name.
    - `settled`: the structures that were complete, with their build fingerprints (`indexing.build_fingerprint`).
    - `spent`: what building has cost.
    - `whole`: False where the last run was stopped before its end.
    - `commit`: the number of commits; equal numbers are equal states. 0 before the first.
    - `unclean`: whether text of a committed removal may still be in the log or in files that no commit names.
    """

    encoder: EncoderIdentity = NO_ENCODER
    structures: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    whole: bool = True
    commit: int = 0
    unclean: bool = False


def check_encoder(place: str, made: EncoderIdentity, wanted: EncoderIdentity) -> None:
    """Raises: IndexMismatch: `wanted` is not the encoder that the index at `place` was `made` with."""
    if (made.digest, made.dimension) != (wanted.digest, wanted.dimension):
        raise IndexMismatch(
            f"{place} was made with encoder {made.name} ({made.dimension} dimensions, {made.digest[:12]}), not with "
            f"{wanted.name} ({wanted.dimension} dimensions, {wanted.digest[:12]}): their vectors do not compare. Use encoder "
            f"{made.name}, or index the documents into a new folder."
        )


_TOKENS = ("calls", "prompt_tokens", "completion_tokens")


def read_head(database: Database) -> Head:
    settings: dict[str, str] = dict(database.rows("SELECT name, value FROM settings"))
    rows = database.rows("SELECT name, fingerprint, language, finished, settled FROM structures ORDER BY name")
    encoder = NO_ENCODER
    if "encoder" in settings:
        encoder = EncoderIdentity(settings["encoder"], settings["encoder.digest"], int(settings["encoder.dimension"]))
    calls, prompt, completion = (int(settings.get(f"spent.{name}", 0)) for name in _TOKENS)
    return Head(
        encoder,
        {name: mark for name, mark, _, finished, _ in rows if finished},
        {name: mark for name, mark, _, finished, _ in rows if not finished},
        {name: language for name, _, language, _, _ in rows if language},
        {name: settled for name, _, _, _, settled in rows if settled},
        Usage(calls, prompt, completion, float(settings.get("spent.seconds", 0))),
        "stopped" not in settings,
        int(settings.get("commit", 0)),
        "unclean" in settings,
    )


def write_head(database: Database, head: Head) -> None:
    settings: dict[str, object] = {f"spent.{name}": getattr(head.spent, name) for name in (*_TOKENS, "seconds")}
    settings |= {"commit": head.commit} if head.commit else {}
    if head.encoder != NO_ENCODER:
        encoder = head.encoder
        settings |= {"encoder": encoder.name, "encoder.digest": encoder.digest, "encoder.dimension": encoder.dimension}
    settings |= dict.fromkeys(["stopped"] * (not head.whole) + ["unclean"] * head.unclean, 1)
    database.run("DELETE FROM settings")
    values = [(name, str(value)) for name, value in settings.items()]
    database.run_each("INSERT INTO settings (name, value) VALUES (?, ?)", values)
    marks = {name: (mark, 1) for name, mark in head.structures.items()}
    marks |= {name: (mark, 0) for name, mark in head.unfinished.items()}
    database.run("DELETE FROM structures")
    database.run_each(
        "INSERT INTO structures (name, fingerprint, language, finished, settled) VALUES (?, ?, ?, ?, ?)",
        [
            (name, mark, head.languages.get(name, ""), finished, head.settled.get(name, ""))
            for name, (mark, finished) in sorted(marks.items())
        ],
    )
