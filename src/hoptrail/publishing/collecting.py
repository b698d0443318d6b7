"""Removing from an object store what only old publications name.

A publication goes, the oldest first, some time after a newer one has replaced it, but never the current one or the one before.
With it go the chunks that the next one has dropped, and what publishers sent under its number and failed to publish. The pointer
names it until its manifest is gone, which is last: so what was interrupted is done again.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

from hoptrail.errors import IndexDamaged
from hoptrail.publishing.manifest import (
    CHUNKS,
    MANIFESTS,
    Pointer,
    number_of,
    object_of,
    read_manifest,
)
from hoptrail.publishing.objects import STREAMS, Objects

KEEP_HOURS = 48.0
"""How long somebody may take to fetch a publication that has been replaced."""


def kept(objects: Objects, pointer: Pointer | None) -> tuple[str, ...]:
    """The manifests that a pointer names and that are still there; the current one always is."""
    if pointer is None:
        return ()
    there = objects.written(MANIFESTS)
    return tuple(name for name in pointer.manifests if object_of(name) in there)


def collect(objects: Objects, pointer: Pointer, keep_hours: float) -> int:
    """Remove the publications that were replaced longer ago; how many objects went. `pointer` is the current one.

    Hours are counted by the clock of the store, from when the newer manifest was written to when the newest was.
    """
    written = objects.written(MANIFESTS)
    names = [name for name in pointer.manifests if object_of(name) in written]
    oldest = max(written.values()) - timedelta(hours=keep_hours)
    replaced = [(old, new) for new, old in pairwise(names)][1:]
    gone = [(old, new) for old, new in replaced if written[object_of(new)] <= oldest]
    return sum(_remove(objects, old, new, written) for old, new in reversed(gone))


def _remove(objects: Objects, old: str, new: str, manifests: Iterable[str]) -> int:
    """Remove a publication but for what the next one has taken over."""
    number = number_of(old)
    named, taken_over = _chunks(objects, old), _chunks(objects, new)
    gone = (named | set(objects.written(f"{CHUNKS}/{number}"))) - taken_over
    gone |= {name for name in manifests if number_of(name.rpartition("/")[2]) == number} - {object_of(old)}
    with ThreadPoolExecutor(STREAMS) as pool:
        list(pool.map(objects.delete, sorted(gone)))
    objects.delete(object_of(old))
    return len(gone) + 1


def _chunks(objects: Objects, manifest: str) -> set[str]:
    """The objects that a manifest names as chunks; none where it is damaged, since then nobody can fetch it either."""
    try:
        return {f"{CHUNKS}/{chunk}" for chunk in read_manifest(objects, manifest).chunks}
    except IndexDamaged:
        return set()
