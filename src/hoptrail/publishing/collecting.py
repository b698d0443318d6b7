"""Removing old publications from an object store.

A publication is removed, oldest first, some time after a newer one has replaced it, but never the current one or the one before
it. With it go the chunks that the next publication has dropped, and those that failed publishers sent under its number. Its
manifest is removed last, and the pointer names it until then, so that an interrupted removal is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

from hoptrail.errors import IndexDamaged
from hoptrail.publishing.manifest import CHUNKS, MANIFESTS, Pointer, number_of, object_of, read_manifest
from hoptrail.publishing.objects import STREAMS, Objects

KEEP_HOURS = 48.0
"""How long a replaced publication can still be fetched."""


def kept(objects: Objects, pointer: Pointer | None) -> tuple[str, ...]:
    """The existing manifests that a pointer names; the current one always exists."""
    if pointer is None:
        return ()
    existing = objects.written(MANIFESTS)
    return tuple(name for name in pointer.manifests if object_of(name) in existing)


def collect(objects: Objects, pointer: Pointer, keep_hours: float) -> int:
    """Remove the publications that were replaced more than `keep_hours` ago. `pointer` is the current one. Returns the number of
    removed objects.

    Hours are counted by the clock of the store, from the writing of the newer manifest to that of the newest.
    """
    written = objects.written(MANIFESTS)
    names = [name for name in pointer.manifests if object_of(name) in written]
    oldest = max(written.values()) - timedelta(hours=keep_hours)
    replaced = [(old, new) for new, old in pairwise(names)][1:]
    gone = [(old, new) for old, new in replaced if written[object_of(new)] <= oldest]
    return sum(_remove(objects, old, new, written) for old, new in reversed(gone))


def _remove(objects: Objects, old: str, new: str, manifests: Iterable[str]) -> int:
    """Remove a publication, except the chunks that the next one reuses."""
    number = number_of(old)
    unused = (_chunks(objects, old) | set(objects.written(f"{CHUNKS}/{number}"))) - _chunks(objects, new)
    unused |= {name for name in manifests if number_of(name.rpartition("/")[2]) == number} - {object_of(old)}
    with ThreadPoolExecutor(STREAMS) as pool:
        list(pool.map(objects.delete, sorted(unused)))
    objects.delete(object_of(old))
    return len(unused) + 1


def _chunks(objects: Objects, manifest: str) -> set[str]:
    """The chunks of a manifest; none where it is damaged, because then it cannot be fetched either."""
    try:
        return {f"{CHUNKS}/{chunk}" for chunk in read_manifest(objects, manifest).chunks}
    except IndexDamaged:
        return set()
