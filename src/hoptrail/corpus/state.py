"""What an index says of itself: which encoder made its vectors, which structures it has, what it has cost, how often it was
committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hoptrail.corpus.database import Database
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Usage


@dataclass(frozen=True, slots=True)
class StructureState:
    """`fingerprint` is of its settings, `language` who made it (empty: nobody was needed); one that is not `finished` has rows
    and is not present. `settled` is what it hung on when it wanted nothing more.
    """

    name: str
    fingerprint: str
    language: str = ""
    finished: bool = True
    settled: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """`encoder` is None where nothing has vectors yet. `whole` says that the last run came to its end: else the structures do not
    stand for all documents yet. `removed` has digests of the names by which the last commit removed documents: where its end was
    not seen, the same removal again is known to be done.
    """

    encoder: EncoderIdentity | None = None
    structures: tuple[StructureState, ...] = ()
    spent: Usage = field(default_factory=Usage)
    whole: bool = True
    removed: tuple[str, ...] = ()


_TOKENS = ("calls", "prompt_tokens", "completion_tokens")


def read_state(database: Database) -> State:
    settings: dict[str, str] = dict(database.rows("SELECT name, value FROM settings"))
    structures = database.rows("SELECT name, fingerprint, language, finished, settled FROM structures ORDER BY name")
    encoder = None
    if "encoder" in settings:
        encoder = EncoderIdentity(settings["encoder"], settings["encoder.digest"], int(settings["encoder.dimension"]))
    calls, prompt, completion = (int(settings.get(f"spent.{name}", 0)) for name in _TOKENS)
    return State(
        encoder,
        tuple(
            StructureState(name, fingerprint, language, bool(finished), settled)
            for name, fingerprint, language, finished, settled in structures
        ),
        Usage(calls, prompt, completion, float(settings.get("spent.seconds", 0))),
        "stopped" not in settings,
        tuple(settings.get("removed", "").split()),
    )


def write_state(database: Database, state: State) -> None:
    settings: dict[str, object] = {
        "spent.calls": state.spent.calls,
        "spent.prompt_tokens": state.spent.prompt_tokens,
        "spent.completion_tokens": state.spent.completion_tokens,
        "spent.seconds": state.spent.seconds,
    } | (
        {}
        if state.encoder is None
        else {
            "encoder": state.encoder.name,
            "encoder.digest": state.encoder.digest,
            "encoder.dimension": state.encoder.dimension,
        }
    )
    if not state.whole:
        settings["stopped"] = 1
    if state.removed:
        settings["removed"] = " ".join(state.removed)
    database.run("DELETE FROM settings WHERE name NOT IN ('commit', 'unclean')")
    database.run_each(
        "INSERT INTO settings (name, value) VALUES (?, ?)", [(name, str(value)) for name, value in settings.items()]
    )
    database.run("DELETE FROM structures")
    database.run_each(
        "INSERT INTO structures (name, fingerprint, language, finished, settled) VALUES (?, ?, ?, ?, ?)",
        [(one.name, one.fingerprint, one.language, int(one.finished), one.settled) for one in state.structures],
    )


def commit_number(database: Database) -> int:
    row = database.one("SELECT value FROM settings WHERE name = 'commit'")
    return int(row[0]) if row else 0


def count_commit(database: Database) -> None:
    number = str(commit_number(database) + 1)
    database.run("INSERT OR REPLACE INTO settings (name, value) VALUES ('commit', ?)", number)


def is_unclean(database: Database) -> bool:
    """Whether a removal was committed whose text may still be in the log or in files that no commit names."""
    return database.one("SELECT value FROM settings WHERE name = 'unclean'") is not None


def mark_unclean(database: Database, *, unclean: bool) -> None:
    if unclean:
        database.run("INSERT OR REPLACE INTO settings (name, value) VALUES ('unclean', '1')")
    else:
        database.run("DELETE FROM settings WHERE name = 'unclean'")
