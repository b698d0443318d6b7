"""The wheel alone, installed in a clean environment: it indexes, asks and serves the page. `make wheel` runs this."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hoptrail.models.local import WEIGHTS_SHA256
from hoptrail.models.onnx_runtime import digest_of

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("hoptrail-*.whl")
    return built


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a virtual environment that holds the wheel and what it depends on, and a folder of documents."""
    folder = tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", str(wheel)]
    subprocess.run([str(folder / "venv" / "bin" / "python"), *install], check=True)
    shutil.copytree(ROOT / "examples" / "harbour", folder / "notes")
    return folder


def environment(home: Path) -> dict[str, str]:
    """Nothing of the environment that the tests run in."""
    return {"PATH": f"{home / 'venv' / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(home)}


def hoptrail(home: Path, *words: str) -> str:
    ended = subprocess.run(
        ["hoptrail", *words], cwd=home, env=environment(home), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_wheel_holds_both_models_and_their_licences(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extract("hoptrail_encoder/model/model.safetensors", tmp_path)
    assert digest_of(tmp_path / "hoptrail_encoder" / "model" / "model.safetensors") == WEIGHTS_SHA256
    assert {
        "hoptrail_reader/follow-ups.npz",
        "hoptrail_reader/questions.npz",
        "hoptrail_reader/values.npz",
        "hoptrail_reader/weights.npz",
        "hoptrail/serving/server/page/index.html",
    } <= set(names)
    assert any(name.endswith("licenses/packages/hoptrail-reader/LICENSE") for name in names)


def test_it_indexes_and_answers(home: Path) -> None:
    hoptrail(home, "index", "notes", "--index", "my-index")
    question = (ROOT / "examples" / "question.txt").read_text(encoding="utf-8").strip()
    assert '"answer": "River Lathe"' in hoptrail(home, "ask", question, "--index", "my-index", "--json")
    assert re.match(r"hoptrail \d+\.\d+", hoptrail(home, "--version"))


@pytest.fixture
def served(home: Path) -> Iterator[str]:
    """The address of a server over the index."""
    command = ["hoptrail", "serve", "my-index", "--port", "0"]
    with subprocess.Popen(command, cwd=home, env=environment(home), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        yield next(found[0] for line in server.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
        server.terminate()


def test_it_serves_the_page(served: str) -> None:
    assert "<title>hoptrail</title>" in httpx.get(served, timeout=60).text


def test_no_framework_came_along(home: Path) -> None:
    (site,) = (home / "venv" / "lib").glob("python*/site-packages")
    assert not {"torch", "sentence_transformers", "transformers"} & {path.name for path in site.iterdir()}
