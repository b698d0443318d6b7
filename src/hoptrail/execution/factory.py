"""Executors by name, as in flags."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from hoptrail.errors import UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor

LOCAL = "here"
RAY = "ray"


def open_executor(name: str, address: str = "") -> AbstractContextManager[Executor]:
    """A context manager of the executor `name`: `here` is this process; `ray` is a Ray cluster at `address`, else started here.

    Raises:
        UsageError: there is no such executor, or it takes no address; on entering: Ray is not installed.
        WorkFailed: on entering: Ray does not respond or does not start.
    """
    if name == RAY:
        from hoptrail.execution.on_ray import RayExecutor

        return RayExecutor(address)
    if name != LOCAL:
        raise UsageError(f"work can be done on {LOCAL} or {RAY}, not on {name!r}")
    if address:
        raise UsageError("--address is the address of Ray: use it with --on ray")
    return nullcontext(LOCAL_EXECUTOR)
