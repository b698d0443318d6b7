"""Creates the peers' environments: a virtual environment for each file in `requirements/`, outside the repository.

    python -m benchmarks.peers.environments DIR [NAME...]

creates DIR/NAME, by default all missing ones, from the registry that pip is configured for. If an installation fails, pip's last
words are printed, and the commands beside this one leave out the peers that need it. Importable without hoptrail.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"
NAMES = tuple(sorted(path.stem for path in REQUIREMENTS.glob("*.txt")))
FINISHED = "finished"
"""Marks a folder whose packages are complete."""


def interpreter(folder: Path, name: str) -> Path | None:
    """The Python of an environment; None if it does not exist."""
    python = folder.absolute() / name / "bin" / "python"
    return python if (folder / name / FINISHED).exists() else None


def make(folder: Path, name: str) -> str | None:
    """Create an environment if it is missing; returns the reason if it cannot be created."""
    if interpreter(folder, name):
        return None
    place = folder / name
    created = subprocess.run([sys.executable, "-m", "venv", place], capture_output=True, text=True, check=False)
    if created.returncode:
        return (created.stderr or created.stdout).strip()
    install = [str(place / "bin" / "pip"), "install", "--quiet", "-r", str(REQUIREMENTS / f"{name}.txt")]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    if installed.returncode:
        return "\n".join(installed.stderr.strip().splitlines()[-3:])
    (place / FINISHED).touch()
    return None


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path, metavar="DIR")
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    options = arguments.parse_args()
    if unknown := set(options.names) - set(NAMES):
        sys.exit(f"there is no environment {', '.join(sorted(unknown))}. Environments: {', '.join(NAMES)}.")
    failed = False
    for name in options.names or NAMES:
        why = make(options.folder, name)
        print(f"{name}: {why or 'ready'}", flush=True)
        failed = failed or why is not None
    sys.exit(failed)


if __name__ == "__main__":
    main()
