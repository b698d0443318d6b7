"""What counts as a statement, and how it is worded: boxes, questions and notices."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Parsed, ends_within
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.markdown import parse_markdown
from hoptrail.documents.splitting import passages
from hoptrail.text.statements import statements_of, with_boxes_said
from hoptrail.types import Document


def said(text: str) -> list[str]:
    parsed: Parsed = parse_markdown(text.encode(), DEFAULT_LIMITS)
    ends = ends_within(parsed.text, parsed.blocks)
    document = Document("d1", "Notes", parsed.text, ends, ("a.md",), blocks=parsed.blocks)
    return [one.said for unit in passages(document) for one in statements_of(unit)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[ ] Lead present", "Lead present: no (not ticked)"),
        ("[x] Asbestos present", "Asbestos present: yes (ticked)"),
        ("Damp found ☐", "Damp found: no (not ticked)"),
        ("Mould found: ☑", "Mould found: yes (ticked)"),
        ("☒ Asbestos ☐ Lead", "Asbestos: yes (ticked); Lead: no (not ticked)"),
        ("Gas ☑ yes ☐ no", "Gas: yes: yes (ticked); no: no (not ticked)"),
        ("the list a[ ] of x", "the list a[ ] of x"),
        ("if [x] is real", "if [x] is real"),
        ("☐", "no (not ticked)"),
    ],
)
def test_a_box_reads_as_ticked_or_not(line: str, words: str) -> None:
    assert with_boxes_said(line) == words


def test_boxes_of_items_and_rows_are_said() -> None:
    text = "- [ ] Lead present\n- [x] Asbestos present\n\n| Room | TV |\n|---|---|\n| A | ✓ |\n| B | ☐ |\n"
    assert said(text) == [
        "Lead present: no (not ticked)",
        "Asbestos present: yes (ticked)",
        "Room: A; TV: yes (ticked)",
        "Room: B; TV: no (not ticked)",
    ]


def test_a_question_is_no_statement_and_who_asks_it_is_no_part_of_what_follows() -> None:
    chat = "Ruth: Who has the key to the shed?\n\nDev: I gave it to Pilar on Sunday."
    text = f"{chat}\n\nIs it open? Yes. It closes at nine o'clock in the evening."
    assert said(text) == [
        "Who has the key to the shed? Dev: I gave it to Pilar on Sunday.",
        "Is it open? Yes.",
        "Yes. It closes at nine o'clock in the evening.",
    ]


def test_a_notice_does_not_run_on_from_the_text_before_it() -> None:
    assert said("The boat sails at ten. © 2024 Gannet Ltd.") == ["The boat sails at ten.", "© 2024 Gannet Ltd."]
