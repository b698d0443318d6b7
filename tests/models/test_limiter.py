"""Who may call, and whether again. Rows A1, A2, A3 and A4 of the fault table, against a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hoptrail.models.billing as billing
from fakeai.clients import paid_chat, replies_in, request
from fakeai.server import FakeAI, serving
from hoptrail.errors import EndpointBusy, EndpointRefused
from hoptrail.models.billing import REFUSED_SECONDS, Limiter
from hoptrail.models.chat import ChatSettings
from hoptrail.models.client import CallFailed, FailureKind


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "fine")) as running:
        yield running


@pytest.mark.parametrize(("fault", "least"), [("busy seconds", 0.3), ("busy date", 1.0)])
def test_a1_when_one_is_told_to_wait_everybody_waits(fake: FakeAI, tmp_path: Path, fault: str, least: float) -> None:
    fake.plan = {5: fault}
    fake.seconds = 0.05
    chat = paid_chat(fake, tmp_path, concurrency=4)
    with ThreadPoolExecutor(8) as workers:
        heard = list(workers.map(lambda number: chat.ask(request(f"q{number}")), range(20)))
    assert [one.reply.text for one in heard] == ["fine"] * 20
    told = fake.log[4].seconds
    # Those already on their way arrive; nobody else does before the time is up.
    during = [asked for asked in fake.log[5:] if asked.seconds - told < least - 0.02]
    assert len(during) <= 3
    assert len(fake.log) == 21
    ledger = replies_in(tmp_path).ledger()
    assert (ledger.calls, ledger.refused) == (20, 1)


def test_a1_without_a_time_the_waits_grow(fake: FakeAI, tmp_path: Path) -> None:
    fake.plan = {1: "busy", 2: "busy", 3: "busy"}
    paid_chat(fake, tmp_path, attempts=4, backoff_seconds=0.1).ask(request())
    waits = [after.seconds - before.seconds for before, after in zip(fake.log, fake.log[1:], strict=False)]
    assert len(waits) == 3
    assert all(wait > 0.95 * least for wait, least in zip(waits, (0.075, 0.15, 0.3), strict=True))


def test_a2_busy_for_ever_ends_resumably_at_the_limit_of_tries(fake: FakeAI, tmp_path: Path) -> None:
    chat = paid_chat(fake, tmp_path)
    chat.ask(request("before"))
    fake.always = "busy"
    with pytest.raises(EndpointBusy, match=r"429.*try 3 of 3.*run the same command again"):
        chat.ask(request("during"))
    assert len(fake.log) == 4
    fake.always = None
    again = paid_chat(fake, tmp_path)
    assert again.ask(request("before")).spent.calls == 0
    assert again.ask(request("during")).spent.calls == 1


def test_a2_a_wait_longer_than_the_settings_allow_is_not_waited_for(fake: FakeAI, tmp_path: Path) -> None:
    fake.always, fake.retry_after = "busy seconds", "3600"
    with pytest.raises(EndpointBusy, match=r"to wait 3.6e\+03 s"):
        paid_chat(fake, tmp_path).ask(request())
    assert len(fake.log) == 1


@pytest.mark.parametrize("fault", ["500", "502", "unavailable", "reset", "reset in body"])
def test_a3_bursts_are_outlived_within_bounds(fake: FakeAI, tmp_path: Path, fault: str) -> None:
    fake.plan = {1: fault, 2: fault}
    chat = paid_chat(fake, tmp_path)
    assert chat.ask(request("one")).reply.text == "fine"
    fake.plan = dict.fromkeys(range(4, 7), fault)
    with pytest.raises(CallFailed):
        chat.ask(request("two"))
    assert len(fake.log) == 6
    assert chat.ask(request("three")).reply.text == "fine", "others go on"


@pytest.mark.parametrize("fault", ["401", "402", "403", "quota"])
def test_a4_a_refusal_stops_everybody_at_once(fake: FakeAI, tmp_path: Path, fault: str) -> None:
    fake.always = fault
    chat = paid_chat(fake, tmp_path, concurrency=2)

    def ask(number: int) -> str:
        with pytest.raises(EndpointRefused) as caught:
            chat.ask(request(f"q{number}"))
        return str(caught.value)

    with ThreadPoolExecutor(4) as workers:
        reasons = list(workers.map(ask, range(20)))
    assert len(fake.log) <= 2, "no more than were in flight"
    assert all("No further calls are made" in reason for reason in reasons)


@pytest.mark.parametrize("fault", ["401", "402", "403", "quota"])
def test_a4_a_refusal_does_not_outlast_the_chat_that_met_it(fake: FakeAI, tmp_path: Path, fault: str) -> None:
    fake.always = fault
    before = paid_chat(fake, tmp_path)  # held until the end, as an exception's traceback may hold it
    for question in ("first", "second"):
        with pytest.raises(EndpointRefused):
            before.ask(request(question))
    assert len(fake.log) == 1
    fake.always = None
    with pytest.raises(EndpointRefused):
        before.ask(request("third"))
    assert len(fake.log) == 1
    again = paid_chat(fake, tmp_path)
    assert again.limiter is before.limiter
    assert again.ask(request("first")).reply.text == "fine"
    assert before.ask(request("third")).reply.text == "fine"


def test_a4_a_chat_opened_anew_asks_a_refusing_endpoint_once(fake: FakeAI, tmp_path: Path) -> None:
    fake.always = "402"
    chats = []
    for opened in range(1, 4):
        chats.append(paid_chat(fake, tmp_path))
        for chat in chats:
            with pytest.raises(EndpointRefused):
                chat.ask(request("anything"))
        assert len(fake.log) == opened


class Clock:
    """Stands still but for what is added and slept."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(billing, "time", made)
    return made


def test_a3_the_waits_double_and_are_never_all_alike(clock: Clock) -> None:
    def passes() -> str:
        raise CallFailed(FailureKind.PASSING, "answered with status 500")

    for _ in range(2):
        with pytest.raises(CallFailed):
            Limiter(ChatSettings(attempts=8), "test").run(passes)
    first, second = clock.slept[:7], clock.slept[7:]
    assert all(0.375 * 2**at <= wait <= 0.625 * 2**at for waits in (first, second) for at, wait in enumerate(waits))
    assert first != second


def refuses() -> str:
    raise CallFailed(FailureKind.REFUSED, "answered with status 402")


def refused(limiter: Limiter, one_try: Callable[[], str]) -> bool:
    """Whether a call is; it may be without being asked."""
    try:
        limiter.run(one_try)
    except EndpointRefused:
        return True
    return False


def unexpected() -> str:
    raise AssertionError("asked while a refusal holds")


def test_a4_a_refusal_holds_for_a_minute(clock: Clock) -> None:
    limiter = Limiter(ChatSettings(), "test")
    assert refused(limiter, refuses)
    clock.now += REFUSED_SECONDS - 1
    assert refused(limiter, unexpected)
    clock.now += 2
    assert refused(limiter, refuses), "it is asked again"
    assert refused(limiter, unexpected), "for another minute"
    clock.now += REFUSED_SECONDS + 1
    assert limiter.run(lambda: "topped up") == "topped up"
    assert limiter.run(lambda: "all go on") == "all go on"


def test_a4_a_reply_to_an_earlier_call_does_not_lift_a_refusal(clock: Clock) -> None:
    limiter = Limiter(ChatSettings(attempts=1), "test")

    def overtaken() -> str:
        assert refused(limiter, refuses)
        return "sent before the refusal"

    assert limiter.run(overtaken) == "sent before the refusal"
    assert refused(limiter, unexpected)
    clock.now += REFUSED_SECONDS

    def fails() -> str:
        raise CallFailed(FailureKind.FORMAT, "answered with status 400")

    with pytest.raises(CallFailed):
        limiter.run(fails)
    assert limiter.run(lambda: "fine") == "fine"


def test_a_bad_request_is_not_repeated(fake: FakeAI, tmp_path: Path) -> None:
    fake.always = "web page"
    with pytest.raises(CallFailed):
        paid_chat(fake, tmp_path).ask(request())
    assert len(fake.log) == 1


def test_concurrency_holds(fake: FakeAI, tmp_path: Path) -> None:
    fake.seconds = 0.05
    chat = paid_chat(fake, tmp_path, concurrency=3)
    with ThreadPoolExecutor(9) as workers:
        list(workers.map(lambda number: chat.ask(request(f"q{number}")), range(18)))
    assert fake.busiest == 3


def test_a_slot_is_given_back_whatever_happens() -> None:
    limiter = Limiter(ChatSettings(concurrency=1, attempts=1), "test")

    def fails() -> str:
        raise CallFailed(FailureKind.PASSING, "no")

    def breaks() -> str:
        raise KeyboardInterrupt

    for broken, kind in ((fails, CallFailed), (breaks, KeyboardInterrupt)):
        with pytest.raises(kind):
            limiter.run(broken)
    assert limiter.run(lambda: "fine") == "fine"
