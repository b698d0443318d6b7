"""Running work on Ray: on all cores of this machine, or on the machines of a cluster.

A batch is a Ray task on one core. If a worker or its machine is lost, Ray repeats its batches elsewhere. Results are returned in
the order of the batches. The arguments bound to a function (a matrix, a language) are put into Ray's object store once, and
unpacked once per worker. The number of running batches is bounded.

The calling process reads files and writes the index, except where workers build indexes of their own (`sharding`). The
machines of a cluster need the same version of this package, and the encoder's weights at the path in its name. Anyone who can
reach Ray's ports can run code: Ray started from here requires a token, which Ray makes and keeps in the user's home. How a
running cluster is protected, and whether it reports usage to Ray's makers, is up to those who started it. Nothing is reported
from here.
"""

from __future__ import annotations

import os
import socket
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from types import TracebackType
from typing import Any, TypeVar

from hoptrail.errors import HoptrailError, UsageError, WorkFailed
from hoptrail.execution.executor import Work

A = TypeVar("A")
B = TypeVar("B")
RETRIES = 3  # how often Ray repeats a batch whose worker was lost
AHEAD = 2  # submitted batches per core: one running, one waiting
_UNPACKED = 4  # functions that a worker caches; several maps may run at once


class RayExecutor:
    """A context manager. `address` is that of a running cluster (`auto`, HOST:PORT, ray://HOST:PORT). Without one, Ray is started
    here with `workers` cores (0: all), and stopped on leaving. An existing connection of this process is reused.

    Raises (on entering):
        UsageError: Ray is not installed.
        WorkFailed: nothing responds at the address, or Ray does not start.
    """

    def __init__(self, address: str = "", workers: int = 0) -> None:
        self._address = address
        self._workers = workers
        self._ray: Any = None
        self._connected_here = False
        self._sent: tuple[Callable[..., Any], Any] | None = None

    def __enter__(self) -> RayExecutor:
        self._ray = _import_ray()
        if not self._ray.is_initialized():
            self._connect()
            self._connected_here = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sent = None
        if self._connected_here:
            self._ray.shutdown()
            self._connected_here = False

    @property
    def ray(self) -> Any:
        """The module `ray`, which is connected. Raises: UsageError: this was not entered."""
        if self._ray is None:
            raise UsageError("enter the executor before using it: `with RayExecutor(...) as executor:`")
        return self._ray

    def map(self, work: Work[A, B], batches: Iterable[A]) -> Iterator[B]:
        """See `Executor.map`. When the caller stops iterating, submitted batches are cancelled."""
        ray = self._ray
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_perform)
        most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        function = [self._put(work.function)]  # in a list, so that a worker gets the reference and unpacks it once
        pending: deque[tuple[A, Any]] = deque()
        try:
            for batch in batches:
                pending.append((batch, task.remote(version("hoptrail"), function, batch)))
                if len(pending) >= most:
                    yield self._result(work, *pending.popleft())
            while pending:
                yield self._result(work, *pending.popleft())
        finally:
            for _, reference in pending:
                ray.cancel(reference)

    def _put(self, function: Callable[[A], B]) -> Any:
        """A reference to the function in the object store. The last one is cached, because maps often repeat it."""
        if self._sent is None or self._sent[0] is not function:
            self._sent = (function, self._ray.put(function))
        return self._sent[1]

    def _result(self, work: Work[A, B], batch: A, reference: Any) -> B:
        try:
            outcome: B | HoptrailError = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise WorkFailed(
                f"{work.doing} {work.name(batch)} failed on Ray: {reason_of(error)}. What was "
                "finished before is kept; run the same command with `--on here` to see whether it works in this process."
            ) from error
        if isinstance(outcome, HoptrailError):
            raise outcome
        return outcome

    def _connect(self) -> None:
        # `local`, because without an address Ray would join whatever cluster the environment names.
        address = self._address or "local"
        own = {"include_dashboard": False, "num_cpus": self._workers or None} if address == "local" else {}
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        except Exception as error:  # Ray's errors have no common narrower base
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            where = f"reached at {address}" if self._address else "started on this machine"
            raise WorkFailed(
                f"Ray could not be {where}: {reason} An address must be that of a running cluster "
                "(`ray start --head`), which may require RAY_AUTH_MODE=token here too. On a busy machine starting may take "
                "longer than Ray waits: start it beforehand and give its address."
            ) from error


_functions: OrderedDict[str, Callable[[Any], Any]] = OrderedDict()
"""In a worker: functions by reference, so that a batch reuses the encoder or pipeline that an earlier one opened."""


def _perform(expected: str, function: list[Any], batch: Any) -> Any:
    """In a worker: run one batch, if the worker has the expected version of hoptrail. Errors of hoptrail are returned, because
    Ray would wrap raised ones.
    """
    try:
        check_version(expected)
        return _unpacked(function[0])(batch)
    except HoptrailError as error:
        return error


def reason_of(error: Exception) -> str:
    """The last line of an error of Ray, which says what happened; what comes before is the worker's traceback."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def check_version(expected: str) -> None:
    """Raises: UsageError: this machine has another version of hoptrail than the one that sent work."""
    installed = version("hoptrail")
    if installed != expected:
        raise UsageError(f"{socket.gethostname()} has hoptrail {installed}, this is {expected}: install the same")


def _unpacked(reference: Any) -> Callable[[Any], Any]:
    name = reference.hex()
    if name not in _functions:
        _functions[name] = _import_ray().get(reference)
        while len(_functions) > _UNPACKED:
            _functions.popitem(last=False)
    _functions.move_to_end(name)
    return _functions[name]


def _import_ray() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when Ray is started
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UsageError(
            f"building on Ray needs the package ray, which cannot be imported ({error}). Install it with "
            "`pip install 'hoptrail[ray]'`, or use `--on here`."
        ) from error
    return ray
