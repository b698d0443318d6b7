"""Measures the wait of a newcomer: a fresh clone, `make demo` to the first answer, and what it installed.

    python -m benchmarks.install [--python PYTHON] [--out FILE.json]

Clones the last commit into a temporary folder. pip uses its cache if that is warm, so the seconds of the first run on a
machine depend on its network; run it twice. `make demo` installs no development tools. Packages are those in site-packages
without hoptrail, pip and setuptools; their size is the sum of their files, including the encoder's weights (91 MB).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from benchmarks.common import ROOT, parser, print_table, run_measured, size_of, write_results

NOT_COUNTED = ("hoptrail", "pip", "setuptools")
LARGEST = 10


@dataclass(frozen=True, slots=True)
class Installation:
    """Seconds, and the contents of site-packages afterwards."""

    demo_seconds: float
    second_demo_seconds: float
    packages: int
    megabytes: float


def measure(clone: Path, python: str) -> tuple[Installation, list[tuple[str, float]]]:
    """Clone, and run `make demo` twice."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    command: list[str | Path] = ["make", "--no-print-directory", "-C", clone, "demo", f"PYTHON={python}"]
    first, second = run_measured(command), run_measured(command)
    print(second.output, file=sys.stderr)
    (site,) = (clone / ".venv" / "lib").glob("python*/site-packages")
    distributions = [folder.name.split("-")[0] for folder in site.glob("*.dist-info")]
    packages = [name for name in distributions if name not in NOT_COUNTED]
    sizes = {folder.name: size_of(folder) / 1e6 for folder in site.iterdir() if folder.is_dir()}
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:LARGEST]
    return Installation(first.seconds, second.seconds, len(packages), size_of(site) / 1e6), largest


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--python", default="python3", metavar="PYTHON", help="creates the virtual environment")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        installation, largest = measure(Path(folder) / "hoptrail", options.python)
    print_table([field.name.replace("_", " ") for field in fields(installation)], [astuple(installation)])
    print_table(("largest folders in site-packages", "MB"), largest)
    write_results(options.out, installation)


if __name__ == "__main__":
    main()
