"""The pages keep their word: every example runs, every link leads somewhere, and nothing public is left unsaid.

A fenced block is of one of these kinds, by its first word; a kind that is not known here is an error, so that no example
escapes by a new name.

    python     runs in a folder with the sample corpus; the blocks of a page share their names, as in a notebook
    console    lines that begin with `$ ` run in a shell in that folder and must exit 0; other lines are what they print
    sh         commands for the reader's machine (installing, make); each `make` target named must exist
    toml       is read as settings
    json       is read as JSON
    text       is for the eye
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from benchmarks import limits

import hoptrail
from hoptrail.evaluation.answer_scores import Rule
from hoptrail.index.settings import Settings, load_settings
from hoptrail.recipes.registry import recipe_names
from hoptrail.serving.cli import app

ROOT = Path(__file__).parents[1]
SKILL = ROOT / "skills" / "hoptrail" / "SKILL.md"
PAGES = [*sorted(ROOT.glob("[A-Z]*.md")), SKILL, *sorted((ROOT / "docs").glob("**/*.md"))]
KINDS = {"python", "console", "sh", "toml", "json", "text"}
FENCE = re.compile(r"^(?P<fence>```+|~~~+)(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
NEEDS_MODEL = re.compile(r"--language chat|language=\"chat\"|--language replay|hoptrail replies|OPENAI_")


@dataclass(frozen=True)
class Example:
    """A fenced block and where it stands."""

    page: Path
    line: int
    kind: str
    body: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def examples_of(page: Path) -> list[Example]:
    text = page.read_text(encoding="utf-8")
    return [
        Example(page, text[: found.start()].count("\n") + 1, found["kind"].strip(), found["body"])
        for found in FENCE.finditer(text)
    ]


EXAMPLES = [example for page in PAGES for example in examples_of(page)]
RUN = {page: [one for one in examples_of(page) if one.kind in {"python", "console"}] for page in PAGES}


def of_kind(kind: str) -> list[Example]:
    return [one for one in EXAMPLES if one.kind == kind]


def commands_by_name() -> dict[str, set[str]]:
    """Every command with its options and arguments."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    return {
        name: {
            text
            for parameter in group.get_command(context, name).params
            for text in parameter.opts
            if text.startswith("-")
        }
        for name in group.list_commands(context)
    }


COMMANDS = commands_by_name()


# --- examples


def test_pages_hold_examples_and_no_fence_is_left_open() -> None:
    assert EXAMPLES
    for page in PAGES:
        fences = re.findall(r"^(?:```|~~~)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(examples_of(page)), f"{page}: a fence that does not close"


def test_every_example_says_what_it_is() -> None:
    for example in EXAMPLES:
        assert example.kind in KINDS, f"{example.place} is {example.kind!r}, not one of {sorted(KINDS)}"
        assert example.body.strip(), example.place


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], list[str]]:
    """What went wrong with the examples of each page, then of the trial pages; pages with the same examples are followed once."""
    pages = {page.name: steps_of(page) for page, found in RUN.items() if found}
    distinct = {without_places(steps): steps for steps in pages.values()}
    # Those without a command first, so that no module is there for them only because a command has imported it.
    ordered = sorted(distinct.values(), key=lambda steps: any(step.kind == "console" for step in steps))
    found = follow([*ordered, *trial_pages()], tmp_path_factory.mktemp("reader"))
    of_steps = {without_places(steps): failure for steps, failure in zip(ordered, found, strict=False)}
    return {name: of_steps[without_places(steps)] for name, steps in pages.items()}, found[len(ordered) :]


@pytest.mark.timeout(480)  # the first one waits until all pages have been followed
@pytest.mark.parametrize("page", [page.name for page, found in RUN.items() if found])
def test_the_examples_of_a_page_run_in_their_order(page: str, followed: tuple[dict[str, str], list[str]]) -> None:
    """In a folder of its own, from top to bottom, as a reader would: what one example makes, the next may use."""
    assert not followed[0][page], followed[0][page]


@pytest.mark.timeout(480)
def test_a_broken_example_is_named_and_harms_no_other_page(followed: tuple[dict[str, str], list[str]]) -> None:
    found = followed[1]
    assert ["page.md:7" in failure and "page.md:9" not in failure for failure in found] == [True] * 3 + [False] * 2
    assert found[3:] == ["", ""]


def trial_pages() -> list[list[Step]]:
    """Three with a broken example, one that changes its surroundings, and one that fails if they are not as they were."""
    broken = [("python", "kept = 1 / 0"), ("console", "hoptrail show --index nothing"), ("console", "exit 3 | exit 4")]
    changing = "import os; kept = os.environ['CHANGED'] = open('new', 'w').write('x') and 'yes'"
    unchanged = (
        "import os; assert (os.listdir(), 'kept' in dir(), 'CHANGED' in os.environ) == (['examples'], False, False)"
    )
    return [
        *([Step(kind, "page.md:7", body), Step("python", "page.md:9", "1 / 0")] for kind, body in broken),
        [Step("python", "page.md:1", changing)],
        [Step("python", "page.md:1", unchanged)],
    ]


class Step(NamedTuple):
    """One thing to do, and the place that says so."""

    kind: str
    place: str
    body: str


def steps_of(page: Path) -> list[Step]:
    return [
        Step(example.kind, example.place, command)
        for example in RUN[page]
        for command in ([example.body] if example.kind == "python" else commands_of(example))
        if not only_with_model(example, command)
    ]


def without_places(steps: list[Step]) -> tuple[tuple[str, str], ...]:
    return tuple((step.kind, step.body) for step in steps)


def follow(pages: list[list[Step]], folder: Path) -> list[str]:
    """What went wrong with each page, if anything. Its steps are done in their order, in a folder with the sample corpus.

    One process does it all: models are loaded once, and what one page has encoded or read is not encoded or read again.
    """
    folders = [folder / str(number) for number in range(len(pages))]
    for one in folders:
        shutil.copytree(ROOT / "examples", one / "examples")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", READER, str(folder / "failures.json"), str(Path(__file__).parent)],
        input=json.dumps([[str(one), steps] for one, steps in zip(folders, pages, strict=True)]),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    output = f"{ended.stdout}\n{ended.stderr}"
    assert ended.returncode == 0, output
    failures: list[str] = json.loads((folder / "failures.json").read_text(encoding="utf-8"))
    return [f"{failure}\n{output}" if failure else "" for failure in failures]


READER = """
import json, os, re, shlex, subprocess, sys, traceback

def run(body):
    if not body.startswith("hoptrail ") or re.search(r"[|&;<>$`*?]", re.sub(r'"[^"$`]*"', "", body)):
        ended = subprocess.run(["/bin/sh", "-e", "-c", body], stdin=subprocess.DEVNULL)
        return ended.returncode
    from hoptrail.serving.cli import main# a plain command of ours needs no process of its own
    sys.argv = shlex.split(body)
    try:
        main()
    except SystemExit as ended:
        return ended.code or 0

sys.path.append(sys.argv[2])
import shared_models  # what another process of this run has computed is not computed again
sys.path.pop()
for name, once in {shared_models.OPEN_ENCODER: shared_models.open_once, **shared_models.INSTALLED}.items():
    setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], once)

def follow(steps):
    names = {"__name__": "__main__"}
    for kind, place, body in steps:
        if kind == "python":
            exec(compile(body, place, "exec"), names)
        elif code := run(body):
            sys.exit(f"{place}: exit code {code}: {body}")

result, environment, failures = sys.argv[1], dict(os.environ), []
for folder, steps in json.load(sys.stdin):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment, HOME=folder)
    failures.append("")
    try:
        follow(steps)
    except BaseException:
        failures[-1] = traceback.format_exc()
with open(result, "w", encoding="utf-8") as file:
    json.dump(failures, file)
"""


def commands_of(example: Example) -> list[str]:
    """The commands of a console block; one that ends in a backslash goes on in the next line."""
    commands: list[str] = []
    going_on = False
    for line in example.body.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif going_on:
            commands[-1] += f"\n{line.removeprefix('> ')}"
        going_on = bool(commands) and commands[-1].endswith("\\")
    assert commands, f"{example.place} is a console block without a command: lines begin with `$ `"
    return commands


def only_with_model(example: Example, command: str) -> bool:
    """Whether this needs a model's endpoint, which is not here; then at least the names in it are checked."""
    if not NEEDS_MODEL.search(command):
        return False
    if example.kind == "python":
        ast.parse(command)
    for used in re.findall(r"hoptrail ([a-z]+)", command if example.kind == "console" else ""):
        assert used in COMMANDS, f"{example.place}: there is no command {used}"
        unknown = set(re.findall(r"(?<=\s)--[a-z-]+", command)) - COMMANDS[used]
        assert not unknown, f"{example.place}: {used} has no option {unknown}"
    return True


def environment(folder: Path) -> dict[str, str]:
    """The environment of the person of the README: the commands on the path, no settings, a home that is empty."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOPTRAIL_", "OPENAI_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return kept | {"PATH": path, "HOME": str(folder)}


def test_settings_on_a_page_are_settings(tmp_path: Path) -> None:
    for example in of_kind("toml"):
        (tmp_path / example.place.replace("/", "-")).write_text(example.body, encoding="utf-8")
        load_settings(tmp_path / example.place.replace("/", "-"))


def test_json_on_a_page_is_json() -> None:
    for example in of_kind("json"):
        for text in example.body.splitlines() if example.body.count("\n{") else [example.body]:
            json.loads(text)


def test_make_targets_on_a_page_exist() -> None:
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for example in of_kind("sh"):
        assert set(re.findall(r"^make (\w+)", example.body, re.MULTILINE)) <= targets, example.place


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| behaviour | file |\n|---|---|\n")[2].partition("\n\n")[0]
    first = [row.split("|")[2].strip(" `") for row in table.splitlines()]
    assert len(first) >= 12
    named = [*first, *re.findall(r"`([\w.-]+/[\w./-]+\.py)`", text)]
    folders = (ROOT, ROOT / "src", ROOT / "src" / "hoptrail")
    missing = [name for name in named if not any((folder / name).is_file() for folder in folders)]
    assert not missing, f"CONTRIBUTING.md names files that are not there: {', '.join(missing)}"


def test_tables_of_figures_are_those_of_the_results() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "benchmarks.matrix", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_the_limits_are_those_of_the_results() -> None:
    names = (
        "own_notes",
        "handbook_minutes",
        "harbour-museum",
        "debian-manuals",
        "cooperative",
        "seabird-lab",
        "film-society",
        "vet-practice",
        "allotment-garden",
        "community-radio",
        "roofing-firm",
        "seed-bank",
        "translation-agency",
    )
    reports = [json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    page = limits.DOCUMENT.read_text(encoding="utf-8")
    assert limits.by_folder(reports) in page
    assert limits.by_type(reports) in page


# --- coverage


PAST = {"CHANGELOG.md", "diary.md"}  # they name what is gone as well, so a name in them alone is not documented
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name not in PAST)
CODE = "\n".join(re.findall(r"`[^`\n]+`", FENCE.sub("", TEXT)) + [example.body for example in EXAMPLES])
"""What stands in backticks or in a fenced example."""


def said(word: str) -> bool:
    """Whether the pages hold a word in code."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", CODE) is not None


def shown_as_setting(path: str) -> bool:
    """By its full path, or by its key under the heading of its table."""
    table, _, key = path.rpartition(".")
    listed = re.compile(rf"^\[{re.escape(table)}\]$(?:\n(?!\[).*)*?\n{re.escape(key)}\s*=", re.MULTILINE)
    return said(path) or any(listed.search(example.body) for example in EXAMPLES)


def setting_names(settings: Any, path: str = "") -> list[str]:
    """Every setting by its full path."""
    names: list[str] = []
    for field in (one for one in fields(settings) if one.repr):
        value = getattr(settings, field.name)
        name = f"{path}{field.name}"
        names += setting_names(value, f"{name}.") if is_dataclass(value) else [name]
    return names


def check_none(missing: list[str], page: str) -> None:
    assert not missing, f"on no page, add them to docs/{page}: {', '.join(missing)}"


def test_every_command_is_on_a_page() -> None:
    check_none(
        [name for name in COMMANDS if not re.search(rf"hoptrail {name}\b|\*\*{name}\*\*|`{name}`", TEXT)], "commands.md"
    )


def test_every_option_is_on_a_page() -> None:
    options = {option for options in COMMANDS.values() for option in options} - {"--help"}
    check_none([option for option in sorted(options) if not said(option)], "commands.md")


def test_every_recipe_is_on_a_page() -> None:
    check_none([name for name in recipe_names() if not said(name)], "recipes.md")


def test_every_rule_of_scoring_is_on_a_page() -> None:
    check_none([rule.value for rule in Rule if not said(rule.value)], "commands.md")


def test_every_exit_code_is_on_a_page() -> None:
    assert re.search(r"0 done, 1 failed, 2 wrong usage, 3 stopped but resumable, 4 done but", " ".join(TEXT.split()))


def test_every_setting_is_on_a_page() -> None:
    check_none([path for path in setting_names(Settings()) if not shown_as_setting(path)], "settings.md")


def test_every_public_name_is_on_a_page() -> None:
    check_none([name for name in hoptrail.__all__ if not said(name)], "python.md")


def test_the_coverage_can_fail() -> None:
    assert not said("no-such-word")
    assert not shown_as_setting("recipes.no_such_recipe.k")
