"""Trees made by a chat model, from the command line: estimated, paid once, stored, repaired, removed at no cost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from command import Ended, Hoptrail
from fakeai.brains import task_of
from fakeai.clients import point_at, replies_in, write_settings
from fakeai.server import Body, FakeAI, serving
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.read_sources import read_sources
from hoptrail.types import Document, Kind

EXAMPLES = Path(__file__).parents[2] / "examples" / "harbour"
Build = Callable[..., Ended]


def note_taker(body: Body) -> str:
    """A model for which every sentence is a fact, every capitalised word an entity, and the beginning the summary."""
    prompt = body["messages"][1]["content"]
    if task_of(body) == "summarise":
        words = int(re.search(r"in at most (\d+) words", prompt)[1])  # type: ignore[index]
        text = re.sub(r"</?(?:passage|title)[^>]*>", " ", prompt.rsplit("\n\nSummarise", 1)[0])
        return json.dumps({"summary": "In short: " + " ".join(text.split()[: words - 2])})
    sentences = re.findall(r'<s n="\d+">(.*?)</s>', prompt)
    named = [re.findall(r"\b[A-Z]\w+", sentence) for sentence in sentences]
    facts = [
        {"text": sentence, "entities": names, "sentence": number}
        for number, (sentence, names) in enumerate(zip(sentences, named, strict=True), 1)
    ]
    return json.dumps({"entities": sorted({name for names in named for name in names}), "facts": facts})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(note_taker)) as running:
        point_at(running, monkeypatch)
        yield running


@pytest.fixture
def settings(tiny: Path, tmp_path: Path) -> Path:
    return write_settings(tiny, tmp_path / "settings.toml")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample corpus as plain texts: other formats are read in processes of their own, which takes longer than building."""
    folder = tmp_path_factory.mktemp("sample")
    for document in read_sources([EXAMPLES]):
        assert isinstance(document, Document)
        (folder / f"{document.title}.txt").write_text(document.text, encoding="utf-8")
    return folder


@pytest.fixture
def build(hoptrail: Hoptrail, sample: Path) -> Build:
    """`hoptrail index` for trees made by the model."""

    def run(folder: Path, settings: Path, *more: object, sources: tuple[object, ...] = (sample,)) -> Ended:
        language = () if "--language" in more else ("--language", "chat")
        options = ("--index", folder, "--settings", settings, "--for", "sirerag")
        return hoptrail("index", *sources, *options, *language, *more)

    return run


def texts(folder: Path, *kinds: Kind) -> dict[str, str]:
    """The units of these kinds, or of all kinds."""
    snapshot = Snapshot.open(folder)
    return {unit.id: unit.text for kind in kinds or snapshot.table.kinds for unit in snapshot.units(kind)}


def test_the_estimate_is_within_a_fifth_of_the_bill_and_nothing_is_paid_for_it(
    build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    said = build(tmp_path / "index", settings, "--estimate")
    assert said.code == 0, said.err
    assert fake.log == []
    assert not Snapshot.exists(tmp_path / "index")
    calls, prompt, completion = (
        int(number.replace(",", "")) for number in re.findall(r"[\d,]+(?= (?:model|prompt|completion))", said.out)
    )
    assert build(tmp_path / "index", settings).code == 0
    for estimate, billed in zip(
        (calls, prompt, completion),
        (fake.bill.calls, fake.bill.prompt_tokens, fake.bill.completion_tokens),
        strict=True,
    ):
        assert abs(estimate - billed) <= 0.2 * billed
    again = build(tmp_path / "index", settings, "--estimate")
    assert again.out.startswith("About 0 model calls")


def test_an_estimate_of_making_all_anew_and_of_what_cannot_be_read(
    build: Build, fake: FakeAI, settings: Path, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    assert build(folder, settings, "--language", "offline").code == 0
    refused = build(folder, settings, "--estimate")
    assert refused.code == 2
    assert "--rebuild" in refused.err
    estimate = build(folder, settings, "--estimate", "--rebuild")
    assert estimate.code == 0, estimate.err
    assert int(re.search(r"About ([\d,]+) model calls", estimate.out)[1].replace(",", "")) >= 18  # type: ignore[index]
    partly = build(tmp_path / "other", settings, "--estimate", sources=(sample, tmp_path / "nowhere"))
    assert (partly.code, partly.err.count("not read: ")) == (4, 1)
    assert "nowhere" in partly.err
    nothing = build(tmp_path / "other", settings, "--estimate", sources=(tmp_path / "nowhere",))
    assert (nothing.code, fake.log) == (1, [])


def test_an_estimate_is_for_a_chat_model_and_needs_none(
    hoptrail: Hoptrail, settings: Path, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    options = ("--index", tmp_path / "index", "--settings", settings, "--estimate")
    ended = hoptrail("index", sample, *options, "--for", "sirerag")
    assert ended.code == 0, ended.err
    assert int(re.search(r"About ([\d,]+) model calls", ended.out)[1].replace(",", "")) >= 18  # type: ignore[index]
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [((), "trail needs is made by rules"), (("--language", "offline"), "the language offline asks no model")],
)
def test_an_estimate_where_no_model_is_asked_says_so_and_names_what_is_not_there(
    hoptrail: Hoptrail, settings: Path, sample: Path, tmp_path: Path, more: tuple[str, ...], why: str
) -> None:
    options = ("--index", tmp_path / "index", "--settings", settings, "--estimate", *more)
    partly = hoptrail("index", sample, tmp_path / "nowhere", *options)
    assert (partly.code, partly.out.startswith("About 0 model calls")) == (4, True)
    assert why in partly.err
    assert "nowhere: does not exist" in " ".join(partly.err.split())
    assert hoptrail("index", tmp_path / "nowhere", *options).code == 1
    assert hoptrail("index", sample, *options).code == 0


def test_what_is_built_is_paid_once_and_asking_finds_it(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    ended = build(folder, settings)
    assert ended.code == 0, ended.err
    paid = fake.bill.calls
    assert paid == replies_in(folder).ledger().calls >= 18
    assert f"{paid:,} model calls" in " ".join(ended.err.split())
    shown = hoptrail("show", "--index", folder, "--settings", settings, "--json").json
    assert shown["usage"]["calls"] == paid
    assert shown["units"]["summary"] >= 2
    assert build(folder, settings).code == 0
    assert fake.bill.calls == paid
    hits = hoptrail(
        "search", "harbours", "--index", folder, "--settings", settings, "--recipe", "sirerag", "-k", "500", "--json"
    ).json
    assert {hit["kind"] for hit in hits["hits"]} == {"passage", "aggregate", "summary"}
    summaries = list(Snapshot.open(folder).units(Kind.SUMMARY))
    assert all(unit.text.startswith("In short: ") for unit in summaries)


def test_another_language_neither_mixes_in_nor_replaces_unasked(
    build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    assert build(folder, settings).code == 0
    before, before_summaries = texts(folder), texts(folder, Kind.SUMMARY)
    refused = build(folder, settings, "--language", "offline")
    assert refused.code == 2
    assert "made by chat:fake, not by offline" in refused.err
    assert "--language chat" in refused.err
    assert texts(folder) == before
    assert build(folder, settings, "--language", "offline", "--rebuild").code == 0
    assert not any(text.startswith("In short: ") for text in texts(folder).values())
    extracted = [task_of(asked.body) for asked in fake.log].count("extract")
    assert build(folder, settings, "--rebuild").code == 0
    # Trees change as little as they can, so that groups, and with them summaries, may differ from those of a first build.
    after, summaries = texts(folder), texts(folder, Kind.SUMMARY)
    assert {name: after[name] for name in after if name not in summaries} == {
        name: before[name] for name in before if name not in before_summaries
    }
    assert all(text.startswith("In short: ") for text in summaries.values())
    assert [task_of(asked.body) for asked in fake.log].count("extract") == extracted, "replies are kept"


def test_removing_costs_nothing_leaves_nothing_and_the_next_run_mends(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, settings: Path, sample: Path, tmp_path: Path
) -> None:
    folder, world = tmp_path / "index", tmp_path / "world"
    world.mkdir()
    for path in sample.iterdir():
        (world / path.name).write_bytes(path.read_bytes())
    (world / "secret.txt").write_text(
        "The Quillback ledger lies in Harrowgate. Quillback counted herrings.", encoding="utf-8"
    )
    assert build(folder, settings, sources=(world,)).code == 0
    assert any("Quillback" in text for text in texts(folder).values())
    whole, paid = Snapshot.open(folder).count(Kind.SUMMARY), fake.bill.calls
    assert hoptrail("remove", world / "secret.txt", "--index", folder, "--settings", settings).code == 0
    assert fake.bill.calls == paid
    assert not any("Quillback" in text for text in texts(folder).values())
    assert Snapshot.open(folder).count(Kind.SUMMARY) < whole
    (world / "secret.txt").unlink()
    assert build(folder, settings, sources=(world,)).code == 0
    remaining = texts(folder)
    assert not any("Quillback" in text for text in remaining.values())
    assert Snapshot.open(folder).count(Kind.SUMMARY) >= whole - 3
    assert paid < fake.bill.calls < paid + 12
    for path in folder.rglob("*"):
        assert path.is_dir() or b"Quillback" not in path.read_bytes(), path


def damage(folder: Path) -> None:
    """Alter a letter of an extraction in the database."""
    reader = apsw.Connection(str(folder / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    ((entities,),) = reader.execute(
        "SELECT entities FROM extractions ORDER BY length(entities) DESC LIMIT 1"
    ).fetchall()
    reader.close()
    content = bytearray((folder / "index.sqlite").read_bytes())
    content[content.index(str(entities).encode()) + 3] ^= 1
    (folder / "index.sqlite").write_bytes(content)


def test_repairing_costs_nothing_says_what_it_could_not_make_and_the_next_run_makes_it(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    repairing = ("repair", "--index", folder, "--settings", settings)
    assert build(folder, settings).code == 0
    before, whole, paid = texts(folder), Snapshot.open(folder).head.structures, fake.bill.calls
    damage(folder)
    ended = hoptrail(*repairing)
    assert ended.code == 0, ended.err
    message = " ".join(ended.err.split())
    assert "1 damaged files; not rebuilt, because repair calls no model: " in message
    assert "extractions" in message
    assert "extractions" not in Snapshot.open(folder).head.structures
    assert build(folder, settings).code == 0
    assert (texts(folder), Snapshot.open(folder).head.structures, fake.bill.calls) == (before, whole, paid)
    assert "0 damaged files; the index is complete." in " ".join(hoptrail(*repairing).err.split())


def test_what_new_documents_and_new_versions_cost_is_noted_once_each(
    build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    """The new versions are committed after the new documents."""
    folder, notes = tmp_path / "index", tmp_path / "notes"
    notes.mkdir()
    for version in (1, 2):
        (notes / "Isk.txt").write_text(f"The Isk rises in Dorn. It is {version} miles long.", encoding="utf-8")
        (notes / f"Note {version}.txt").write_text(f"Note {version} is by Anna.", encoding="utf-8")
        assert build(folder, settings, sources=(notes,)).code == 0
        assert Snapshot.open(folder).head.spent.calls == fake.bill.calls > 0


def test_a_run_that_ran_out_of_money_goes_on_without_paying_twice(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, tiny: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    few = write_settings(tiny, tmp_path / "few.toml", limit_calls=20)
    stopped = build(folder, few)
    assert stopped.code == 3, stopped.err
    assert 18 < fake.bill.calls <= 20, "all passages, and summaries begun"
    assert Snapshot.open(folder).head.spent.calls == fake.bill.calls, "also what a run cost that was stopped"
    assert hoptrail("verify", "--index", folder, "--settings", few).code == 0
    enough = write_settings(tiny, tmp_path / "enough.toml")
    assert build(folder, enough).code == 0
    paid = fake.bill.calls
    assert len({asked.prompt for asked in fake.log}) == paid
    assert Snapshot.open(folder).head.spent.calls == paid
    whole = tmp_path / "whole"
    assert build(whole, enough).code == 0
    assert texts(whole) == texts(folder)
    assert fake.bill.calls == 2 * paid


def test_a_reply_that_never_comes_right_costs_its_own_unit_only_and_is_told_once(
    build: Build, fake: FakeAI, settings: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "index"
    good = fake.brain
    fake.brain = lambda body: (
        "I had rather not." if "Title: Nerys Dole" in body["messages"][1]["content"] else good(body)
    )
    ended = build(folder, settings)
    assert ended.code == 0, ended.err
    assert "Nerys Dole" in ended.err
    assert " ".join(ended.err.split()).count("extract: fake at") == 1
    assert "extract: fake at" not in caplog.text
    extracted = len(set(Snapshot.open(folder).table.extracted()))
    assert extracted == Snapshot.open(folder).count(Kind.PASSAGE) - 1


def test_a_run_that_nobody_answers_stops_and_the_same_command_goes_on(
    build: Build, fake: FakeAI, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ended = build(folder, settings)
    assert (ended.code, ended.out) == (3, "")
    message = " ".join(ended.err.split())
    assert "3 tasks in a row could not reach the endpoint" in message
    assert "run the same command again" in message
    assert message.count("could not be asked") == 1
    point_at(fake, monkeypatch)
    assert build(folder, settings).code == 0


def test_a_refusal_stops_a_run_resumably(build: Build, fake: FakeAI, settings: Path, tmp_path: Path) -> None:
    fake.choose = lambda number, _: "401" if number == 5 else None
    ended = build(tmp_path / "index", settings)
    assert ended.code == 3
    assert "what was finished is kept" in ended.err


@pytest.mark.parametrize("more", [(), ("--for", "trail,bm25,selfask")])
def test_the_default_recipe_is_built_without_asking_a_model_also_beside_recipes_that_need_none(
    hoptrail: Hoptrail, fake: FakeAI, settings: Path, sample: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    command = ["index", sample, "--index", tmp_path / "index", "--settings", settings, "--language", "chat", *more]
    estimate = hoptrail(*command, "--estimate")
    assert estimate.out.startswith("About 0 model calls"), estimate.err
    for _ in range(2):
        assert hoptrail(*command).code == 0
    assert hoptrail("search", "Who designed it?", "--index", tmp_path / "index", "--settings", settings).code == 0
    assert fake.log == []


def test_what_a_model_has_made_a_model_goes_on_with(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, settings: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    assert build(folder, settings).code == 0
    paid = fake.bill.calls
    note = tmp_path / "note.txt"
    note.write_text("Orla Finch designed the Tallow Bridge.", encoding="utf-8")
    ended = hoptrail("index", note, "--index", folder, "--settings", settings, "--language", "chat")
    assert ended.code == 0, ended.err
    assert fake.bill.calls > paid


def test_what_rules_have_made_is_not_replaced_unasked(
    hoptrail: Hoptrail, build: Build, fake: FakeAI, settings: Path, sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    assert hoptrail("index", sample, "--index", folder, "--settings", settings).code == 0
    refused = build(folder, settings, sources=())
    assert (refused.code, fake.log) == (2, [])
    assert "made by offline" in refused.err
    assert "--rebuild" in refused.err
    assert build(folder, settings, "--rebuild", sources=()).code == 0
    assert fake.bill.calls > 0
