"""Made questions that need two statements: one pair answers, and the others lack what the answer needs."""

from __future__ import annotations

import random

from training.contrast.paths import path


def test_the_answer_stands_in_the_second_statement_and_only_the_right_pair_answers() -> None:
    for seed in range(500):
        one = path(random.Random(seed))
        assert one == path(random.Random(seed))
        assert one.right[1][one.start :].startswith(one.answer)
        assert one.right not in one.wrong
        assert len(one.wrong) == len(set(one.wrong))
        assert "{" not in one.question + "".join(one.right)


def test_the_first_statement_is_read_before_the_second() -> None:
    for seed in range(50):
        one = path(random.Random(seed))
        right, *others = one.examples
        assert (right.before, right.text, right.answer) == (*one.right, one.answer)
        assert [(other.before, other.text) for other in others] == list(one.wrong)
        assert not any(other.answered for other in others)
        assert {one.question} == {example.question for example in one.examples}
