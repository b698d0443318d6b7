"""Turns the weights that ship into a checkpoint, so that learning can go on without the checkpoints they were made from.

    python -m training.shipped [--work DIR]

What eight bits lost stays lost, and the optimiser begins anew. Writes `even.pt`, from where `training.reader` goes on, and
`shipped.pt`, which `training.export` can average with what is learned next.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import torch

from hoptrail.models.reader import read_reader_weights
from training.manifest import MANIFEST, PACKAGE, Manifest
from training.reader import EVEN, Progress, Settings, start_run

SHIPPED = "shipped.pt"


def main() -> int:
    """See the module."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--work", type=Path, default=Path("work") / "reader")
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    manifest = Manifest.model_validate_json((PACKAGE / MANIFEST).read_text("utf-8"))
    run = start_run(Settings(manifest.rate, manifest.budget, manifest.longest, manifest.seed))
    weights = {name: torch.from_numpy(values) for name, values in read_reader_weights(PACKAGE).items()}
    unknown = run.reader.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise ValueError(f"weights that the reader does not have: {', '.join(unknown)}")
    run.progress = Progress(manifest.rounds, manifest.steps, manifest.examples, manifest.pieces)
    run.save(given.work / SHIPPED)
    shutil.copyfile(given.work / SHIPPED, given.work / EVEN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
