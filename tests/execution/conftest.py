"""Executors under test. What needs Ray is marked `ray` and left out unless asked for: starting it takes many seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail_scale.on_ray import RayExecutor


@pytest.fixture(scope="session")
def on_ray() -> Iterator[RayExecutor]:
    """Ray with two cores, started for these tests; or the cluster that RAY_ADDRESS names, whose workers find `far_work`."""
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        with RayExecutor(os.environ.get("RAY_ADDRESS", ""), workers=2) as executor:
            yield executor


@pytest.fixture(params=["here", pytest.param("ray", marks=pytest.mark.ray)])
def executor(request: pytest.FixtureRequest) -> Executor:
    """Each executor there is."""
    return LOCAL_EXECUTOR if request.param == "here" else request.getfixturevalue("on_ray")
