"""Importing does nothing, every module can be imported, and each folder imports only what stands before it."""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import files as installed_files
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import hoptrail
from hoptrail.index.index import Index
from world import HashingEncoder

SOURCE = Path(__file__).parents[1] / "src" / "hoptrail"

HEAVY = [
    "obstore",
    "onnxruntime",
    "openai",
    "tokenizers",
    "torch",
    "pypdfium2",
    "docx",
    "pptx",
    "xlrd",
    "scipy",
]
HEAVY += [
    "umap",
    "sklearn",
    "graspologic_native",
    "spacy",
    "mwparserfromhell",
    "lightgbm",
    "ray",
    "altair",
    "vl_convert",
]
"""Imported where they are used, so that importing stays fast."""

UNUSED = tuple(
    f"hoptrail.{name}"
    for name in (
        *("index.settings", "index.contents", "index.indexing", "index.syncing", "evaluation"),
        *("documents.read_sources", "documents.splitting", "text.statements", "text.mentions"),
        *("language.offline", "language.chat", "language.factory", "language.scripted"),
        *("models.encoder_factory", "models.local", "models.rerankers", "models.ledger"),
        *("structures.catalogue", "structures.declaration", "corpus.writer"),
        *("recipes.settings", "recipes.trail", "recipes.answering", "recipes.closest"),
        "retrieval.paths",
    )
)
"""What a search by keywords has no use for."""

ORDER = [
    {"types", "fingerprints", "execution", "system"},
    {"errors", "text", "notebook"},
    {"documents", "models", "plugins", "setting_limits"},
    {"corpus", "language"},
    {"structures", "retrieval"},
    {"recipes"},
    {"index"},
    {"evaluation"},
    {"serving"},
]
"""The way of the data. A name stands for the module or folder; those of one line do not know each other."""

BESIDE = ("hoptrail_papers", "hoptrail_scale")
"""The packages beside the engine, which know it, and neither the engine nor one another know them."""

MODULES = sorted(
    module.name
    for package in ("hoptrail", *BESIDE)
    for module in pkgutil.walk_packages([str(SOURCE.parent / package)], f"{package}.")
    if not module.name.endswith("__main__")
)

ADAPTERS = {f"hoptrail.serving.adapters.{name}" for name in ("haystack", "langchain", "llamaindex")}
"""Whoever imports one of these has its library, and wants it: what that does is its own affair."""

CHILD = """
import json, os, sys, threading, asyncio

def frame_of_ours(skipped):
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").split(".")[0] in skipped:
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame else ""
    return name if name.split(".")[0] == "hoptrail" else None

seen = {"environment": [], "files": [], "network": [], "processes": []}
read = os._Environ.__getitem__

def getitem(self, key):
    if name := frame_of_ours({"os", "_collections_abc", "collections"}):
        seen["environment"].append([name, str(key)])
    return read(self, key)

os._Environ.__getitem__ = getitem

def audit(event, arguments):
    if event.startswith("socket."):
        seen["network"].append(event)
        raise OSError("no network here")
    if event in ("subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.system"):
        seen["processes"].append(event)
    if event == "open":
        path, mode, _ = arguments
        written = isinstance(mode, str) and set(mode) & set("wax+")
        compiled = isinstance(path, int) or str(path).endswith(".pyc") or ".pyc." in str(path)  # by its number once it is open
        if written and not compiled:
            seen["files"].append(str(path))
        elif name := frame_of_ours({"pathlib", "io", "tempfile"}):
            seen["files"].append(f"{name} reads {path}")

sys.addaudithook(audit)
before = {name: id(value) for name, value in vars(asyncio).items()}
hooks = [list(sys.meta_path), list(sys.path_hooks), sys.excepthook, sys.displayhook, sys.getrecursionlimit()]
IMPORTS
seen["threads"] = [thread.name for thread in threading.enumerate()]
patched = {name: id(value) for name, value in vars(asyncio).items() if name in before}
seen["patched"] = [name for name in patched if patched[name] != before[name]]
seen["hooks"] = hooks == [list(sys.meta_path), list(sys.path_hooks), sys.excepthook, sys.displayhook, sys.getrecursionlimit()]
seen["modules"] = sorted(sys.modules)
print(json.dumps(seen))
"""


def imported(code: str, folder: Path) -> dict[str, Any]:
    """What a fresh process noticed while it ran `code`, with the network shut and everything else watched."""
    environment = {**os.environ, "HOME": str(folder)}
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD.replace("IMPORTS", code)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    noticed: dict[str, Any] = json.loads(ended.stdout)
    return noticed


def test_importing_does_nothing(tmp_path: Path) -> None:
    """The command line imports the public door, too."""
    noticed = imported("import hoptrail.serving.cli", tmp_path)
    loaded = {name.split(".")[0] for name in noticed.pop("modules")}
    assert sorted(loaded.intersection(HEAVY)) == []
    assert noticed == {
        "environment": [],
        "files": [],
        "network": [],
        "processes": [],
        "threads": ["MainThread"],
        "patched": [],
        "hooks": True,
    }
    assert list(tmp_path.iterdir()) == []


def test_the_watch_sees_what_it_watches_for(tmp_path: Path) -> None:
    """Otherwise the test above could not fail."""
    code = (
        "import types; ours = types.ModuleType('hoptrail.naughty')\n"
        'exec(\'import os, threading, socket, asyncio\\nos.environ.get("PATH")\\nopen("made", "w").close()\\n'
        'try: socket.create_connection(("127.0.0.1", 9))\\nexcept OSError: pass\\n'
        'threading.Thread(target=threading.Event().wait, args=(2,), name="idle", daemon=True).start()\\n'
        "asyncio.run = print\\nimport pypdfium2', vars(ours))"
    )
    noticed = imported(code, tmp_path)
    assert noticed["environment"] == [["hoptrail.naughty", "PATH"]]
    assert noticed["files"] == ["made"]
    assert noticed["network"]
    assert noticed["threads"] == ["MainThread", "idle"]
    assert noticed["patched"] == ["run"]
    assert "pypdfium2" in noticed["modules"]


def test_importing_every_module_does_nothing_either(tmp_path: Path) -> None:
    ours = [module for module in MODULES if module not in ADAPTERS]
    noticed = imported(f"import importlib\nfor name in {ours!r}: importlib.import_module(name)", tmp_path)
    loaded = set(noticed["modules"])
    assert set(ours) <= loaded
    assert sorted({name.split(".")[0] for name in loaded}.intersection(HEAVY)) == []
    assert noticed["network"] == noticed["files"] == noticed["environment"] == noticed["processes"] == []


def test_a_keyword_search_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """Half of what starting takes is importing."""
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add([Path(__file__).parents[1] / "examples" / "harbour"], "bm25")
    arguments = ["search", "Who built the lighthouse?", "--recipe", "bm25", "--json", "--index", str(index.folder)]
    code = "from hoptrail.serving.cli import app\nimport io\nsys.stdout, said = io.StringIO(), sys.stdout\n"
    code += f"try: app({arguments!r})\nexcept SystemExit: pass\nsys.stdout, found = said, sys.stdout.getvalue()\n"
    noticed = imported(f"{code}assert 'Lighthouse' in found", tmp_path)
    loaded = set(noticed["modules"])
    assert sorted({name.split(".")[0] for name in loaded}.intersection(HEAVY)) == []
    assert sorted(name for name in loaded if name.startswith(UNUSED)) == []
    assert set(UNUSED) <= set(MODULES), "a name that does not exist is never loaded"


def test_what_is_installed_starts_nothing_with_python() -> None:
    """A `.pth` file would run code in every process; an editable installation has one that is a path and no code."""
    listed = [path for path in installed_files("hoptrail") or [] if path.suffix == ".pth"]
    lines = [line for path in listed for line in Path(str(path.locate())).read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if line.startswith("import")] == []


# --- layers


def layer_of(module: str) -> int:
    """The line of ORDER that a module belongs to."""
    package, _, name = module.partition(".")
    if package in BESIDE:
        return len(ORDER) + BESIDE.index(package)
    name = name.partition(".")[0]
    return next(place for place, names in enumerate(ORDER) if name in names)


@cache
def imports_of(module: str) -> list[tuple[int, str]]:
    """Every import of ours in a module, wherever in it (inside functions too), with its line."""
    path = SOURCE.parent.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports by dots"
            assert node.module is not None
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(node.lineno, name if name in MODULES else node.module) for name in inside]
    return [(line, name) for line, name in found if name.split(".")[0] in {"hoptrail", *BESIDE}]


def test_every_module_has_its_place_in_the_order() -> None:
    assert MODULES
    known = set().union(*ORDER)
    assert {module.split(".")[1] for module in MODULES if module.startswith("hoptrail.")} == known


def test_a_module_imports_only_what_stands_before_it() -> None:
    for module, line, name in [(one, *found) for one in MODULES for found in imports_of(one)]:
        assert name != "hoptrail", f"{module}:{line} imports the public door"
        own_folder = name.split(".")[:2] == module.split(".")[:2] or layer_of(name) == layer_of(module) >= len(ORDER)
        assert own_folder or layer_of(name) < layer_of(module), (
            f"{module}:{line} imports {name}, which is not before it"
        )
        own = {module.split(".", maxsplit=1)[0], "hoptrail"}
        assert name.split(".")[0] in own, f"{module}:{line} imports {name} of a package that it does not know"


def test_no_modules_import_one_another() -> None:
    """Within a folder too: whoever reads a module can read what it builds on first."""
    unread = {module: {name for _, name in imports_of(module)} - {module} for module in MODULES}
    while ready := {module for module, wanted in unread.items() if not wanted & set(unread)}:
        unread = {module: wanted for module, wanted in unread.items() if module not in ready}
    assert unread == {}


def test_one_module_reads_environment_variables() -> None:
    """Others may set one that a library reads."""
    reads = re.compile(r"getenv|environ(?!\.setdefault\(|\[\"\w+\"\] = |ment)")
    found = [
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if reads.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["system/environment_variables.py"]


def test_the_version_is_that_of_the_installed_package() -> None:
    version = installed_version("hoptrail")
    assert hoptrail.__version__ == version
    for command in ([sys.executable, "-m", "hoptrail"], [str(Path(sys.executable).with_name("hoptrail"))]):
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert (said.stdout, said.stderr) == (f"hoptrail {version}\n", "")
