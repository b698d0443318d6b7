"""Making shards: workers build an index of their part each, and publish it below one address.

The number of shards is written last, so that nobody finds a corpus that was never complete. A later run brings every shard in
step with the sources, and sends what has changed. Each shard publishes by itself: until all have, a changed document may be
missing or there twice. Workers read the sources themselves, at the same paths on every machine. Each reads all of them in
every run, because a document's part depends on its content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hoptrail.documents.splitting import CorpusPart
from hoptrail.errors import IndexDamaged, IndexUnavailable, UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work
from hoptrail.index.index import Index
from hoptrail.index.indexing import add
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import open_encoder
from hoptrail_scale.on_ray import RayExecutor
from hoptrail_scale.publishing.fetching import restore
from hoptrail_scale.publishing.objects import Objects, StoreAddress
from hoptrail_scale.publishing.sending import publish
from hoptrail_scale.sharding.actors import RayShards
from hoptrail_scale.sharding.sharded_index import ShardedIndex, check_recipe

COUNT = "shards.json"
"""The object that holds the number of shards."""


def build_shards(
    sources: Sequence[str | Path],
    address: str,
    count: int,
    recipes: Sequence[str] = (),
    settings: Settings | None = None,
    executor: Executor = LOCAL_EXECUTOR,
) -> list[IndexingReport]:
    """Build or update the shards of a corpus on an object store. Returns the report of each.

    Raises:
        UsageError: it is not an address, shards cannot be searched with a recipe, or the address holds another number of shards.
        WorkFailed: a shard cannot be built; those that were published are found by the next run.
    """
    settings = settings or Settings()
    if count < 1:
        raise UsageError("a corpus has at least one shard.")
    for name in recipes or (settings.recipe,):
        check_recipe(name)
    objects = Objects(StoreAddress.of(address))
    try:
        stored = _count_at(objects)
    except IndexDamaged:
        stored = None  # it is written anew
    if stored not in (None, count):
        raise UsageError(f"{address} holds {stored} shards, not {count}: name another address for another number.")
    places = [str(Path(source).resolve()) for source in sources]
    build = partial(_build, sources=places, address=address, recipes=tuple(recipes), settings=settings)
    work = Work("building shard", build, str)
    reports = list(executor.map(work, [CorpusPart(number, count) for number in range(1, count + 1)]))
    objects.put(COUNT, json.dumps({"shards": count}).encode())
    return reports


def open_shards(address: str, executor: RayExecutor, settings: Settings | None = None) -> ShardedIndex:
    """Open the shards at an address as actors of Ray, which live as long as `executor` is entered.
    Raises: IndexUnavailable: there are none. Otherwise as `ShardedIndex`.
    """
    count = _count_at(Objects(StoreAddress.of(address)))
    if count is None:
        raise IndexUnavailable(f"there are no shards at {address}. Build them with `hoptrail shards`.")
    return ShardedIndex(RayShards(executor, shard_addresses(address, count)), settings)


def shard_addresses(address: str, count: int) -> list[str]:
    return [f"{address.rstrip('/')}/{CorpusPart(number, count)}" for number in range(1, count + 1)]


def _build(
    part: CorpusPart, sources: Sequence[str], address: str, recipes: Sequence[str], settings: Settings
) -> IndexingReport:
    """In a worker: bring one shard up to date, from what is published of it, and publish it."""
    address = shard_addresses(address, part.count)[part.number - 1]
    with TemporaryDirectory(prefix="hoptrail-shard-", ignore_cleanup_errors=True) as temporary:
        folder, damaged = Path(temporary, "index"), False
        try:
            restore(address, folder)
        except IndexDamaged:  # a kind of IndexUnavailable
            damaged = True
        except IndexUnavailable:
            pass  # the first run
        encoder = open_encoder(settings.encoder, threads=1)  # a task of Ray has one core
        report = build_part(folder, sources, recipes, settings, part, encoder)
        publish(folder, address, afresh=damaged)
    return report


def build_part(
    folder: Path,
    sources: Sequence[str | Path],
    recipes: Sequence[str],
    settings: Settings,
    part: CorpusPart,
    encoder: Encoder,
) -> IndexingReport:
    """Bring the index of one part of a corpus in step with its sources. Raises: as `Index.add`."""
    index = Index(folder, settings)
    index.encoder = encoder
    options = ReadingOptions(sync=settings.sync, selection=settings.selection, part=part, limits=settings.reading)
    return add(index, sources, recipes, None, options)


def _count_at(objects: Objects) -> int | None:
    """The number of shards at an address; None where there are none."""
    content = objects.get(COUNT)
    if content is None:
        return None
    try:
        return int(json.loads(content)["shards"])
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{COUNT} at {objects.address} cannot be read. Build the shards again.") from error
