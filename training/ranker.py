"""Trains the ranker of statements, from the weights of the reader that ships, and writes the mean of several runs beside them.

    python -m training.ranker train OUT.pt [--from FILE.pt] [--minutes N] [--rate R] [--seed N] [--threads N] [--data DIR]
    python -m training.ranker export FILE.pt... [--out DIR] [--data DIR]

A step takes eight questions, each with the statement that settles it (or none) and five of the twenty others that are closest to
it, closer ones more often. The loss is the cross entropy of a softmax over these and a score of 0 for "none of them". The
learning rate falls from `--rate` to 0. `hoptrail.models.statement_ranker` runs the weights.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.learned import TRAINED, Trained, fingerprint, read_trained
from hoptrail.models.reader import RANKER_WEIGHTS, read_reader_weights
from training.batches import Pieces, encode, pad
from training.examples import Example
from training.export import average, commit
from training.manifest import MANIFEST, PACKAGE, Manifest, Ranker, digest_of_file, in_eight_bits
from training.model import WORDS, Reader, on_device
from training.reader import new_reader, tokenizer
from training.sources import DATA
from training.statements import Choice, choices_in_paragraphs, choices_of
from training.written import FOLDER, worlds

HELD_OUT = ("letters-and-law", "tools-and-standards")
"""Folders of `training/written` that show how well the ranker chooses, and from which it does not learn."""
_QUESTIONS, _OTHERS = 8, 5
"""Of a step, and of a question."""
_WRITTEN = 0.68  # share of the questions about `training/written`
_CLOSER = 1.7  # power of the place among the closest: at 1 all are as likely
_LONGEST = 72  # word pieces of a statement
_WARM_UP, _DECAY, _LARGEST_GRADIENT = 100, 0.01, 1.0
_REPORTED_EVERY = 100  # steps
_SOURCE = "ranker"


def drawn(choice: Choice, draw: random.Random) -> list[str]:
    """The settling statement, if there is one, and others, closer ones more often."""
    others = list(choice.others)
    chosen: list[str] = []
    while others and len(chosen) < _OTHERS:
        chosen.append(others.pop(int(len(others) * draw.random() ** _CLOSER)))
    return [*filter(None, [choice.settling]), *chosen]


def typed(question: str, draw: random.Random) -> str:
    """The question as it may be typed: in small letters, without its mark, or with two letters swapped."""
    chance = draw.random()
    if chance < 0.2:
        question = question.lower()
    if chance < 0.1 or 0.2 < chance < 0.3:
        question = question.rstrip("?.")
    if 0.3 < chance < 0.35 and len(question) > 8:
        at = draw.randrange(1, len(question) - 2)
        question = question[:at] + question[at + 1] + question[at] + question[at + 2 :]
    return question


def pairs(question: str, statements: Sequence[str], pieces: Tokenizer) -> list[Pieces]:
    """Question and statement as word pieces, for each statement."""
    examples = [Example(_SOURCE, question, statement) for statement in statements]
    return encode(examples, pieces, _LONGEST, random.Random(0))  # nothing is drawn: only answers move a crop


def scores(model: Reader, batch: Sequence[Pieces]) -> torch.Tensor:
    """The logit of each pair. Short and long pairs are padded apart."""
    order = sorted(range(len(batch)), key=lambda place: len(batch[place].ids))
    half = len(order) // 2
    found = []
    for part in filter(None, (order[:half], order[half:])):
        padded = on_device(pad([batch[place] for place in part]), torch.device("cpu"))
        found.append(model(padded["ids"], padded["segments"], padded["mask"])[2])
    return torch.cat(found)[torch.tensor(np.argsort(order))]


def loss_of(model: Reader, groups: Sequence[tuple[list[Pieces], bool]]) -> torch.Tensor:
    """The mean loss of questions: of each its pairs, and whether the first of them settles it."""
    found = scores(model, [pair for group, _ in groups for pair in group])
    parts = found.split([len(group) for group, _ in groups])
    losses = [
        functional.cross_entropy(torch.cat([torch.zeros(1), part])[None], torch.tensor([int(is_settled)]))
        for part, (_, is_settled) in zip(parts, groups, strict=True)
    ]
    return torch.stack(losses).mean()


def supply(data: Path, pieces: Tokenizer, seed: int) -> Iterator[tuple[list[Pieces], bool]]:
    """Endless questions of both kinds."""
    draw = random.Random(seed)
    written = [one for world in worlds() if world.name not in HELD_OUT for one in choices_of(world)]
    paragraphs = list(choices_in_paragraphs(open_encoder("minilm"), 0, data))
    endless = []
    for choices in (written, paragraphs):
        draw.shuffle(choices)
        endless.append(itertools.cycle(choices))
    while True:
        choice = next(endless[draw.random() >= _WRITTEN])
        yield pairs(typed(choice.question, draw), drawn(choice, draw), pieces), choice.settling is not None


def chosen_first(model: Reader, pieces: Tokenizer) -> float:
    """The share of the questions of the held-out folders whose settling statement is scored above all others."""
    choices = [one for name in HELD_OUT for one in choices_of(FOLDER / name)]
    settled = [one for one in choices if one.settling is not None]
    right = 0
    with torch.no_grad():
        for one in settled:
            found = scores(model, pairs(one.question, [str(one.settling), *one.others], pieces))
            right += int(found.argmax()) == 0
    return right / len(settled)


def train(model: Reader, groups: Iterator[tuple[list[Pieces], bool]], minutes: float, rate: float) -> int:
    """Train for the given time. Returns the number of questions seen."""
    learned = [
        values
        for name, values in model.named_parameters()
        if values.requires_grad and not name.startswith(("span.", "verdict."))
    ]
    optimiser = torch.optim.AdamW(learned, rate, weight_decay=_DECAY)
    began, steps, losses = time.monotonic(), 0, 0.0
    while (passed := (time.monotonic() - began) / (60 * minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (steps + 1) / _WARM_UP) * (1 - passed)
        loss = loss_of(model, list(itertools.islice(groups, _QUESTIONS)))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, _LARGEST_GRADIENT)
        optimiser.step()
        steps, losses = steps + 1, losses + float(loss.detach())
        if steps % _REPORTED_EVERY == 0:
            print(f"{passed:.2f}  questions {steps * _QUESTIONS}  loss {losses / _REPORTED_EVERY:.3f}", flush=True)
            losses = 0.0
    return steps * _QUESTIONS


def train_command(options: argparse.Namespace) -> None:
    """Train one run and save it."""
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    model, pieces, seen = new_reader(), tokenizer(), 0
    if options.start:
        kept = torch.load(options.start, weights_only=True)
        model.load_state_dict(kept["reader"], strict=False)
        seen = kept["questions"]
    else:
        shipped = {name: torch.from_numpy(values) for name, values in read_reader_weights(PACKAGE).items()}
        model.load_state_dict(shipped, strict=False)
    seen += train(model, supply(options.data, pieces, options.seed), options.minutes, options.rate)
    weights = {name: values for name, values in model.state_dict().items() if name != WORDS}
    torch.save({"reader": weights, "questions": seen}, options.weights[0])
    print(f"first of its statements in {chosen_first(model, pieces):.3f} of the held-out questions")


def export(files: Sequence[Path], out: Path, data: Path) -> Ranker:
    """Write the mean of several runs and describe it in the reader's manifest; note what was learned from as well."""
    kept = [torch.load(path, map_location="cpu", weights_only=True) for path in files]
    np.savez(out / RANKER_WEIGHTS, allow_pickle=False, **in_eight_bits(average([one["reader"] for one in kept])))
    choices = [one for world in worlds() for one in choices_of(world)]
    choices += choices_in_paragraphs(open_encoder("minilm"), 0, data)
    seen = {fingerprint(text) for one in choices for text in (one.question, one.settling, *one.others) if text}
    known = read_trained(out / TRAINED).fingerprints
    Trained(np.union1d(known, np.array(sorted(seen), np.uint64))).write(out / TRAINED)
    ranker = Ranker(
        weights_sha256=digest_of_file(out / RANKER_WEIGHTS),
        commit=commit(),
        held_out=HELD_OUT,
        questions=tuple(one["questions"] for one in kept),
    )
    manifest = Manifest.model_validate_json((out / MANIFEST).read_text("utf-8"))
    changed = {"ranker": ranker, "trained_sha256": digest_of_file(out / TRAINED)}
    (out / MANIFEST).write_text(manifest.model_copy(update=changed).model_dump_json(indent=1) + "\n", "utf-8")
    return ranker


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("train", "export"))
    arguments.add_argument("weights", type=Path, nargs="+")
    arguments.add_argument("--from", dest="start", type=Path, help="an earlier run; the shipped reader by default")
    arguments.add_argument("--minutes", type=float, default=60.0)
    arguments.add_argument("--rate", type=float, default=1e-4)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=0, help="0: one per core")
    arguments.add_argument("--out", type=Path, default=PACKAGE)
    arguments.add_argument("--data", type=Path, default=DATA)
    options = arguments.parse_args()
    if options.what == "train":
        train_command(options)
    else:
        print(export(options.weights, options.out, options.data))


if __name__ == "__main__":
    main()
