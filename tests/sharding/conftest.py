"""A corpus in shards on an object store, and the same in one index."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from hoptrail.index.index import Index
from hoptrail_scale.publishing.fetching import restore
from hoptrail_scale.sharding.building import build_shards, shard_addresses
from hoptrail_scale.sharding.shard import LocalShards
from hoptrail_scale.sharding.sharded_index import ShardedIndex
from object_store import FaultyStore, use
from publishing.conftest import address, bucket, server, store
from sharding.towns import write_towns
from world import HashingEncoder

__all__ = ["address", "bucket", "server", "store"]

COUNT = 4


@pytest.fixture(autouse=True)
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of hashed words, everywhere."""
    use_hashing(monkeypatch)


def use_hashing(patch: pytest.MonkeyPatch) -> None:
    for module in (
        "hoptrail.models.encoder_factory",
        *(f"hoptrail_scale.sharding.{one}" for one in ("building", "sharded_index")),
    ):
        patch.setattr(f"{module}.open_encoder", lambda *_, **__: HashingEncoder())


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    return write_towns(tmp_path / "towns")


@dataclass(frozen=True, slots=True)
class Built:
    """The towns in one index, and in shards at an address, with a copy of these. To be copied."""

    whole: Path
    address: str
    shards: Path


@pytest.fixture(scope="session")
def built(server: FaultyStore, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("towns")
    made = Built(folder / "whole", "s3://bucket-of-towns/the index", folder / "shards")
    server.make_bucket("bucket-of-towns")
    with pytest.MonkeyPatch.context() as patch:
        use(server, patch)
        use_hashing(patch)
        towns = write_towns(folder / "towns")
        Index(made.whole).add(towns, ["trail"])
        build_shards([towns], made.address, COUNT, ["trail"])
        opened(made.address, COUNT, made.shards).close()
    return made


@pytest.fixture
def whole(built: Built, tmp_path: Path) -> Index:
    """All documents in one index."""
    return Index(shutil.copytree(built.whole, tmp_path / "whole"))


@pytest.fixture
def sharded(built: Built, tmp_path: Path) -> Iterator[ShardedIndex]:
    """The same documents in shards, fetched from their addresses."""
    shutil.copytree(built.shards, tmp_path / "shards")
    with closing(LocalShards([tmp_path / "shards" / str(number) for number in range(COUNT)])) as shards:
        yield ShardedIndex(shards)


def opened(address: str, count: int, folder: Path) -> LocalShards:
    """The shards at an address, fetched into a new folder."""
    for number, one in enumerate(shard_addresses(address, count)):
        restore(one, folder / str(number))
    return LocalShards([folder / str(number) for number in range(count)])
