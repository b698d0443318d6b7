"""Trains the reader; continues where it stopped.

    python -m training.reader [--work DIR] [--data DIR] [--minutes N] [--cool-minutes N] [--rate R] [--budget N] [--longest N]
                              [--seed N] [--workers N] [--threads N]

Trains at a constant rate for `--minutes`, then at a falling one for `--cool-minutes`. `DIR/even.pt` is saved every few minutes,
and the next run continues from it; `DIR/cooled.pt` is the one to export (`python -m training.export`). Continuing from
an even checkpoint needs no new schedule (Hu et al. 2024, MiniCPM, section 4: warm up, stay, decay).

An accelerator is used if there is one (with it: `--budget 26000 --workers 14 --rate 2.5e-4`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from hoptrail.models.local import WEIGHTS, packaged_folder
from hoptrail.models.networks import whole_tokenizer
from hoptrail.models.onnx_runtime import read_weights
from training.batches import Step
from training.mixture import ROUND, SHARES, VALUE_SHARES
from training.model import WORDS, Reader, loss_of
from training.sizes import MINILM
from training.sources import DATA
from training.supply import Steps, read_material

EVEN, COOLED = "even.pt", "cooled.pt"
_WARM_UP = 100  # steps
_SAVED_EVERY = 180.0  # seconds
_TOLD_EVERY = 20  # steps


@dataclass(frozen=True, slots=True)
class Settings:
    """Training settings. `budget` is the word pieces of the examples of a step, `longest` those of a text."""

    rate: float = 1.5e-4
    budget: int = 2048
    longest: int = 112
    seed: int = 0
    decay: float = 0.01
    largest_gradient: float = 1.0
    dropped: float = 0.1


@dataclass(slots=True)
class Progress:
    """The progress of training: steps, examples, word pieces seen, and questions whose statements were ranked."""

    step: int = 0
    examples: int = 0
    pieces: int = 0
    questions: int = 0

    @property
    def round(self) -> int:
        """The round to go on from. A few of its examples may have been seen: rests of rounds are left out and not counted."""
        return -(-self.examples // ROUND)


@dataclass(slots=True)
class Run:
    reader: Reader
    optimiser: torch.optim.Optimizer
    device: torch.device
    settings: Settings
    progress: Progress

    def learn(self, step: Step, rate: float) -> float:
        """Make one step; returns the loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate * min(1.0, (self.progress.step + 1) / _WARM_UP)
        loss = loss_of(self.reader, step, self.device)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.reader.parameters(), self.settings.largest_gradient)
        self.optimiser.step()
        self.progress.step += 1
        self.progress.examples += len(step.start)
        self.progress.pieces += len(step.ids)
        self.progress.questions += len(step.settling)
        return float(loss.detach())

    def save(self, path: Path) -> None:
        """The state needed to continue, without the word embeddings, which are the encoder's."""
        state = {
            "reader": {name: values for name, values in self.reader.state_dict().items() if name != WORDS},
            "optimiser": self.optimiser.state_dict(),
            "progress": asdict(self.progress),
            "settings": asdict(self.settings),
        }
        unfinished = path.with_suffix(".unfinished")
        torch.save(state, unfinished)
        unfinished.replace(path)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint; unfinished rounds start again."""
        state: dict[str, Any] = torch.load(path, map_location=self.device, weights_only=True)
        self.reader.load_state_dict(state["reader"], strict=False)
        self.optimiser.load_state_dict(state["optimiser"])
        self.progress = Progress(**state["progress"])


def start_run(settings: Settings) -> Run:
    """A new run of a reader with the encoder's trunk and untrained heads."""
    torch.manual_seed(settings.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader = Reader(MINILM, read_weights(packaged_folder() / WEIGHTS), settings.dropped).to(device)
    learned = [values for values in reader.parameters() if values.requires_grad]
    decayed = {"params": [values for values in learned if values.ndim > 1], "weight_decay": settings.decay}
    others = {"params": [values for values in learned if values.ndim == 1], "weight_decay": 0.0}
    return Run(reader, torch.optim.AdamW([decayed, others], settings.rate, fused=True), device, settings, Progress())


def train(run: Run, supply: Iterator[Step], work: Path, minutes: float, cool_minutes: float) -> None:
    """Train for the given time; the checkpoints are the result."""
    began = saved = time.monotonic()
    cooling_from, until = began + 60 * minutes, began + 60 * (minutes + cool_minutes)
    losses: list[float] = []
    cooling = False
    while (now := time.monotonic()) < until:
        if not cooling and (now >= cooling_from or now - saved > _SAVED_EVERY):
            run.save(work / EVEN)
            saved, cooling = now, now >= cooling_from
        rate_share = min(1.0, (until - now) / (until - cooling_from)) if cooling else 1.0
        losses.append(run.learn(next(supply), run.settings.rate * rate_share))
        if run.progress.step % _TOLD_EVERY == 0:
            speed = run.progress
            print(
                f"{now - began:6.0f} s  step {speed.step}  examples {speed.examples}  pieces {speed.pieces}  "
                f"questions {speed.questions}  rate {rate_share:.2f}  loss {sum(losses) / len(losses):.3f}",
                flush=True,
            )
            losses.clear()
    run.save(work / COOLED)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--work", type=Path, default=Path("work") / "reader")
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--minutes", type=float, default=240.0)
    arguments.add_argument("--cool-minutes", type=float, default=45.0)
    for name in ("rate", "budget", "longest", "seed"):
        default = getattr(Settings(), name)
        arguments.add_argument(f"--{name}", type=type(default), default=default)
    arguments.add_argument("--workers", type=int, default=0, help="processes that prepare steps; 0: the training's own")
    arguments.add_argument("--threads", type=int, default=0, help="0: one per core")
    arguments.add_argument("--values", action="store_true", help="learn to read values that are compared, above all")
    options = arguments.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    options.work.mkdir(parents=True, exist_ok=True)
    run = start_run(Settings(options.rate, options.budget, options.longest, options.seed))
    if (options.work / EVEN).exists():
        run.load(options.work / EVEN)
    material = read_material(options.data, options.seed, VALUE_SHARES if options.values else SHARES)
    steps = Steps(material, whole_tokenizer(), options.budget, options.longest, run.progress.round)
    supply = DataLoader(steps, batch_size=None, num_workers=options.workers)
    train(run, iter(supply), options.work, options.minutes, options.cool_minutes)


if __name__ == "__main__":
    main()
