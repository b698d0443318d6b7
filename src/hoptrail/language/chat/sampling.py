"""Sample several replies to one prompt, each with its own seed: in one call if the endpoint supports `n`.

Draws are remembered like any other reply: the seed is part of the key. If the endpoint gives one reply per call, each draw is a
call, several at a time. Draws without a usable reply are left out as long as one succeeds.
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
"""The temperature of SUNAR's released code, with 10 draws. Its repetition penalties are not sent: few endpoints support them."""


def climb_often(
    ladder: Ladder, task: str, draft: Callable[[Room], Draft], reply: type[R], draws: int
) -> tuple[list[Climbed[R]], Usage]:
    """The successful draws in the order of their seeds 1 to `draws`, and the cost of all draws.

    Raises:
        TaskFailed: no draw succeeded; has the first one's reason.
        EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: see `Chat.ask`.
    """

    def draw(seed: int) -> Climbed[R] | TaskFailed:
        try:
            return ladder.climb(task, draft, reply, Draw(seed, TEMPERATURE))
        except TaskFailed as failure:
            return failure

    seeds = range(1, draws + 1)
    fetched = ladder.fetch(task, draft, reply, [Draw(seed, TEMPERATURE) for seed in seeds])
    first = draw(1)  # alone, to find the working rung for the others
    if fetched is None:
        fetched = ladder.fetch(task, draft, reply, [Draw(seed, TEMPERATURE) for seed in seeds[1:]])
    with ThreadPoolExecutor(ladder.workers) as pool:
        drawn = [first, *pool.map(draw, seeds[1:])]
    usage = sum((one.usage or Usage() for one in drawn), fetched or Usage())
    succeeded = [one for one in drawn if isinstance(one, Climbed)]
    if not succeeded:
        raise TaskFailed(str(first), usage)
    return succeeded, usage
