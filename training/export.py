"""Writes a checkpoint as the files that ship: weights in eight bits, the manifest, the fingerprints of what was learned.

    python -m training.export [--checkpoint FILE] [--out DIR] [--data DIR]

The word embeddings are the encoder's and stay there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hoptrail.models.learned import TRAINED, trained_on
from hoptrail.models.minilm import WEIGHTS_SHA256
from training.manifest import MANIFEST, PACKAGE, WEIGHTS, Manifest, Source, digest_of_file
from training.mixture import MULTI_HOP, READING, SHARES, read_pools
from training.reader import COOLED
from training.sources import DATA, read_lines
from training.storage import in_eight_bits

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "CC-BY-SA-4.0"
_LICENCES = {"hotpotqa_train": "CC BY-SA 4.0", "2wiki_train": "Apache-2.0", "musique_train": "CC BY 4.0"}


def sources_of(data: Path) -> Iterator[Source]:
    """The files that were learned from, with their licences."""
    for name in ("spans.jsonl.gz", "yes_no.jsonl.gz"):
        path = data / READING / name
        licences = tuple(sorted({line["licence"] for line in read_lines(path)}))
        yield Source(path=f"{READING}/{name}", sha256=digest_of_file(path), licences=licences)
    for folder in MULTI_HOP:
        for path in (data / folder / "questions.jsonl", data / folder / "corpus.jsonl"):
            place = f"{folder}/{path.name}"
            yield Source(path=place, sha256=digest_of_file(path), licences=(_LICENCES[folder],))


def learned_texts(data: Path, seed: int) -> Iterator[str]:
    """Every question, text and question id that learning may have seen."""
    for examples in read_pools(data, seed).training.values():
        for example in examples:
            yield example.question
            yield example.text
    for folder in MULTI_HOP:
        yield from (line["id"] for line in read_lines(data / folder / "questions.jsonl"))


def commit() -> str:
    """The commit that the code stands at; marked where it was changed since."""
    git = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--match=")
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def export(checkpoint: Path, out: Path, data: Path) -> Manifest:
    """Write the three files; returns the manifest."""
    kept: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True)
    progress, settings = kept["progress"], kept["settings"]
    out.mkdir(parents=True, exist_ok=True)
    tensors = {name: values.float().numpy() for name, values in kept["reader"].items()}
    np.savez(out / WEIGHTS, allow_pickle=False, **in_eight_bits(tensors))
    trained_on(learned_texts(data, settings["seed"])).write(out / TRAINED)
    manifest = Manifest(
        trunk_sha256=WEIGHTS_SHA256,
        weights_sha256=digest_of_file(out / WEIGHTS),
        trained_sha256=digest_of_file(out / TRAINED),
        commit=commit(),
        seed=settings["seed"],
        rate=settings["rate"],
        budget=settings["budget"],
        longest=settings["longest"],
        steps=progress["step"],
        rounds=progress["round"],
        examples=progress["examples"],
        pieces=progress["pieces"],
        shares=dict(SHARES),
        licence=LICENCE,
        sources=tuple(sources_of(data)),
    )
    (out / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", "utf-8")
    return manifest


def main() -> int:
    """See the module."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", type=Path, default=Path("work") / "reader" / COOLED)
    arguments.add_argument("--out", type=Path, default=PACKAGE)
    arguments.add_argument("--data", type=Path, default=DATA)
    given = arguments.parse_args()
    manifest = export(given.checkpoint, given.out, given.data)
    print(f"{given.out}: {manifest.steps} steps, {manifest.examples} examples, {manifest.pieces} word pieces")
    return 0


if __name__ == "__main__":
    sys.exit(main())
