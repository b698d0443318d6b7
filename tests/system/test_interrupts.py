"""The first signal asks work to end, the second ends it. All in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from hoptrail.system.interrupts import KEPT, STOPPED

BODY = """
import os, signal, sys, time
from hoptrail.system.interrupts import answered, leave

def finish():
    print("finishing", flush=True)

def wait(asked, signals):
    for number in signals:
        os.kill(os.getpid(), number)
        time.sleep(0.2)
    end = time.monotonic() + 20
    while not asked() and time.monotonic() < end:
        time.sleep(0.01)

"""


def run(script: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a script that begins with `BODY`."""
    ended = subprocess.run(
        [sys.executable, "-c", BODY + script], capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


INT, TERM = "signal.SIGINT", "signal.SIGTERM"


@pytest.mark.parametrize("number", [INT, TERM])
def test_the_first_signal_asks_the_work_to_end_itself(number: str) -> None:
    script = f"with answered(finish) as asked:\n    wait(asked, [{number}])\n    print('kept', asked())\nprint('after')"
    assert run(script) == (0, "finishing\nkept True\nafter\n", "")


@pytest.mark.parametrize(
    "work",
    [
        f"answered() as asked:\n    wait(asked, [{INT}])\n    time.sleep(20)",
        f"answered(finish) as asked:\n    wait(asked, [{INT}, {TERM}])\n    time.sleep(20)",
        f"answered(finish, patience=0.3) as asked:\n    wait(asked, [{TERM}])\n    time.sleep(20)",
    ],
    ids=["nothing listens", "second signal", "patience is over"],
)
def test_work_that_does_not_end_itself_is_ended(work: str) -> None:
    code, out, err = run(f"with {work}\nprint('after')")
    assert (code, err) == (STOPPED, f"hoptrail: {KEPT}\n")
    assert out in ("", "finishing\n"), "it neither goes on nor begins to end anew"


def test_whoever_answered_before_answers_again() -> None:
    script = (
        "before = signal.getsignal(signal.SIGTERM)\nwith answered() as asked:\n    print(asked())\n"
        "print(signal.getsignal(signal.SIGTERM) is before, signal.set_wakeup_fd(-1), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(20)"
    )
    assert run(script) == (-signal.SIGTERM, "False\nTrue -1\n", "")


@pytest.mark.parametrize(("code", "expected"), [("None", 0), ("0", 0), ("4", 4), ("'a message'", 1)])
def test_a_process_is_left_with_its_code_and_without_waiting(code: str, expected: int) -> None:
    script = f"from threading import Thread\nThread(target=time.sleep, args=(50,)).start()\nprint('said', end='')\nleave({code})"
    assert run(script) == (expected, "said", "")
