from __future__ import annotations

from importlib.resources import files

import pytest

from hoptrail.errors import UsageError
from hoptrail.language.chat import schemas
from hoptrail.language.chat.prompting import load_prompt, parse_prompt
from hoptrail.language.tasks import TASK_NAMES

NAMES = sorted(place.name.removesuffix(".md") for place in (files("hoptrail.language.chat") / "prompts").iterdir())
HEAD = "names: a, b\nreply: x\nsource: y\n---\nDo it.\n---\n"


def test_every_task_has_a_prompt() -> None:
    assert set(TASK_NAMES.values()) <= set(NAMES)
    assert set(NAMES) - set(TASK_NAMES.values()) == {"decompose_next", "repair", "schema"}


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_is_filled_by_exactly_its_names(name: str) -> None:
    prompt = load_prompt(name)
    system, user = prompt.fill({given: f"<{given}>" for given in prompt.names})
    assert (system.role, user.role) == ("system", "user")
    for given in prompt.names:
        assert f"<{given}>" in user.text
    assert "$" not in user.text


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"repair", "schema"}))
def test_every_task_prompt_shows_the_form_it_declares(name: str) -> None:
    """JSON mode wants the word, and every field of the reply's class stands in the instructions."""
    prompt = load_prompt(name)
    assert "JSON" in prompt.instructions
    reply = getattr(schemas, prompt.reply)
    for field in reply.model_fields:
        assert f'"{field}"' in prompt.instructions


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
        ("names: a\n---\n$a", "2 parts"),
        (HEAD.replace("reply", "answer") + "$a $b", "declares names, answer, source"),
    ],
)
def test_prompts_that_contradict_themselves_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_prompt("test", text)


def test_there_is_no_prompt_of_another_name() -> None:
    with pytest.raises(UsageError, match="no prompt nothing"):
        load_prompt("nothing")
