"""Executors by name, as flags give them. One literal table."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from hoptrail.errors import UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor

LOCAL = "here"
RAY = "ray"


def open_executor(name: str, address: str = "") -> AbstractContextManager[Executor]:
    """The executor called `name`, to be entered: `here` is this process; `ray` is a Ray cluster at `address`, or started here.

    Raises:
        UsageError: there is no such executor, or it has no address; on entering: Ray is not installed.
        WorkFailed: on entering: Ray does not answer or does not start.
    """
    if name == RAY:
        from hoptrail.execution.on_ray import RayExecutor

        return RayExecutor(address)
    if name != LOCAL:
        raise UsageError(f"work can be done on {LOCAL} or {RAY}, not on {name!r}")
    if address:
        raise UsageError("--address says where Ray is: it goes with --on ray")
    return nullcontext(LOCAL_EXECUTOR)
