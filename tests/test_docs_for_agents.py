"""What agents read, `llms.txt` and the skill: in the forms that agents look for, and true to the commands and their JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from hoptrail.types import Answer, Evidence, Kind
from test_docs import COMMANDS, ROOT, SKILL

LLMS = ROOT / "docs" / "llms.txt"
ENTRY = re.compile(r"- \[(?P<name>[^\]]+)\]\((?P<target>[^)]+)\): (?P<about>\S.*)")
LONGEST_DESCRIPTION = 1024


@pytest.mark.parametrize("page", [LLMS, SKILL], ids=lambda page: page.name)
def test_every_command_and_option_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"hoptrail ([a-z]+)((?: [^`\n]*)?)", text)
    commands = [(name, rest) for name, rest in named if re.search(rf"[`$] ?hoptrail {name}", text)]
    assert len(commands) > 3
    for name, rest in commands:
        assert name in COMMANDS, f"there is no command {name}"
        unknown = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest)) - COMMANDS[name]
        assert not unknown, f"{name} has no option {unknown}"
    alone = set(re.findall(r"`(--[a-z-]+)", text))
    assert alone <= set().union(*COMMANDS.values())


def test_llms_txt_has_the_form_that_is_looked_for_and_lists_every_page() -> None:
    lines = LLMS.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# hoptrail"
    assert lines[2].startswith("> ")
    start = next(at for at, line in enumerate(lines) if line.startswith("## "))
    listed = []
    for line in filter(None, lines[start:]):
        if not line.startswith("## "):
            entry = ENTRY.fullmatch(line)
            assert entry is not None, line
            listed.append((LLMS.parent / entry["target"]).resolve())
    assert all(page.is_file() for page in listed)
    assert len(set(listed)) == len(listed)
    assert set(listed) == {*LLMS.parent.glob("*.md"), SKILL}


def test_the_skill_has_the_head_that_agents_choose_it_by() -> None:
    _, head, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    said = yaml.safe_load(head)
    assert said.keys() == {"name", "description"}
    assert said["name"] == SKILL.parent.name
    assert 0 < len(said["description"]) <= LONGEST_DESCRIPTION
    assert len(body.splitlines()) < 500


def test_the_fields_that_the_skill_reads_are_in_the_json() -> None:
    evidence = Evidence("d", "t", 0, 1, "x", "u", said="x", kind=Kind.PASSAGE, hop=0)
    whole = Answer("q", None, "trail", "offline", (evidence,)).to_dict()
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \|$", SKILL.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 6
    for fields, about in rows:
        names = re.findall(r"`(\w+)`", fields)
        inner = set(whole["evidence"][0]) if names[0] == "evidence" else set(whole["trail"] or []) | {"verdict"}
        assert set(names) <= set(whole) | inner
        assert set(re.findall(r"`(\w+)`", about)) <= set(whole) | inner | {"list", "steps"}
