"""Shards as Ray actors, spread over the machines of a cluster. Each fetches its shard from the object store into a cache there.

If an actor or its machine is lost, Ray starts the actor elsewhere, it fetches the newest publication of the shard, and the
call is repeated. Every machine needs the keys of the object store in its environment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

from hoptrail.errors import HoptrailError, WorkFailed
from hoptrail_scale.on_ray import RayExecutor, check_version, reason_of
from hoptrail_scale.publishing.fetching import Follower, default_cache
from hoptrail_scale.sharding.shard import Shard

T = TypeVar("T")
REPEATS = 3  # how often Ray repeats a call whose actor was lost


class _Actor:
    """In a worker: one published shard."""

    def __init__(self, address: str, expected: str) -> None:
        """Raises: UsageError: this machine has not the expected version of hoptrail."""
        check_version(expected)
        self._address = address
        self._follower = Follower(address, default_cache())
        self._copy = self._follower.first()
        self._shard = Shard(self._copy.folder)

    def perform(self, call: Callable[[Shard], Any]) -> Any:
        """The result, or an error of hoptrail, because Ray would wrap raised ones."""
        try:
            return call(self._shard)
        except HoptrailError as error:
            return error

    def renew(self) -> HoptrailError | None:
        """Read the newest publication. After an error, which is returned, the earlier one is read."""
        newer = None
        try:
            newer = self._follower.look()
            shard = self._shard if newer is None else Shard(newer.folder)
        except HoptrailError as error:
            if newer is not None:
                newer.close()
            self._follower = Follower(self._address, default_cache())  # it would take this publication for read
            return error
        if newer is not None:
            self._shard.close()
            self._copy.close()
            self._shard, self._copy = shard, newer
        return None


class RayShards:
    """Published shards as actors. Satisfies `Scatter`."""

    def __init__(self, executor: RayExecutor, addresses: Sequence[str]) -> None:
        """`executor` must have been entered."""
        self._ray = executor.ray
        actor = self._ray.remote(max_restarts=-1, max_task_retries=REPEATS, scheduling_strategy="SPREAD")(_Actor)
        self._actors = [actor.remote(address, version("hoptrail")) for address in addresses]
        self._addresses = list(addresses)

    def all(self, call: Callable[[Shard], T]) -> list[T]:
        sent = self._ray.put(call)
        return self._results([actor.perform.remote(sent) for actor in self._actors])

    def renew(self) -> None:
        self._results([actor.renew.remote() for actor in self._actors])

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)

    def _results(self, references: Sequence[Any]) -> list[Any]:
        results = []
        for reference, address in zip(references, self._addresses, strict=True):
            try:
                result = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                raise WorkFailed(f"the shard {address} cannot be asked: {reason_of(error)}") from error
            if isinstance(result, HoptrailError):
                raise result
            results.append(result)
        return results
