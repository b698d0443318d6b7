"""Several replies to one prompt, each drawn by chance under a seed of its own: in one call where the endpoint can (`n`).

Every draw is kept and found again like any other reply: its seed is part of its key. Where the endpoint gives one reply a
call, each draw is a call, several at a time. Draws without a usable reply are left out, as long as one succeeds.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pydantic import BaseModel

from hoptrail.errors import TaskFailed
from hoptrail.language.chat.context import Room
from hoptrail.language.chat.ladder import Climbed, Draft, Draw, Ladder
from hoptrail.types import Usage

R = TypeVar("R", bound=BaseModel)

TEMPERATURE = 0.3
"""The released code's, with 10 draws. Its penalties on repeated words are not sent: few endpoints know them."""


def climb_often(
    ladder: Ladder, task: str, draft: Callable[[Room], Draft], reply: type[R], draws: int, workers: int
) -> tuple[list[Climbed[R]], Usage]:
    """The draws that succeeded, in the order of their seeds 1 to `draws`, and what all of them cost.

    Raises:
        TaskFailed: none succeeded; the reason is that of the first.
        EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: see `Chat.ask`.
    """

    def draw(seed: int) -> Climbed[R] | TaskFailed:
        try:
            return ladder.climb(task, draft, reply, Draw(seed, TEMPERATURE))
        except TaskFailed as failure:
            return failure

    seeds = range(1, draws + 1)
    fetched = ladder.fetch(task, draft, reply, [Draw(seed, TEMPERATURE) for seed in seeds])
    first = draw(1)  # alone, so that the others know which rung works
    if fetched is None:
        fetched = ladder.fetch(task, draft, reply, [Draw(seed, TEMPERATURE) for seed in seeds[1:]])
    with ThreadPoolExecutor(workers) as pool:
        drawn = [first, *pool.map(draw, seeds[1:])]
    usage = sum((one.usage or Usage() for one in drawn), fetched or Usage())
    succeeded = [one for one in drawn if isinstance(one, Climbed)]
    if not succeeded:
        raise TaskFailed(str(first), usage)
    return succeeded, usage
