"""The command line inside the test's process: the arguments go in, exit code and what was printed come out."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import typer.main

from hoptrail.serving.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


_built_once = cache(typer.main.get_command)
"""Building the commands of the command line takes longer than many a command runs."""


@dataclass(frozen=True)
class Hoptrail:
    """`hoptrail ARGUMENT...`, without the second that a process costs."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object) -> Ended:
        self.monkeypatch.setattr(typer.main, "get_command", _built_once)
        self.monkeypatch.setattr(sys, "argv", ["hoptrail", *map(str, arguments)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Ended(code or 0, out, err)
