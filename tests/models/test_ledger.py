"""Replies kept, and the ledger beside them. Rows E1 and E2 of the fault table, promises P2 and P3."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from fakeai.clients import paid_chat, quick_settings, replies_in, request
from fakeai.server import Body, FakeAI, serving
from hoptrail.errors import BudgetExhausted, Interrupted, StorageError, UsageError
from hoptrail.models import ledger as ledger_module
from hoptrail.models.chat import TOO_LONG, ChatReply, ChatRequest, ChatSettings, Rung
from hoptrail.models.client import CallFailed
from hoptrail.models.ledger import FILE, Cost, Ledger, RememberedReplies, cost_of

MOST = Cost(10, 20, None)
FREE = ChatSettings()
"""Settings without a limit."""


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda body: f"reply to {body['messages'][1]['content']}")) as running:
        yield running


def entered(replies: RememberedReplies, asked: ChatRequest) -> int:
    """The number of a call that is entered."""
    call = replies.reserve(asked, MOST, FREE)
    assert call is not None
    return call


def check_bill(fake: FakeAI, ledger: Ledger) -> None:
    """The ledger's sums are the server's, call by call and token by token."""
    assert (ledger.calls, ledger.prompt_tokens, ledger.completion_tokens) == (
        fake.bill.calls,
        fake.bill.prompt_tokens,
        fake.bill.completion_tokens,
    )


def test_a_reply_is_paid_once_over_runs_and_threads(fake: FakeAI, tmp_path: Path) -> None:
    fake.seconds = 0.05
    chat = paid_chat(fake, tmp_path)
    with ThreadPoolExecutor(8) as workers:
        heard = list(workers.map(lambda number: chat.ask(request(f"q{number % 5}")), range(40)))
    assert [one.reply.text for one in heard] == [f"reply to q{number % 5}" for number in range(40)]
    assert sum(one.spent.calls for one in heard) == len(fake.log) == 5
    again = paid_chat(fake, tmp_path)
    assert again.ask(request("q3")).spent.calls == 0
    assert again.remembered(request("q3")) == again.ask(request("q3"))
    assert len(fake.log) == 5
    check_bill(fake, replies_in(tmp_path).ledger())


def test_two_chats_over_one_folder_pay_once_and_keep_to_one_limit_of_concurrency(fake: FakeAI, tmp_path: Path) -> None:
    fake.seconds = 0.05
    (tmp_path / "same").symlink_to(tmp_path)
    chats = [paid_chat(fake, folder, concurrency=2) for folder in (tmp_path, tmp_path / "same")]
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(lambda number: chats[number % 2].ask(request(f"q{number // 4}")), range(32)))
    assert len(fake.log) == 8
    assert fake.busiest == 2
    assert paid_chat(fake, tmp_path, concurrency=3).limiter is not chats[0].limiter


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_waits_for_no_thread_of_its_parent(fake: FakeAI, tmp_path: Path) -> None:
    release = threading.Event()
    fake.brain = lambda _: str(release.wait(100) and "")
    chat = paid_chat(fake, tmp_path, concurrency=1, deadline_seconds=100.0)
    with ThreadPoolExecutor(1) as workers:
        asked = workers.submit(chat.ask, request("in flight"))
        while not fake.log:
            time.sleep(0.01)
        child = multiprocessing.get_context("fork").Process(target=_take_turns, args=(fake, tmp_path))
        child.start()
        child.join(60)
        ended = child.exitcode
        child.kill()
        child.join()
        release.set()
        asked.result()
    assert ended == 0


def _take_turns(fake: FakeAI, folder: Path) -> None:
    chat = paid_chat(fake, folder, concurrency=1, deadline_seconds=30.0)
    assert chat.limiter.run(lambda: "a turn") == "a turn"


def test_what_is_shared_goes_when_nobody_holds_it(fake: FakeAI, tmp_path: Path) -> None:
    chat = paid_chat(fake, tmp_path)
    limiter = weakref.ref(chat.limiter)
    assert paid_chat(fake, tmp_path).limiter is limiter()
    del chat
    gc.collect()
    assert limiter() is None


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        with ThreadPoolExecutor(8) as workers:
            done = workers.map(lambda number, at=folder: entered(replies_in(at), request(f"{number}")), range(8))
        assert sorted(done) == list(range(1, 9))


def test_two_processes_that_ask_the_same_pay_once(fake: FakeAI, tmp_path: Path) -> None:
    fake.seconds = 0.4
    code = (
        "import sys\nfrom pathlib import Path\nfrom fakeai.server import FakeAI\nfrom fakeai.clients import paid_chat, request\n"
        f"fake = FakeAI(lambda _: '', port={fake.port})\n"
        f"print(paid_chat(fake, Path({str(tmp_path)!r})).ask(request('same')).spent.calls)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) for _ in range(2)]
    spent = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert spent == ["0", "1"]
    assert len(fake.log) == 1


def test_a_reply_is_stored_before_it_is_used(fake: FakeAI, tmp_path: Path) -> None:
    heard = paid_chat(fake, tmp_path).ask(request())
    with sqlite3.connect(tmp_path / FILE) as other:
        assert other.execute("SELECT count(*) FROM replies").fetchone() == (1,)
    other.close()
    assert replies_in(tmp_path).reply(request(place=fake.address).key) is None
    assert [stored.reply for stored in replies_in(tmp_path).stored()] == [heard.reply]


def test_e1_a_crash_after_sending_leaves_the_call_in_the_ledger(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    replies.reserve(request(), MOST, FREE)
    replies.close()  # as after a kill: nothing else was written
    assert replies_in(tmp_path).ledger() == Ledger(1, 10, 20, 0.0, unsettled=1, estimated=1, unpriced=1)


def test_e1_the_ledger_tells_what_was_certainly_billed_from_what_perhaps_was(tmp_path: Path) -> None:
    """Entered only, lost, refused, settled: one each."""
    replies = replies_in(tmp_path)
    _, lost, refused, settled = [entered(replies, request(f"{number}")) for number in range(4)]
    replies.close_call(lost, "no reply", paid=True)
    replies.close_call(refused, "status 500", paid=False)
    replies.settle(settled, {request("3"): ChatReply("yes", "stop", 3, 1)}, Cost(3, 1, None))
    ledger = replies_in(tmp_path).ledger()
    assert (ledger.calls, ledger.unsettled, ledger.refused) == (3, 2, 1)


def test_e1_a_call_is_in_the_ledger_before_the_server_answers(fake: FakeAI, tmp_path: Path) -> None:
    seen: list[Ledger] = []

    def look(_body: Body) -> str:
        seen.append(replies_in(tmp_path).ledger())
        return "yes"

    fake.brain = look
    paid_chat(fake, tmp_path).ask(request())
    assert [(ledger.calls, ledger.unsettled) for ledger in seen] == [(1, 1)]
    assert replies_in(tmp_path).ledger().unsettled == 0


def test_a_file_of_the_last_version_is_brought_up_to_date(tmp_path: Path) -> None:
    """Its replies have fields that are gone."""
    replies = replies_in(tmp_path)
    call = entered(replies, request())
    replies.settle(call, {request(): ChatReply("kept", "stop", 3, 1)}, Cost(3, 1, None))
    replies.close()
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.executescript(
        "UPDATE replies SET reply = json_set(reply, '$.cut', 0, '$.shared', 0); PRAGMA user_version = 5;"
    )
    connection.close()
    with ThreadPoolExecutor(4) as workers:
        ledgers = list(workers.map(lambda _: replies_in(tmp_path).ledger(), range(4)))
    assert {(ledger.calls, ledger.unsettled) for ledger in ledgers} == {(1, 0)}
    assert [stored.reply.text for stored in replies_in(tmp_path).stored()] == ["kept"]
    with sqlite3.connect(tmp_path / FILE) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
    connection.close()


def test_e1_a_call_whose_reply_was_lost_counts_at_its_estimate(fake: FakeAI, tmp_path: Path) -> None:
    fake.plan = {1: "reset in body", 2: "500", 3: "504"}
    chat = paid_chat(fake, tmp_path, attempts=4)
    chat.ask(request())
    ledger = replies_in(tmp_path).ledger()
    assert (ledger.calls, ledger.unsettled, ledger.refused) == (3, 2, 1)
    assert ledger.calls == fake.bill.calls
    assert ledger.tokens >= fake.bill.prompt_tokens + fake.bill.completion_tokens


@pytest.mark.parametrize("limit", [{"limit_calls": 7}, {"limit_tokens": 600}, {"limit_money": 0.0006}])
def test_e1_a_limit_holds_with_calls_in_flight_and_the_run_can_go_on(
    fake: FakeAI, tmp_path: Path, limit: dict[str, float]
) -> None:
    fake.seconds = 0.02
    prices = {"prompt_price": 1.0, "completion_price": 1.0}
    chat = paid_chat(fake, tmp_path, concurrency=4, **prices, **limit)

    def ask(number: int) -> bool:
        try:
            chat.ask(request(f"q{number}"))
        except BudgetExhausted:
            return False
        return True

    with ThreadPoolExecutor(8) as workers:
        done = sum(workers.map(ask, range(40)))
    ledger = replies_in(tmp_path).ledger()
    assert 0 < done < 40
    assert done == len(fake.log) == ledger.calls
    check_bill(fake, ledger)
    for name, value in limit.items():
        assert getattr(ledger, name.removeprefix("limit_")) <= value
    raised = paid_chat(fake, tmp_path, **prices, **dict.fromkeys(limit, 10_000))
    spent = sum(raised.ask(request(f"q{number}")).spent.calls for number in range(40))
    assert spent == 40 - done, "what was paid for is not paid again"


def test_e1_two_jobs_share_one_limit(fake: FakeAI, tmp_path: Path) -> None:
    jobs = [paid_chat(fake, tmp_path, limit_calls=10) for _ in range(2)]

    def ask(number: int) -> bool:
        try:
            jobs[number % 2].ask(request(f"q{number}"))
        except BudgetExhausted:
            return False
        return True

    with ThreadPoolExecutor(4) as workers:
        assert sum(workers.map(ask, range(30))) == 10
    assert len(fake.log) == 10


def test_e1_a_limit_holds_in_a_file_that_kept_totals(tmp_path: Path) -> None:
    """Up to format 6 triggers kept them in a table, which may be gone."""
    replies = replies_in(tmp_path)
    for number in range(3):
        replies.reserve(request(f"{number}"), MOST, ChatSettings(limit_calls=4))
    replies.close()
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.executescript("""
        CREATE TABLE totals (calls INTEGER NOT NULL); DROP TABLE totals; PRAGMA user_version = 6;
        CREATE TRIGGER call_entered AFTER INSERT ON calls BEGIN UPDATE totals SET calls = calls + 1; END;
    """)
    connection.close()
    again = replies_in(tmp_path)
    again.reserve(request("fourth"), MOST, ChatSettings(limit_calls=4))
    with pytest.raises(BudgetExhausted):
        again.reserve(request("fifth"), MOST, ChatSettings(limit_calls=4))
    assert again.ledger().calls == 4


def test_reaching_a_limit_is_an_interruption_that_says_how_to_go_on(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    replies.reserve(request("one"), MOST, ChatSettings(limit_calls=1))
    with pytest.raises(
        BudgetExhausted, match=r"limit of 1 calls .*Raise limit_calls .*run the same command again"
    ) as caught:
        replies.reserve(request("two"), MOST, ChatSettings(limit_calls=1))
    assert isinstance(caught.value, Interrupted)


def test_e2_prices() -> None:
    unknown = ChatSettings(model="m")
    free = replace(unknown, prompt_price=0.0, completion_price=0.0)
    dear = replace(unknown, prompt_price=2.0, completion_price=10.0)
    assert cost_of(1_000_000, 500_000, unknown).money is None
    assert cost_of(1_000_000, 500_000, free).money == 0.0
    assert cost_of(1_000_000, 500_000, dear).money == 7.0


def test_e2_a_limit_on_money_wants_prices(fake: FakeAI, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"price of fake is not.*limit calls or tokens instead"):
        paid_chat(fake, tmp_path, limit_money=5.0)
    paid_chat(fake, tmp_path, limit_money=5.0, prompt_price=0.0, completion_price=0.0)
    paid_chat(fake, tmp_path, limit_tokens=5)


def test_e2_a_price_that_changes_changes_nothing_that_was_paid(fake: FakeAI, tmp_path: Path) -> None:
    paid_chat(fake, tmp_path, prompt_price=1.0, completion_price=1.0).ask(request("cheap"))
    before = replies_in(tmp_path).ledger()
    assert before.money == pytest.approx(before.tokens / 1e6)
    paid_chat(fake, tmp_path, prompt_price=100.0, completion_price=100.0).ask(request("dear"))
    paid_chat(fake, tmp_path).ask(request("unpriced"))
    after = replies_in(tmp_path).ledger()
    second = cost_of(*_tokens(tmp_path, 2), quick_settings(fake, prompt_price=100.0, completion_price=100.0)).money
    assert second is not None
    assert after.money == pytest.approx(before.money + second)
    assert after.unpriced == 1


def _tokens(folder: Path, call: int) -> tuple[int, int]:
    connection = sqlite3.connect(folder / FILE)
    row = connection.execute("SELECT prompt_tokens, completion_tokens FROM calls WHERE id = ?", (call,)).fetchone()
    connection.close()
    return int(row[0]), int(row[1])


def test_the_rung_that_works_is_remembered_per_model(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    assert replies.known("rungs", "http://a", "m") == ""
    replies.note("rungs", "http://a", "m", Rung.SCHEMA)
    replies.note("rungs", "http://a", "m", Rung.PROMPT)
    assert replies_in(tmp_path).known("rungs", "http://a", "m") == Rung.PROMPT
    assert replies.known("rungs", "http://a", "n") == ""


def test_a_prompt_that_did_not_fit_is_sent_again_after_a_while(
    fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may have been started anew with a larger window; until then it is not asked again and again."""
    asked, chat = request("word " * 2000), paid_chat(fake, tmp_path)
    fake.always = "small window"
    assert [chat.ask(asked).reply.finish for _ in range(3)] == [TOO_LONG] * 3
    assert chat.remembered(asked) is not None
    assert len(fake.log) == 1

    monkeypatch.setattr(ledger_module, "STANDS_SECONDS", 0.0)
    assert chat.remembered(asked) is None
    assert [one.reply.finish for one in replies_in(tmp_path).stored()] == [TOO_LONG], "a recording of that run holds it"
    assert chat.ask(asked).reply.finish == TOO_LONG
    fake.always = None
    assert [chat.ask(asked).reply.text[:8] for _ in range(3)] == ["reply to"] * 3
    assert len(fake.log) == 3
    check_bill(fake, replies_in(tmp_path).ledger())


def test_a_prompt_that_did_not_fit_an_older_version_is_sent_again(fake: FakeAI, tmp_path: Path) -> None:
    """It kept no call for that, and so no time."""
    asked, chat = request("word " * 2000), paid_chat(fake, tmp_path)
    fake.always = "small window"
    chat.ask(asked)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE replies SET call = NULL")
    connection.close()
    fake.always = None
    assert chat.ask(asked).reply.text.startswith("reply to")
    assert chat.remembered(asked) is not None


def test_looking_makes_no_file(tmp_path: Path) -> None:
    replies = replies_in(tmp_path / "nowhere")
    assert replies.reply("key") is None
    assert replies.ledger() == Ledger()
    assert list(replies.stored()) == []
    assert replies.forget(["d"]) == 0
    assert not (tmp_path / "nowhere").exists()


def test_forgetting_a_document_leaves_no_byte_of_its_replies(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    for document in ("d1", "d2"):
        asked = replace(request(document), documents=(document, "d3"))
        call = entered(replies, asked)
        replies.settle(call, {asked: ChatReply(f"secret of {document}", "stop", 5, 5)}, MOST)
    assert replies.documents() == {"d1", "d2", "d3"}
    assert replies.forget(["d1"]) == 1
    assert replies.documents() == {"d2", "d3"}
    assert [stored.reply.text for stored in replies.stored()] == ["secret of d2"]
    assert replies.ledger().calls == 2, "what was spent was spent"
    replies.close()
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret of d1" not in everything
    assert b"secret of d2" in everything


def test_forgetting_a_document_forgets_what_failed_calls_said_of_it(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    asked = replace(request(), documents=("d1",))
    replies.close_call(entered(replies, asked), "no chat reply: 'secret of d1", paid=True)
    assert replies.documents() == {"d1"}
    assert replies.forget(["d1"]) == 0
    replies.close()
    assert b"secret of d1" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert replies.ledger().calls == 1


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    with pytest.raises(StorageError, match=rf"{FILE}.*move it away"):
        replies_in(tmp_path).ledger()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="newer hoptrail"):
        replies_in(tmp_path).ledger()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        RememberedReplies(tmp_path / "file" / FILE).reserve(request(), MOST, FREE)


def test_a_forked_child_makes_its_own_connection(tmp_path: Path) -> None:
    replies = replies_in(tmp_path)
    replies.reserve(request("parent"), MOST, FREE)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=replies.reserve, args=(request("child"), MOST, FREE))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    replies.reserve(request("parent again"), MOST, FREE)
    assert replies.ledger().calls == 3


@pytest.mark.timeout(600)  # four processes, one after the other, on a machine that may be busy
def test_e1_the_ledger_agrees_with_the_bill_after_kills(tmp_path: Path) -> None:
    """A small version of `benchmarks/ledger.py`, which has the figures for 1,000 calls."""
    from fakeai.ledger_run import run_with_kills

    outcome = run_with_kills(tmp_path, calls=40, kills=3, seed=7)
    assert outcome.answered == 40
    assert outcome.kills >= 2
    assert outcome.paid_twice == 0
    assert outcome.faults_of_the_ledger() == []


def test_a_call_of_a_killed_process_is_not_waited_for(fake: FakeAI, tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    replies = replies_in(tmp_path)
    replies.reserve(replace(request(), place=fake.address), MOST, FREE)
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("UPDATE calls SET process = ?", (child.pid,))
    connection.commit()
    connection.close()
    child.send_signal(signal.SIGKILL)
    child.wait()
    patient = paid_chat(fake, tmp_path, deadline_seconds=600.0)  # a call that lives is waited for that long
    assert patient.ask(replace(request(), place=fake.address)).spent.calls == 1


def test_a_failed_call_is_closed_not_left_open(fake: FakeAI, tmp_path: Path) -> None:
    fake.always = "500"
    with pytest.raises(CallFailed):
        paid_chat(fake, tmp_path).ask(request())
    ledger = replies_in(tmp_path).ledger()
    assert (ledger.calls, ledger.unsettled, ledger.refused) == (0, 0, 3)
