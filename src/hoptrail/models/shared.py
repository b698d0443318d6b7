"""A process-wide registry of shared objects, held by weak references."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shared(Generic[K, V]):
    """Objects by key. Thread-safe. A forked child starts with an empty registry: locks held by a thread of the parent would never
    be released there.
    """

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._start_anew)

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The object of `key`, made if there is none."""
        with self._guard:
            value = self._objects.get(key)
            if value is None:
                value = self._objects[key] = make()
            return value

    def _start_anew(self) -> None:
        self._guard = threading.Lock()
        self._objects: WeakValueDictionary[K, V] = WeakValueDictionary()
