"""Any order of uploads, new versions, removals, cancellations, restarts, kills and commands loses no acknowledged work.

The model is the set of acknowledged documents of two workspaces. Servers and commands are processes of their own, forked from
one that has loaded everything; vectors are hashed words. HOPTRAIL_STATE_MACHINE says how many runs there are (3 otherwise).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corpus.worlds import files_with
from hoptrail import Index
from hoptrail.corpus.snapshot import Snapshot
from serving.server.processes import PATIENCE, command, fork_server
from serving.server.served import ended

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")

WORKSPACES = ("north", "south")
NAMES = ("avocet", "bittern", "crake")
RUNS = int(os.environ.get("HOPTRAIL_STATE_MACHINE", "3"))

workspaces = st.sampled_from(WORKSPACES)
names = st.sampled_from(NAMES)


class Documents(RuleBasedStateMachine):
    """`there` has the expected texts by title for each workspace; `gone` has words of removed or replaced texts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hoptrail-state-"))
        self.there: dict[str, dict[str, str]] = {name: {} for name in WORKSPACES}
        self.gone: dict[str, set[str]] = {name: set() for name in WORKSPACES}
        self.process: Any = None
        self.client = httpx.Client(verify=False)
        self.count = 0

    # --- what can happen

    @precondition(lambda self: self.process is None)
    @rule()
    def start(self) -> None:
        self.client.close()
        self.process, self.client = fork_server(self.folder, *WORKSPACES)

    @precondition(lambda self: self.process)
    @rule(number=st.sampled_from([signal.SIGTERM, signal.SIGKILL]))
    def end(self, number: int) -> None:
        os.kill(self.process.pid, number)
        self.process.join(PATIENCE)
        assert not self.process.is_alive()
        self.process = None
        self.client.close()

    @precondition(lambda self: self.process)
    @rule(workspace=workspaces, name=names)
    def upload(self, workspace: str, name: str) -> None:
        """A new document, or a new version."""
        text = self.new_text(name)
        self.post(workspace, name, text)
        self.put(workspace, name, text)

    @precondition(lambda self: self.process)
    @rule(workspace=workspaces, name=names)
    def remove(self, workspace: str, name: str) -> None:
        found = self.client.get("/api/documents", params={"workspace": workspace, "title": name}).json()["documents"]
        for one in (one for one in found if one["title"] == name):
            address = f"/api/documents/{one['id']}"
            text = self.client.get(address, params={"workspace": workspace}).json().get("text")
            answer = self.client.delete(address, params={"workspace": workspace})
            if answer.status_code == 202 and text == self.there[workspace].get(name):
                del self.there[workspace][name]
                self.gone[workspace].add(word_of(text))

    @precondition(lambda self: self.process)
    @rule(workspace=workspaces, name=names, cancelled_after=st.sampled_from([0.0, 0.02, 0.1]))
    def upload_and_cancel(self, workspace: str, name: str, cancelled_after: float) -> None:
        text = self.new_text(name)
        job = self.post(workspace, name, text)
        time.sleep(cancelled_after)
        cancelled = self.client.post(f"/api/jobs/{job}/cancel", params={"workspace": workspace})
        assert cancelled.status_code == 200
        if self.ended(workspace, job)["items"][0]["state"] == "done":
            self.put(workspace, name, text)
        else:
            assert self.client.delete(f"/api/jobs/{job}", params={"workspace": workspace}).status_code == 200
            self.gone[workspace].add(word_of(text))

    @precondition(lambda self: self.process is None)
    @rule(workspace=workspaces, name=names, killed_after=st.sampled_from([None, 0.0, 0.05, 0.2]))
    def index_by_command(self, workspace: str, name: str, killed_after: float | None) -> None:
        """Index one file; if the command is killed, running it again is enough."""
        text = self.new_text(f"{name} of a file")
        path = self.folder / f"{workspace} {name} of a file.txt"
        path.write_text(text, encoding="utf-8")
        arguments = ("index", str(path), "--index", str(self.folder / workspace), "--for", "bm25")
        if killed_after is not None:
            self.run(*arguments, killed_after=killed_after)
            if before := self.there[workspace].get(path.stem):
                with Snapshot.open(self.folder / workspace) as snapshot:
                    texts = [one.text for one in snapshot.documents() if one.title == path.stem]
                    assert texts in ([before], [text])
        assert self.run(*arguments) == 0
        self.put(workspace, path.stem, text)

    @precondition(lambda self: self.process is None)
    @rule(workspace=workspaces, name=names)
    def remove_by_command(self, workspace: str, name: str) -> None:
        title = f"{workspace} {name} of a file"
        if text := self.there[workspace].pop(title, None):
            self.gone[workspace].add(word_of(text))
            where = str(self.folder / workspace)
            assert self.run("remove", str(self.folder / f"{title}.txt"), "--index", where) == 0

    # --- what must hold

    @invariant()
    def one_workspace_shows_nothing_of_the_other(self) -> None:
        if self.process:
            for name in WORKSPACES:
                shown = self.client.get("/api/documents", params={"workspace": name, "limit": 1000}).json()
                assert all(one["title"].split(" ")[0] in {*NAMES, name} for one in shown["documents"])

    @precondition(lambda self: self.process)
    @rule()
    def what_was_acknowledged_is_there(self) -> None:
        for name in WORKSPACES:
            for job in self.client.get("/api/jobs", params={"workspace": name}).json()["jobs"]:
                assert self.ended(name, job["id"])["state"] == "done"
            shown = self.client.get("/api/documents", params={"workspace": name, "limit": 1000}).json()["documents"]
            texts = {
                one["title"]: self.client.get(f"/api/documents/{one['id']}", params={"workspace": name}).json()["text"]
                for one in shown
            }
            assert texts == self.there[name]

    def teardown(self) -> None:
        try:
            if self.process is None:
                self.start()
            self.what_was_acknowledged_is_there()
            self.end(signal.SIGTERM)
            for name in WORKSPACES:
                self.index_by_command(name, "dunlin", None)  # whoever writes clears away what a reader has kept
                with Snapshot.open(self.folder / name) as snapshot:
                    assert {one.title: one.text for one in snapshot.documents()} == self.there[name]
                Index(self.folder / name).verify()
                for word in self.gone[name]:
                    assert files_with(self.folder / name, word) == []
        finally:
            self.client.close()
            if self.process:
                self.process.kill()
            shutil.rmtree(self.folder)

    # --- how

    def new_text(self, name: str) -> str:
        self.count += 1
        return f"The {name} nests at quagmire{self.count}x."

    def put(self, workspace: str, title: str, text: str) -> None:
        if before := self.there[workspace].get(title):
            self.gone[workspace].add(word_of(before))
        self.there[workspace][title] = text

    def post(self, workspace: str, name: str, text: str) -> str:
        body = [{"title": name, "text": text}]
        answer = self.client.post("/api/documents", json=body, params={"workspace": workspace})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def ended(self, workspace: str, job: str) -> dict[str, Any]:
        return ended(self.client, {"id": job}, params={"workspace": workspace})

    def run(self, *arguments: str, killed_after: float | None = None) -> int | None:
        process = command(*arguments)
        process.join(PATIENCE if killed_after is None else killed_after)
        if killed_after is not None:
            process.kill()
            process.join(PATIENCE)
        return process.exitcode


def word_of(text: str) -> str:
    return text.removesuffix(".").split(" ")[-1]


@pytest.mark.timeout(600)  # some forty processes, on a machine that may be busy
def test_the_acknowledged_documents_are_there_whatever_happens() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    quiet = settings(
        max_examples=RUNS,
        stateful_step_count=12,
        deadline=None,
        derandomize="HOPTRAIL_STATE_MACHINE" not in os.environ,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Documents, settings=quiet)
