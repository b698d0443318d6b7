from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hoptrail.language.chat import schemas
from hoptrail.language.chat.prompting import known_prompts, load_prompt
from hoptrail.language.tasks import TASK_NAMES
from hoptrail.models.prompt_text import estimated_tokens

NAMES = known_prompts()
APART = {"repair", "schema"}


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
    prompt = replace(load_prompt("recall"), given="$a and $b")
    assert prompt.fill({"a": "$b", "b": "$$ ${a}"})[1].text == "$b and $$ ${a}"
