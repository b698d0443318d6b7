"""What the reader learns from: examples read, examples made, batches, and the manifest that evaluation asks."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from training.batches import UNTAUGHT, Pieces, Ranked, cut, encode, step_of
from training.compared import learned
from training.contrast import blocks
from training.examples import Example, Verdict, answered_at
from training.linked import linked, links_of
from training.made import Distractors, Fact, facts, stated
from training.manifest import trained_on, write_trained
from training.manuals import manual
from training.mixture import ROUND, SHARES, Pools
from training.sources import MultiHop, head_rows
from training.statements import Choice

from hoptrail.errors import DataError
from hoptrail.models.local import packaged_folder
from hoptrail.models.networks import fingerprint, read_trained
from training import made, sources

BERG = "Ida Berg keeps the harbour. Before her it was kept by Jon Lie for thirty years, through two wars. It is old."


def example(question: str = "Who keeps the harbour?", answer: str = "Ida Berg", text: str = BERG) -> Example:
    return answered_at("test", question, text, text.index(answer), text.index(answer) + len(answer))


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


@pytest.mark.parametrize(("columns", "wrong"), [(1, 2), (1, -1), (3, 3)])
def test_a_label_that_a_head_cannot_say_is_named(tmp_path: Path, columns: int, wrong: int) -> None:
    rows = [{"question": "", "text": BERG, "label": label} for label in range(max(columns, 2))]
    write_lines(tmp_path / "kept.jsonl", rows)
    assert head_rows(tmp_path / "kept.jsonl", columns) == rows
    write_lines(tmp_path / "kept.jsonl", [*rows, rows[0] | {"label": wrong}])
    with pytest.raises(
        DataError, match=f"row {len(rows) + 1}: the label is 0 to {max(columns, 2) - 1} .*, not {wrong}"
    ):
        head_rows(tmp_path / "kept.jsonl", columns)


@pytest.fixture
def multi_hop(tmp_path: Path) -> Path:
    passages = {
        "p1": ("The Gull (ship)", "The Gull was built by Ida Berg."),
        "p2": ("Ida Berg", "Ida Berg was born in Bodø."),
        "p3": ("Bodø", "Bodø is a town."),
        "p4": ("Moss", "Moss is measured."),
    }
    write_lines(
        tmp_path / "corpus.jsonl",
        [{"id": name, "title": title, "text": text} for name, (title, text) in passages.items()],
    )
    steps = [
        {"question": "Who built The Gull?", "answer": "Ida Berg", "supporting": ""},
        {"question": "Where was #1 born?", "answer": "Bodø", "supporting": "p2"},
    ]
    question: dict[str, Any] = {"id": "q1", "question": "Where was the builder of The Gull born?", "answers": ["Bodø"]}
    question |= {"supporting": ["p1", "p2"], "supporting_sentences": [], "decomposition": steps}
    question |= {"candidates": ["p1", "p2", "p3", "p4"]}
    write_lines(tmp_path / "questions.jsonl", [question, question | {"id": "q2", "supporting": ["p4"]}])
    return tmp_path


def test_steps_stand_beside_the_passage_that_names_their_answer(multi_hop: Path) -> None:
    data = sources.read_multi_hop(multi_hop, {fingerprint("Moss is measured.")})
    assert [line["id"] for line in data.questions] == ["q1"]  # the other rests on a passage that is held out
    first, second = sources.steps(data)
    assert (first.question, first.answer) == ("Who built The Gull?", "Ida Berg")
    assert (second.question, second.answer) == ("Where was Ida Berg born?", "Bodø")
    assert second.text == "Ida Berg\nIda Berg was born in Bodø."


def test_passages_are_judged_after_those_read_before(multi_hop: Path) -> None:
    data = sources.read_multi_hop(multi_hop, {fingerprint("Moss is measured.")})
    judged = [(one.text.split("\n")[0], bool(one.before), one.helps) for one in sources.helping(data)]
    assert judged == [("The Gull (ship)", False, True), ("Bodø", False, False), ("Ida Berg", True, True)]
    (whole,) = sources.whole_questions(data)
    assert whole.answer == "Bodø"


def test_yes_and_no_to_whole_questions_are_verdicts(multi_hop: Path) -> None:
    path = multi_hop / "questions.jsonl"
    asked = json.loads(path.read_text("utf-8").splitlines()[0])
    write_lines(path, [asked | {"id": answer, "answers": [answer]} for answer in ("yes", "no")])
    data = sources.read_multi_hop(multi_hop)
    assert [one.verdict for one in sources.whole_questions(data)] == [Verdict.YES, Verdict.NO]
    assert list(sources.after_others(data)) == []


def test_spans_and_judgements_are_read(tmp_path: Path) -> None:
    span = {"source": "qamr_dev", "question": "Who keeps it? ", "text": BERG, "answer": "Ida Berg", "start": 0}
    claim = {"source": "fever", "claim": "Ida left.", "text": BERG, "supported": False}
    asked = {"source": "boolq", "question": "is it old", "text": BERG, "answer": "yes"}
    for name, lines in (("spans", [span, span | {"source": "qed_dev"}]), ("yes_no", [claim, asked])):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    assert [(pool, one.question, one.answer) for pool, one in sources.spans(tmp_path)] == [
        ("sentences", "Who keeps it?", "Ida Berg"),
        ("reading", "Who keeps it?", "Ida Berg"),
    ]
    assert [one.verdict for one in sources.judgements(tmp_path)] == [Verdict.NO, Verdict.YES]


def test_rows_hold_their_answers_or_none() -> None:
    asked = [example("What ship sails there?", "harbour") for _ in range(5)]
    kinds = made.kinds_of(asked, ["The Gull", "Ida Berg"])
    rows = [made.row(kinds, random.Random(seed)) for seed in range(60)]
    for row in rows:
        values = [part.rpartition(": ")[2] for line in row.text.splitlines() for part in line.split("; ")]
        assert (row.answer in values) == bool(row.answered)
    assert {row.answered for row in rows} == {True, False}
    assert rows == [made.row(kinds, random.Random(seed)) for seed in range(60)]


def test_a_question_without_an_answer_stands_beside_a_text_that_lacks_it() -> None:
    other = example("Which port?", "ports", "Many ports lie along the coast, and each has a harbour of its own.")
    distractors = Distractors.of([example().text, other.text])
    left = made.unanswerable(example(), distractors, random.Random(0))
    assert (left.text, left.answered, left.helps) == (other.text, False, False)
    without = made.without_answer(example())
    assert without is not None
    assert "Ida Berg" not in without.text
    claim = Example("test", "Ida keeps it.", BERG, verdict=Verdict.YES)
    assert claim.unanswered_by(other.text, "test").verdict is Verdict.NEITHER


def test_questions_as_people_type_them() -> None:
    assert made.terse("When was the harbour of Oslo built?") == "harbour Oslo built"
    assert made.terse("Who is he?") == "Who is he?"
    assert {made.misspelt("harbour", random.Random(seed)) for seed in range(9)} != {"harbour"}


def test_a_question_becomes_a_noun_phrase() -> None:
    assert made.phrase_of("Who founded Orrin Glass?") == "the person who founded Orrin Glass"
    assert made.phrase_of("Which river flows through Varden?") == "the river that flows through Varden"
    assert not made.phrase_of("Why did Ida Berg leave Orrin Glass?")
    asked = example("Who founded the harbour of Varden?")
    worded = {made.as_typed(asked, random.Random(seed)).question for seed in range(40)}
    assert "Who is the person who founded the harbour of Varden?" in worded


def test_what_another_text_says_of_a_name_takes_its_place() -> None:
    founded = example("Who founded the town of Varden?", "Ida Berg", "Ida Berg founded the town of Varden.")
    retired = example("When did Ida Berg retire?", "1912", "Ida Berg retired in 1912.")
    kinds = made.Kinds({"ship": ("Gull", "Tern"), "river": ("Aume",)}, ("Orrin Glass", "Bo Marsh"))
    links = links_of([founded, retired])
    assert links.names == ("Ida Berg",)
    assert [one.asked_of("the person who founded Varden") for one in links.bridged] == [
        "When did the person who founded Varden retire?"
    ]
    found = [
        linked(links, kinds, Distractors.of(["Bo Marsh retired in 1950."]), random.Random(seed)) for seed in range(80)
    ]
    for one in found:
        if one.answered and one.answer == "1912":
            assert "Ida Berg" in one.before
            assert "Ida Berg" not in one.question
    assert {one.answered for one in found} == {True, False}
    assert any("founded the town" in one.before for one in found)
    assert any(": Ida Berg" in one.before for one in found)  # a table row


def test_a_manual_answers_with_what_stands_beside_the_words_that_are_asked_for() -> None:
    found = [manual(random.Random(seed)) for seed in range(200)]
    assert found == [manual(random.Random(seed)) for seed in range(200)]
    named = [one for one in found if one.answered and one.question.startswith(("Which", "What option"))]
    assert named
    assert all(one.answer in one.text for one in named)
    assert 20 < sum(not one.answered for one in found) < 90


def test_whole_questions_are_read_after_what_the_other_pages_say(multi_hop: Path) -> None:
    data = sources.read_multi_hop(multi_hop, {fingerprint("Moss is measured.")})
    last, *others = sources.after_others(data)
    assert last.before == "The Gull (ship)\nThe Gull was built by Ida Berg."
    assert (last.text, last.answer) == ("Ida Berg\nIda Berg was born in Bodø.", "Bodø")
    assert others == []  # every other page names the answer


FACTS = [Fact("Ida Berg", BERG, 0, 8, ("Who is {}?",)), Fact("Bo Marsh", "Bo Marsh rows.", 0, 2, ("Where is {}?",))]


def test_facts_are_asked_for_and_what_is_not_said_is_not_answered() -> None:
    passages = {
        "1": {"title": "Ida Berg (painter)", "text": "Ida Berg (3 May 1850 – 12 June 1921) was a painter."},
        "2": {"title": "The Gull", "text": "The Gull is a film directed by Bo van Marsh and shown in 1950."},
    }
    found = list(facts(MultiHop("test", (), passages)))
    assert [(fact.title, fact.text[fact.start : fact.end]) for fact in found] == [
        ("Ida Berg", "3 May 1850"),
        ("Ida Berg", "12 June 1921"),
        ("The Gull", "Bo van Marsh"),
    ]
    made_of = [stated(found[2], found, random.Random(seed)) for seed in range(40)]
    assert {one.answer for one in made_of if one.answered} == {"Bo van Marsh"}
    assert any(one.answered is False and "Ida Berg" in one.question for one in made_of)
    assert all("{" not in one.question for one in made_of)


def test_a_round_is_a_function_of_the_seed_and_its_number() -> None:
    asked = [example(f"Who keeps harbour {number}?") for number in range(50)]
    claims = [Example("test", f"Ida keeps {number}.", BERG, verdict=Verdict.YES) for number in range(50)]
    pools = {pool: claims if pool == "yes_no" else asked for pool in SHARES}
    kinds = made.kinds_of([example("What ship sails there?", "harbour") for _ in range(5)], ["The Gull", "Ida Berg"])
    distractors = Distractors.of([example().text, "Another text."])
    links = links_of([example("Who keeps the harbour of Oslo?"), example("What did Ida Berg keep?", "the harbour")])
    choices = [Choice("Who keeps it?", "Ida keeps it.", (), "Ida")]
    near = list(blocks.asked("offices-and-law"))[:8]
    material: tuple[Any, ...] = (pools, {}, kinds, distractors, FACTS, links, choices, near, learned()[:8], 1)
    found = Pools(*material)
    assert found.round(3) == Pools(*material).round(3)
    assert found.round(3) != found.round(4)
    assert len(found.round(3)) == pytest.approx(ROUND, abs=len(SHARES))


def test_pieces_say_where_the_answer_stands() -> None:
    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    long = example(text="Nobody knows. " * 100 + BERG)
    for pieces in encode([example(), long], tokenizer, 112, random.Random(0)):
        assert tokenizer.decode(pieces.ids[pieces.start : pieces.end + 1]) == "ida berg"
    judged = Example("test", "It is old.", BERG, before="It rained.", verdict=Verdict.YES)
    silent = example().unanswered_by("It rained.", "test")
    found = encode([judged, silent], tokenizer, 112, random.Random(0))
    assert [(one.judged, one.start) for one in found] == [((Verdict.YES, UNTAUGHT), UNTAUGHT), ((UNTAUGHT, 0), 0)]


def pieces_of(length: int, start: int = UNTAUGHT) -> Pieces:
    """A question of one piece and a text."""
    return Pieces([101, 7, 102, *range(8, 5 + length), 102][:length], 3, start, start, (UNTAUGHT, 1))


def test_a_step_has_its_sequences_end_to_end() -> None:
    examples = [pieces_of(7, 4), pieces_of(6, 0)]
    asked = [Ranked([pieces_of(5), pieces_of(6)], is_settled=True), Ranked([pieces_of(5)], is_settled=False)]
    asked.append(Ranked([pieces_of(5), pieces_of(5)], is_settled=True))
    step = step_of(examples, asked)
    assert step.starts.tolist() == [0, 7, 13, 18, 24, 29, 34, 39]
    assert step.longest == 7
    for one, begin in zip(
        [*examples, *(said for question in asked for said in question.statements)], step.starts, strict=False
    ):
        assert step.ids[begin : begin + len(one.ids)].tolist() == one.ids
        assert step.segments[begin : begin + len(one.ids)].tolist() == [0] * 3 + [1] * (len(one.ids) - 3)
    assert step.allowed.tolist() == [True, False, False, True, True, True, False, True, False, False, True, True, False]
    assert step.start.tolist() == [4, 0]
    assert step.judged.tolist() == [[UNTAUGHT, 1], [UNTAUGHT, 1]]
    assert step.question.tolist() == [0, 0, 1, 2, 2]
    assert step.settling.tolist() == [0, UNTAUGHT, 3]


def test_examples_are_cut_into_parts_of_the_budget() -> None:
    parts = list(cut([pieces_of(8) for _ in range(8)], 20))
    assert [len(part) for part in parts] == [3, 3, 2]
    assert [len(part) for part in cut([pieces_of(8) for _ in range(7)], 20)] == [3, 3]  # too small a rest


def test_what_was_learned_from_is_refused(tmp_path: Path) -> None:
    write_trained(trained_on(["Who keeps the harbour?", BERG, "2hop__13548_13529", "17"]), tmp_path / "trained.bin")
    trained = read_trained(tmp_path / "trained.bin")
    trained.refuse(["Who left the harbour?"], ["Another text."])
    for questions, texts in ((["who keeps  the harbour?"], []), ([], [BERG]), (["2hop__13548_13529"], [])):
        with pytest.raises(DataError, match="was learned from"):
            trained.refuse(questions, texts)
    trained.refuse(["17"], ["17"])  # a number that somebody typed, and anybody's first questions


def test_distractors_share_rare_words_and_do_not_answer() -> None:
    texts = [f"The {name} harbour lies in the north." for name in ("Oslo", "Bergen", "Bodo", "Tromso")]
    asked = answered_at("test", "Who keeps Bergen harbour?", "Ida Berg keeps Bergen harbour.", 0, 8)
    found = Distractors.of([*texts, asked.text, "Once Ida Berg kept Bergen."]).near(asked)
    assert found[0] == texts[1]
    assert asked.text not in found
    assert not any("Ida Berg" in text for text in found)
