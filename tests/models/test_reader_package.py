"""The reader's weights as they ship: what the manifest says is so, and they read the sample documents."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest
from training.manifest import MANIFEST, WEIGHTS, Manifest, own_source
from training.sources import HEADS

from hoptrail.models.follow_up_writer import WRITER
from hoptrail.models.local import WEIGHTS_SHA256
from hoptrail.models.networks import TRAINED, VALUE_READER, read_trained, reader_folder, reader_version
from hoptrail.models.question_tagger import QUESTIONS
from hoptrail.models.reader import ToRead, installed_reader

ROOT = Path(__file__).parents[2]
MOST_BYTES = 14 * 2**20


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return Manifest.model_validate_json((reader_folder() / MANIFEST).read_text(encoding="utf-8"))


def test_the_files_are_those_of_the_manifest(manifest: Manifest) -> None:
    digests = {WEIGHTS: manifest.weights_sha256, TRAINED: manifest.trained_sha256}
    digests |= {QUESTIONS: manifest.tagger_sha256, WRITER: manifest.writer_sha256, VALUE_READER: manifest.values_sha256}
    contents = {name: (reader_folder() / name).read_bytes() for name in digests}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()} == digests
    assert max(map(len, contents.values())) <= MOST_BYTES
    assert manifest.trunk_sha256 == WEIGHTS_SHA256
    assert reader_version() == " ".join(digests[name][:12] for name in (WEIGHTS, QUESTIONS, VALUE_READER))


def test_what_was_learned_from_is_named_with_its_licence(manifest: Manifest) -> None:
    assert manifest.sources
    assert all(source.licences and len(source.sha256) == 64 for source in manifest.sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert manifest.licence in project["license"].split(" AND ")
    assert "packages/hoptrail-reader/LICENSE" in project["license-files"]


@pytest.mark.parametrize("path", sorted(HEADS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_heads_have_learned_their_rows_as_they_are(manifest: Manifest, path: Path) -> None:
    learned = {source.path: source.sha256 for source in manifest.sources}
    is_current = learned.get(own_source(path).path) == own_source(path).sha256
    assert is_current, f"train {path.stem} again: CONTRIBUTING.md, A head of the reader"


def test_what_was_seen_is_known_by_fingerprints() -> None:
    trained = read_trained(reader_folder() / TRAINED)
    assert len(trained.fingerprints) > 50_000
    assert bool((trained.fingerprints[1:] > trained.fingerprints[:-1]).all())
    trained.refuse(["Who keeps the light of the invented harbour?"], ["Nobody wrote this before."])


def test_it_reads() -> None:
    texts = [
        "Harbour\nThe harbour was designed by Ilse Marrow in 1871. It has two piers and a slipway.",
        "Weather\nIt rained for a week, and the ferry stayed in port until the storm was over.",
    ]
    right, other = installed_reader().read([ToRead("Who designed the harbour?", text) for text in texts])
    assert texts[0][right.answers[0].start : right.answers[0].end] == "Ilse Marrow"
    assert right.answers[0].margin > 1.4 > -0.85 > other.answers[0].margin
    assert right.helps > other.helps
