"""The same call to every shard. `actors.py` has the form for many machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from hoptrail_scale.sharding.shard import Shard

T = TypeVar("T")


class Scatter(Protocol):
    """Calls functions of a shard on every shard."""

    def all(self, call: Callable[[Shard], T]) -> list[T]:
        """The results in the order of the shards; calls run at once. `call` can be pickled.
        Raises: WorkFailed: a shard cannot be brought back.
        """

    def renew(self) -> None:
        """Read the last commit of every shard from now on."""

    def close(self) -> None:
        """Release the shards."""


class LocalShards:
    """Shards in folders of this machine, called one after another in this process."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises: as `Snapshot.open`."""
        self._folders = list(folders)
        self._shards = [Shard(folder) for folder in self._folders]

    def all(self, call: Callable[[Shard], T]) -> list[T]:
        """See `Scatter.all`."""
        return [call(shard) for shard in self._shards]

    def renew(self) -> None:
        """See `Scatter.renew`."""
        self.close()
        self._shards = [Shard(folder) for folder in self._folders]

    def close(self) -> None:
        """See `Scatter.close`."""
        for shard in self._shards:
            shard.close()
