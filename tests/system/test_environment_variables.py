"""Variables of the environment: read by name or pattern, and set only where nobody has."""

from __future__ import annotations

import os
import re

import pytest

from hoptrail.system.environment_variables import set_default, variable, variables


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"FOSS_B": "2", "FOSS_A": "", "MY_FOSS": "x", "FOSSIL": "y"})


def test_a_variable_that_is_not_set_is_empty() -> None:
    assert (variable("FOSS_B"), variable("FOSS_A"), variable("FOSS_C")) == ("2", "", "")


def test_variables_match_from_their_beginning_and_come_by_name() -> None:
    assert list(variables(re.compile("FOSS_")).items()) == [("FOSS_A", ""), ("FOSS_B", "2")]
    assert variables(re.compile("nothing")) == {}


def test_a_default_replaces_nothing_not_even_an_empty_value() -> None:
    for name in ("FOSS_A", "FOSS_B", "FOSS_C"):
        set_default(name, "default")
    assert [variable(name) for name in ("FOSS_A", "FOSS_B", "FOSS_C")] == ["", "2", "default"]
