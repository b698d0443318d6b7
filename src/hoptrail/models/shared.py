"""What is one for the whole process, however many objects use it: found by a key, and gone when nobody holds it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shared(Generic[K, V]):
    """For any number of threads. A forked child starts anew: what a thread of its parent held, nobody would ever let go there."""

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):  # some systems know no forks
            os.register_at_fork(after_in_child=self._start_anew)

    def of(self, key: K, make: Callable[[], V]) -> V:
        """What goes by `key`, made now if nobody holds it."""
        with self._guard:
            found = self._held.get(key)
            if found is None:
                found = self._held[key] = make()
            return found

    def _start_anew(self) -> None:
        self._guard = threading.Lock()
        self._held: WeakValueDictionary[K, V] = WeakValueDictionary()
