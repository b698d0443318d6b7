"""Shards built and asked on Ray, with an actor killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from execution.conftest import on_ray
from far_work import process
from hoptrail.index.index import Index
from hoptrail_scale.on_ray import RayExecutor
from hoptrail_scale.sharding.actors import RayShards
from hoptrail_scale.sharding.building import build_shards, shard_addresses
from hoptrail_scale.sharding.sharded_index import ShardedIndex
from sharding.conftest import COUNT
from sharding.test_sharded_index import QUESTION, QUESTIONS, ids

__all__ = ["on_ray"]

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture
def hashing() -> None:
    """Workers open the encoder by its name, so these tests use the real one."""


def test_a_killed_actor_is_replaced(address: str, towns: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    executor: RayExecutor = request.getfixturevalue("on_ray")  # after `address`: workers get the environment
    build_shards([towns], address, COUNT, ["trail"], executor=executor)
    whole = Index(tmp_path / "whole")
    whole.add(towns, ["trail"])
    shards = RayShards(executor, shard_addresses(address, COUNT))
    sharded = ShardedIndex(shards)
    expected = {recipe: ids(sharded.search(QUESTION, recipe)) for recipe in ("hybrid", "trail")}
    for question in QUESTIONS:
        assert ids(sharded.search(question, "hybrid")) == ids(whole.search(question, "hybrid"))
    before = shards.all(process)
    os.kill(before[1], signal.SIGKILL)
    assert {recipe: ids(sharded.search(QUESTION, recipe)) for recipe in expected} == expected
    after = shards.all(process)
    assert after[1] != before[1]
    assert [after[0], *after[2:]] == [before[0], *before[2:]]
    shards.close()
