"""Turns the shipped weights into a checkpoint, so that training can continue without the original checkpoints.

    python -m training.shipped [--work DIR]

The precision lost to eight bits stays lost, and the optimiser starts afresh. Writes `even.pt`, from which `training.reader`
continues, and `shipped.pt`, which `training.export` can average with later weights.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch

from hoptrail.models.networks import read_reader_weights
from training.manifest import PACKAGE, shipped_manifest
from training.reader import EVEN, Progress, Settings, start_run

SHIPPED = "shipped.pt"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--work", type=Path, default=Path("work") / "reader")
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    manifest = shipped_manifest()
    run = start_run(Settings(manifest.rate, manifest.budget, manifest.longest, manifest.seed))
    weights = {name: torch.from_numpy(values) for name, values in read_reader_weights(PACKAGE).items()}
    unknown = run.reader.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise ValueError(f"weights that the reader does not have: {', '.join(unknown)}")
    run.progress = Progress(manifest.steps, manifest.examples, manifest.pieces, manifest.questions)
    run.save(options.work / SHIPPED)
    shutil.copyfile(options.work / SHIPPED, options.work / EVEN)


if __name__ == "__main__":
    main()
