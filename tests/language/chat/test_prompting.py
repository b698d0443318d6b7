from __future__ import annotations

import json
from pathlib import Path

import pytest

from hoptrail.errors import UsageError
from hoptrail.language.chat import schemas
from hoptrail.language.chat.prompting import check_prompts, known_prompts, load_prompt, parse_prompt
from hoptrail.language.tasks import TASK_NAMES
from hoptrail.models.prompt_text import estimated_tokens

NAMES = known_prompts()
APART = {"repair", "schema"}
HEAD = "names: a, b\nreply: x\nsource: y\n--- instructions\nDo it.\n--- given\n"


def test_every_task_has_a_prompt() -> None:
    assert set(TASK_NAMES.values()) <= set(NAMES)
    assert set(NAMES) - set(TASK_NAMES.values()) == {"decompose_next", "integrate_evidence", *APART}


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_is_filled_by_exactly_its_names(name: str) -> None:
    prompt = load_prompt(name)
    system, user = prompt.fill({given: f"<{given}>" for given in prompt.names})
    assert (system.role, user.role) == ("system", "user")
    for given in prompt.names:
        assert f"<{given}>" in user.text
    assert "$" not in user.text


@pytest.mark.parametrize("name", sorted(set(NAMES) - APART))
def test_every_task_prompt_shows_the_form_it_declares(name: str) -> None:
    """JSON mode wants the word; every field of the reply's class stands in the form, reasons before what follows from them."""
    prompt = load_prompt(name)
    assert "JSON" in prompt.form
    fields = list(getattr(schemas, prompt.reply).model_fields)
    places = [prompt.form.index(f'"{field}"') for field in fields if field != "answer"]
    assert places == sorted(places)
    assert prompt.form.rindex('"answer"') > places[0] if "answer" in fields and len(fields) > 2 else True
    if prompt.example:
        shown = [json.loads(line) for line in prompt.example.splitlines() if line.startswith("{")]
        assert [list(getattr(schemas, prompt.reply)(**reply).model_dump()) for reply in shown] == [fields]
        assert [list(reply) for reply in shown] == [fields]


@pytest.mark.parametrize("name", ["extract", "decompose", "decompose_next"])
def test_hard_tasks_have_one_worked_example(name: str) -> None:
    assert load_prompt(name).example.count("An example") == 1


@pytest.mark.parametrize("name", sorted(set(NAMES) - APART - {"recall"}))
def test_small_windows_get_a_short_form(name: str) -> None:
    prompt = load_prompt(name)
    values = dict.fromkeys(prompt.names, "x")
    long, short = (estimated_tokens(prompt.fill(values, short=short)[0].text) for short in (False, True))
    assert short < 0.75 * long
    assert prompt.form in prompt.fill(values, short=True)[0].text


def test_values_are_not_filled_again() -> None:
    prompt = parse_prompt("test", HEAD + "$a and $b")
    assert prompt.fill({"a": "$b", "b": "$$ ${a}"})[1].text == "$b and $$ ${a}"


def test_all_missing_and_surplus_names_are_listed() -> None:
    prompt = parse_prompt("test", HEAD + "$a and $b")
    with pytest.raises(UsageError, match=r"test cannot be filled; missing: a, b; surplus: c, d"):
        prompt.fill({"c": "", "d": ""})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "$a and $c", r"differs.*missing: c; surplus: b"),
        (HEAD + "$a and $b for 5 $", r"differs.*stray"),
        (HEAD.replace("Do it", "Do $a") + "$a and $b", "differs"),
        ("names: a\n--- given\n$a", "no section"),
        (HEAD.replace("reply", "answer") + "$a $b", "declares names, answer, source"),
    ],
)
def test_prompts_that_contradict_themselves_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_prompt("test", text)


def test_there_is_no_prompt_of_another_name() -> None:
    with pytest.raises(UsageError, match="no prompt nothing"):
        load_prompt("nothing")


OWN = """names: question, abstain, evidence
reply: ReadingReply
source: our house
--- instructions
Answer like a lawyer.
--- always
Say null rather than guess.
--- allowed
Null is allowed.
--- never
Null is not allowed.
--- given
$evidence
$question
$abstain
"""


def test_a_folder_of_ones_own_replaces_prompts_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(OWN, encoding="utf-8")
    check_prompts(str(tmp_path))
    assert load_prompt("answer", str(tmp_path)).instructions == "Answer like a lawyer."
    assert load_prompt("sample", str(tmp_path)) == load_prompt("sample")
    check_prompts("")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("anwser.md", OWN, r"anwser\.md is none of the known files: answer\.md, assess\.md"),
        ("answer.txt", OWN, r"answer\.txt is none of the known files"),
        ("answer.md", OWN.replace("evidence", "passages"), "the names of answer.*missing: evidence; surplus: passages"),
        ("answer.md", OWN.replace("--- never\nNull is not allowed.\n", ""), "sections of answer.*missing: never"),
        (
            "answer.md",
            OWN.replace("ReadingReply", "SampleReply"),
            "reply of answer.*missing: ReadingReply; surplus: SampleReply",
        ),
        ("answer.md", OWN.replace("--- given", "--- shown"), "no section"),
    ],
)
def test_prompts_that_cannot_stand_in_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        check_prompts(str(tmp_path))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check_prompts(str(tmp_path / "nowhere"))
