"""Writes checkpoints as the files that ship: weights in eight bits, the manifest, the fingerprints of the training examples.

    python -m training.export [--checkpoint FILE]... [--out DIR] [--data DIR]

Several checkpoints are averaged, weight by weight; all must come from one run (Wortsman et al. 2022, Model soups, section 2).

The word embeddings are those of the encoder and are not exported.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hoptrail.models.local import WEIGHTS_SHA256
from hoptrail.models.networks import TRAINED, VALUE_READER
from training.contrast import blocks
from training.contrast.worlds import FOLDER, learned_names
from training.head import texts_of
from training.manifest import (
    LICENCE,
    PACKAGE,
    ROOT,
    WEIGHTS,
    Manifest,
    Source,
    digest_of_file,
    enter,
    in_eight_bits,
    own_source,
    shipped_manifest,
    trained_on,
    write_trained,
)
from training.mixture import MULTI_HOP, READING, SHARES, read_pools
from training.question_rows import FOLDER as ASKED
from training.question_rows import examples as examples_of_tagger
from training.reader import COOLED
from training.sources import DATA, HEADS, read_lines
from training.statements import HELD_OUT
from training.supply import read_material
from training.written import FOLDER as WRITTEN

_LICENCES = {"hotpotqa_train": "CC BY-SA 4.0", "2wiki_train": "Apache-2.0", "musique_train": "CC BY 4.0"}


def sources_of(data: Path) -> Iterator[Source]:
    for name in ("spans.jsonl.gz", "yes_no.jsonl.gz"):
        path = data / READING / name
        licences = tuple(sorted({line["licence"] for line in read_lines(path)}))
        yield Source(path=f"{READING}/{name}", sha256=digest_of_file(path), licences=licences)
    broken = data / "break" / "decompositions.jsonl"
    yield Source(path=f"break/{broken.name}", sha256=digest_of_file(broken), licences=("MIT",))
    for folder in MULTI_HOP:
        for path in (data / folder / "questions.jsonl", data / folder / "corpus.jsonl"):
            place = f"{folder}/{path.name}"
            yield Source(path=place, sha256=digest_of_file(path), licences=(_LICENCES[folder],))
    own = [
        *WRITTEN.glob("*/questions.jsonl"),
        *(FOLDER / f"{name}.jsonl" for name in learned_names()),
        *blocks.FOLDER.glob("*.txt"),
        *ASKED.glob("*.jsonl"),
        *HEADS.glob("*.jsonl"),
    ]
    for path in sorted(own):
        yield own_source(path)


def learned_texts(data: Path, seed: int) -> Iterator[str]:
    """Every question, text and question id that training may have used, the tagger's among them."""
    material = read_material(data, seed)
    for examples in material.pools.training.values():
        for example in examples:
            yield from (example.question, example.text)
    for one in material.pools.blocks:
        yield from (one.question, *one.texts)
    for side in material.pools.compared:
        yield from (side.question, *(side.text or ()), *side.others)
    for choice in (*material.written, *material.paragraphs):
        yield from filter(None, (choice.question, choice.settling, *choice.others))
    for message in examples_of_tagger(data):
        yield from filter(None, (message.message, message.text))
    for path in HEADS.glob("*.jsonl"):
        yield from texts_of(read_lines(path))
    for folder in MULTI_HOP:
        yield from (line["id"] for line in read_lines(data / folder / "questions.jsonl"))


def commit() -> str:
    """The commit of the code; marked if there are uncommitted changes."""
    git = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--match=")
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def export(checkpoints: Sequence[Path], out: Path, data: Path) -> Manifest:
    """Write the three files; returns the manifest, which describes the most advanced checkpoint."""
    loaded: list[Any] = [torch.load(path, map_location="cpu", weights_only=True) for path in checkpoints]
    loaded.sort(key=lambda kept: kept["progress"]["step"])
    progress, settings = loaded[-1]["progress"], loaded[-1]["settings"]
    out.mkdir(parents=True, exist_ok=True)
    _write_mean([kept["reader"] for kept in loaded], out / WEIGHTS)
    write_trained(trained_on(learned_texts(data, settings["seed"])), out / TRAINED)
    of_others = shipped_manifest().model_dump(
        include={"tagger_sha256", "tagger_examples", "writer_sha256", "writer_rows", "values_sha256", "values_examples"}
    )
    manifest = Manifest(
        trunk_sha256=WEIGHTS_SHA256,
        weights_sha256=digest_of_file(out / WEIGHTS),
        trained_sha256=digest_of_file(out / TRAINED),
        commit=commit(),
        steps=progress["step"],
        held_out=HELD_OUT,
        averaged=tuple(kept["progress"]["examples"] for kept in loaded),
        shares=dict(SHARES),
        licence=LICENCE,
        sources=tuple(sources_of(data)),
        **of_others,
        **{name: settings[name] for name in ("seed", "rate", "budget", "longest")},
        **{name: progress[name] for name in ("examples", "pieces", "questions")},
    )
    manifest.write(out)
    return manifest


def export_values(checkpoints: Sequence[Path], data: Path) -> None:
    """Write the weights of the reader of values into the package, and enter them."""
    loaded: list[Any] = [torch.load(path, map_location="cpu", weights_only=True) for path in checkpoints]
    _write_mean([kept["reader"] for kept in loaded], PACKAGE / VALUE_READER)
    sides = read_pools(data, loaded[0]["settings"]["seed"], ()).compared
    texts = filter(None, (text for one in sides for text in (one.question, *(one.text or ()), *one.others)))
    examples = max(kept["progress"]["examples"] for kept in loaded)
    enter("values", VALUE_READER, texts, own_source(ASKED / "comparisons.jsonl"), values_examples=examples)


def _write_mean(readers: Sequence[Mapping[str, Any]], path: Path) -> None:
    tensors = {name: torch.stack([one[name].float() for one in readers]).mean(0).numpy() for name in readers[0]}
    np.savez(path, allow_pickle=False, **in_eight_bits(tensors))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", type=Path, action="append", help=f"work/reader/{COOLED} by default")
    arguments.add_argument("--out", type=Path, default=PACKAGE)
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--values", action="store_true", help="the reader of values that are compared")
    options = arguments.parse_args()
    if options.values:
        export_values(options.checkpoint, options.data)
        return
    manifest = export(options.checkpoint or [Path("work") / "reader" / COOLED], options.out, options.data)
    print(f"{options.out}: {manifest.steps} steps, {manifest.examples} examples, {manifest.pieces} word pieces")


if __name__ == "__main__":
    main()
