"""What an index says of itself, by structure."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoptrail.corpus.state import State, StructureState
from hoptrail.errors import IndexMismatch
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Usage


@dataclass(frozen=True, slots=True)
class Head:
    """`structures` maps each structure present to the fingerprint of its settings; `unfinished` maps those that may have rows
    but were not brought up to date, because a run was stopped or something was lost. `languages` maps those that a language
    made to its name, `settled` those that wanted nothing more to what they depended on. `spent` is what building has cost.
    `whole` is False where the last run was stopped before its end. `removed`: see `corpus.state.State`.
    """

    encoder: EncoderIdentity
    structures: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    whole: bool = True
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: State, encoder: EncoderIdentity) -> Head:
        """`encoder` is that of an index without vectors."""
        return cls(
            state.encoder or encoder,
            {one.name: one.fingerprint for one in state.structures if one.finished},
            {one.name: one.fingerprint for one in state.structures if not one.finished},
            {one.name: one.language for one in state.structures if one.language},
            {one.name: one.settled for one in state.structures if one.settled},
            state.spent,
            state.whole,
            state.removed,
        )

    def state(self) -> State:
        """The same as it is stored."""
        made = {name: (mark, True) for name, mark in self.structures.items()} | {
            name: (mark, False) for name, mark in self.unfinished.items()
        }
        return State(
            self.encoder,
            tuple(
                StructureState(name, mark, self.languages.get(name, ""), finished, self.settled.get(name, ""))
                for name, (mark, finished) in sorted(made.items())
            ),
            self.spent,
            self.whole,
            self.removed,
        )


def check_encoder(place: str, made: EncoderIdentity, wanted: EncoderIdentity) -> None:
    """Refuse to mix vectors of two encoders.

    Raises:
        IndexMismatch: `wanted` is not the encoder that the index at `place` was `made` with.
    """
    if (made.digest, made.dimension) != (wanted.digest, wanted.dimension):
        raise IndexMismatch(
            f"{place} was made with encoder {made.name} ({made.dimension} dimensions, {made.digest[:12]}), not with "
            f"{wanted.name} ({wanted.dimension} dimensions, {wanted.digest[:12]}): their vectors do not compare. Use encoder "
            f"{made.name}, or index the documents into a new folder."
        )
