"""How far a question walks through the package: calls, files, and depth of calls inside it, for the question of the README.

    python -m benchmarks.calls [--folders] [--chain]

The documents of `examples/harbour` are indexed into a folder that is deleted afterwards. What is counted is the second question
of the process: another one has loaded the models before.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import hoptrail
from hoptrail import Index

PACKAGE = str(Path(hoptrail.__file__).parent)
DOCUMENTS = Path(__file__).resolve().parents[1] / "examples" / "harbour"
BEFORE = "Who was the first captain of the Gannet?"
QUESTION = "Which river flows through the town where the designer of the Candlerock Lighthouse was born?"


def folder_of(code: CodeType) -> str:
    """The folder of a function within the package, such as `retrieval/paths`; that of a module at the top is `.`."""
    return Path(code.co_filename).parent.relative_to(PACKAGE).as_posix()


class Recorder:
    """Counts the calls of functions of the package, on all threads that are started while it is on.

    - `functions`: those called, with the number of calls.
    - `across`: calls of a function in another folder than the caller's.
    - `switches`: how often a call is in another folder than the call before it.
    - `deepest`: the longest chain of functions that were open at once.
    """

    def __init__(self) -> None:
        self.functions: Counter[CodeType] = Counter()
        self.across = self.switches = 0
        self.deepest: tuple[CodeType, ...] = ()
        self._open: dict[int, list[CodeType]] = {}
        self._folders: dict[CodeType, str] = {}
        self._before = ""

    def __enter__(self) -> Recorder:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in {"call", "return"} or code.co_name[0] == "<" or not code.co_filename.startswith(PACKAGE):
            return  # comprehensions and generator expressions belong to the function that they stand in
        chain = self._open.setdefault(threading.get_ident(), [])
        if event == "return":
            if chain:
                chain.pop()
            return
        folder = self._folders.get(code) or self._folders.setdefault(code, folder_of(code))
        self.functions[code] += 1
        self.across += bool(chain) and self._folders[chain[-1]] != folder
        self.switches += bool(self._before) and self._before != folder
        self._before = folder
        chain.append(code)
        if len(chain) > len(self.deepest):
            self.deepest = tuple(chain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", action="store_true", help="functions by folder")
    parser.add_argument("--chain", action="store_true", help="the deepest chain of calls")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        index = Index(Path(folder) / "index")
        index.add([DOCUMENTS])
        index.ask(BEFORE)
        with Recorder() as found:
            index.ask(QUESTION)
    figures = {
        "calls": found.functions.total(),
        "functions": len(found.functions),
        "files": len({code.co_filename for code in found.functions}),
        "depth": len(found.deepest),
        "folder switches": found.switches,
        "calls across folders": found.across,
    }
    for name, number in figures.items():
        print(f"{name:>22} {number:>9,}")
    if given.folders:
        by_folder = Counter(map(folder_of, found.functions)).most_common()
        print(*(f"{number:>4} {name}" for name, number in by_folder), sep="\n")
    if given.chain:
        print(*(f"{folder_of(code)}/{Path(code.co_filename).name}:{code.co_name}" for code in found.deepest), sep="\n")


if __name__ == "__main__":
    main()
