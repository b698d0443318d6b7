"""Acknowledged jobs, removals and cancellations survive the process; discarded uploads leave the disk."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from command import Hoptrail
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.limits import ReadingLimits
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.uploads import CLAIMING, LOCK, Uploads
from serving.server.processes import fork_server
from serving.server.served import MakeApp, client_of, ended, upload, workspace
from serving.server.test_jobs import files_with, hold, texts, titles
from world import FACTS


def add(client: Any, *names: str) -> str:
    answer = client.post("/api/documents", json=texts(*names))
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def states(client: Any) -> dict[str, str]:
    return {job["id"]: job["state"] for job in client.get("/api/jobs").json()["jobs"]}


def test_what_was_acknowledged_is_done_after_a_kill(tmp_path: Path) -> None:
    server, client = fork_server(tmp_path, "index")
    with client:
        (item,) = ended(client, {"id": add(client, "avocet")})["items"]
        jobs = [add(client, f"bittern {n}", f"crake {n}") for n in range(3)]
        jobs.append(client.delete(f"/api/documents/{item['documents'][0]}").json()["id"])
        cancelled = add(client, "dunlin")
        assert client.post(f"/api/jobs/{cancelled}/cancel").status_code == 200
        server.kill()
        server.join()
    server, client = fork_server(tmp_path, "index")
    with client:
        for job in jobs:
            assert ended(client, {"id": job})["state"] == "done"
        listed = states(client)
        assert [*jobs, cancelled] == [job for job in reversed(listed) if job in {*jobs, cancelled}]
        assert listed[cancelled] in {"stopped", "done"}, "it may have been indexed before it was cancelled"
        names = {one["title"] for one in client.get("/api/documents").json()["documents"]}
        titles_expected = {f"{bird} {n}" for bird in ("bittern", "crake") for n in range(3)}
        assert names - {"dunlin"} == titles_expected
        assert ("dunlin" in names) == (listed[cancelled] == "done")
        server.terminate()
        server.join()


def test_a_removal_and_a_cancellation_outlive_the_process(make_app: MakeApp) -> None:
    app = make_app()
    held = hold(app, "avocet")
    with client_of(app) as client:
        working = add(client, "avocet")
        assert held.reached.wait(60)
        (one,) = client.get("/api/documents", params={"title": "lindeth"}).json()["documents"]
        removal = client.delete(f"/api/documents/{one['id']}").json()["id"]
        cancelled = add(client, "bittern")
        client.post(f"/api/jobs/{cancelled}/cancel")
        threading.Timer(0.3, held.go.set).start()
    with client_of(make_app()) as client:
        assert set(states(client)) == {working, removal, cancelled}
        assert ended(client, {"id": working})["state"] == "done"
        assert ended(client, {"id": removal})["state"] == "done"
        assert ended(client, {"id": cancelled})["state"] == "stopped"
        assert titles(client) == {*FACTS, "avocet"} - {"Lindeth"}
        client.post(f"/api/jobs/{cancelled}/resume")
        assert ended(client, {"id": cancelled})["state"] == "done"
        assert titles(client) == {*FACTS, "avocet", "bittern"} - {"Lindeth"}
    with client_of(make_app()) as client:
        assert states(client) == dict.fromkeys((cancelled, removal, working), "done")


def test_a_job_is_discarded_with_its_uploads(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    held = hold(app, "avocet")
    with client_of(app) as client:
        working, waiting, cancelled = add(client, "avocet"), add(client, "bittern"), add(client, "crake")
        assert held.reached.wait(60)
        refused = client.delete(f"/api/jobs/{working}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "under_way")
        client.post(f"/api/jobs/{cancelled}/cancel")
        for job in (waiting, cancelled):
            discarded = client.delete(f"/api/jobs/{job}").json()
            assert [item["state"] for item in discarded["items"]] == ["discarded"]
            assert client.get(f"/api/jobs/{job}").status_code == 404
            assert client.delete(f"/api/jobs/{job}").status_code == 404
        for word in (b"bittern", b"crake"):
            assert not files_with(tmp_path / "north", word)
        held.go.set()
        assert ended(client, {"id": working})["state"] == "done"
        assert titles(client) == {*FACTS, "avocet"}
        assert client.delete(f"/api/jobs/{working}").status_code == 200
        assert states(client) == {}
    with client_of(make_app()) as client:
        add(client, "dunlin")
        assert len(states(client)) == 1


def test_uploads_of_cancelled_jobs_make_room_once_they_are_discarded(make_app: MakeApp) -> None:
    app = make_app(None, ServerLimits(waiting_uploads=3000))
    held = hold(app, "avocet")
    long = "The reeds are high. " * 50
    with client_of(app) as client:
        kept = ended(client, client.post("/api/documents", json=[{"title": "a", "text": "The gate is shut."}]).json())
        add(client, "avocet")
        assert held.reached.wait(60)
        removal = client.delete(f"/api/documents/{kept['items'][0]['documents'][0]}").json()["id"]
        jobs = [client.post("/api/documents", json=[{"title": n, "text": long}]).json()["id"] for n in ("b", "c")]
        full = client.post("/api/documents", json=[{"title": "d", "text": long}])
        assert (full.status_code, full.json()["error"]["code"]) == (413, "too_large")
        for job in (removal, *jobs):
            client.post(f"/api/jobs/{job}/cancel")
        held.go.set()
        assert [ended(client, {"id": job})["state"] for job in (removal, *jobs)] == ["stopped"] * 3
        held.go.clear()
        held.reached.clear()
        add(client, "avocet again")
        assert held.reached.wait(60)
        refused = client.post("/api/documents", json=[{"title": "d", "text": long}]).json()["error"]
        assert refused["what_to_do"] == "Wait, or discard stopped jobs."
        assert client.delete(f"/api/jobs/{jobs[0]}").status_code == 200
        later = client.post("/api/documents", json=[{"title": "d", "text": long}])
        assert later.status_code == 202
        held.go.set()
        assert ended(client, later.json())["state"] == "done"
        assert client.get(f"/api/jobs/{jobs[1]}").json()["items"][0]["state"] == "stopped"
        client.post(f"/api/jobs/{removal}/resume")
        assert ended(client, {"id": removal})["state"] == "done"
        client.post(f"/api/jobs/{jobs[1]}/resume")
        assert ended(client, {"id": jobs[1]})["state"] == "done"
        assert {"c", "d"} <= titles(client)
        assert titles(client).isdisjoint({"a", "b"})


def test_what_was_accepted_before_a_restart_comes_before_what_is_sent_after_it(make_app: MakeApp) -> None:
    app = make_app()
    held = hold(app, "avocet")
    with client_of(app) as client:
        add(client, "avocet")
        assert held.reached.wait(60)
        old = client.post("/api/documents", files=[("files", ("notes.txt", b"The heron waits at dawn."))]).json()
        threading.Timer(0.3, held.go.set).start()
    with client_of(make_app()) as client:
        upload(client, ("notes.txt", b"The heron waits at dusk."))
        assert ended(client, old)["state"] == "done"
        (one,) = client.get("/api/documents", params={"title": "notes"}).json()["documents"]
        assert "dusk" in client.get(f"/api/documents/{one['id']}").json()["text"]


def test_finished_jobs_are_kept_over_a_restart_up_to_a_number(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.serving.server.jobs.KEPT_JOBS", 3)
    with client_of(make_app()) as client:
        jobs = [ended(client, {"id": add(client, f"bird {n}")})["id"] for n in range(5)]
        assert client.get(f"/api/jobs/{jobs[0]}").status_code == 404
        assert 'hoptrail_documents_total{state="done"} 5.0' in client.get("/metrics").text
    with client_of(make_app()) as client:
        last = ended(client, {"id": add(client, "bird 5")})["id"]
        assert list(states(client)) == [last, *reversed(jobs[2:])]
        assert client.get(f"/api/jobs/{jobs[-1]}").json()["items"][0]["documents"]


def test_the_name_of_a_removed_document_is_in_no_file(make_app: MakeApp, tmp_path: Path) -> None:
    with client_of(make_app()) as client:
        job = upload(client, ("Zyzzyva list.txt", b"The quetzal nests in Zyzzyva."))
        assert files_with(tmp_path / "north", b"quetzal")
        ended(client, client.delete(f"/api/documents/{job['items'][0]['documents'][0]}").json())
        for text in (b"Zyzzyva", b"quetzal"):
            assert not files_with(tmp_path / "north", text)


def test_a_document_that_is_replaced_while_somebody_reads_is_done(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)
    with client_of(make_app()) as client:
        upload(client, ("notes.txt", b"The heron waits at dawn."))
        reader = Snapshot.open(tmp_path / "north")
        job = upload(client, ("notes.txt", b"The heron waits at dusk."))
        assert (job["state"], job["items"][0]["state"], job["error"]) == ("done", "done", None)
        assert client.post(f"/api/jobs/{job['id']}/resume").status_code == 409
        reader.close()


def test_a_journal_that_cannot_be_written_leaves_no_upload(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    (tmp_path / "north" / "jobs.sqlite").mkdir()
    with client_of(app) as client:
        answer = client.post("/api/documents", json=texts("avocet"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage")
        (one,) = client.get("/api/documents", params={"title": "lindeth"}).json()["documents"]
        assert client.delete(f"/api/documents/{one['id']}").status_code == 507
        assert not files_with(tmp_path / "north", b"avocet")
        (tmp_path / "north" / "jobs.sqlite").rmdir()
        assert ended(client, {"id": add(client, "avocet")})["state"] == "done"


def test_an_index_that_was_deleted_under_a_server_takes_uploads_again(make_app: MakeApp, tmp_path: Path) -> None:
    with client_of(make_app()) as client:
        upload(client, ("birds.txt", b"The avocet wades."))
        shutil.rmtree(tmp_path / "north")
        assert titles(client) == set()
        assert upload(client, ("birds.txt", b"The bittern booms."))["state"] == "done"
        assert titles(client) == {"birds"}
        assert [path.suffix for path in (tmp_path / "north/uploads").iterdir()].count(".lock") == 2, (
            "held, and claiming"
        )


def test_uploads_that_arrive_together_take_the_lock_of_their_process_once(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, ServerLimits(), ReadingLimits())
    uploads.hold()
    shutil.rmtree(uploads.folder)
    uploads.folder.mkdir()
    with ThreadPoolExecutor(2) as pool, FileLock(uploads.folder / f"{CLAIMING}{LOCK}"):
        held = [pool.submit(uploads.hold) for _ in range(2)]
        time.sleep(0.2)  # both wait
    for one in held:
        one.result()
    own = FileLock(uploads.folder / f"{uploads.mark}{LOCK}")
    with pytest.raises(Timeout):
        own.acquire(timeout=0)
    uploads.release()
    own.acquire(timeout=0)


def test_an_upload_that_is_stopped_after_a_broken_line_has_not_failed(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, ServerLimits(), ReadingLimits())
    item = uploads.keep("birds.jsonl", BytesIO(b'{torn\n{"text": "The avocet wades."}\n'))
    assert list(uploads.read(item, 10, iter((False, *[True] * 9)).__next__)) == []
    assert [one.text for one in uploads.read(item, 10, lambda: False)] == ["The avocet wades."]
    uploads.release()


@pytest.mark.skipif(sys.platform != "linux", reason="no file here refuses to be read")
def test_an_upload_that_cannot_be_read_now_is_kept_until_it_can(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    held = hold(app, "avocet")
    with client_of(app) as client:
        add(client, "avocet")
        assert held.reached.wait(60)
        job = add(client, "bittern")
        [stored] = files_with(tmp_path / "north" / "uploads", b"bittern")
        kept = stored.rename(tmp_path / "bittern")
        stored.symlink_to("/proc/self/mem")  # its first byte is an error of the disk
        held.go.set()
        failed = ended(client, {"id": job})
        assert (failed["state"], failed["error"]["code"], states(client)[job]) == ("failed", "storage", "failed")
        assert stored.is_symlink(), "it was accepted"
        kept.replace(stored)
        assert client.post(f"/api/jobs/{job}/resume").status_code == 200
        assert ended(client, {"id": job})["state"] == "done"
        assert titles(client) >= {"avocet", "bittern"}


@pytest.mark.skipif(sys.platform != "linux", reason="no file here refuses to be read")
def test_an_upload_that_cannot_be_read_now_keeps_no_other_from_being_indexed(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    files = [
        ("avocet.pdf", b"%PDF-1.7 torn"),
        ("bittern.txt", b"The bittern booms."),
        ("crake.txt", b"The crake calls."),
        ("dunlin.txt", b"The dunlin probes."),
    ]
    with client_of(app) as client:
        with app.state.services.workspaces.get("north").writing:
            job = client.post("/api/documents", files=[("files", file) for file in files]).json()
            [stored] = files_with(tmp_path / "north" / "uploads", b"bittern")
            kept = stored.rename(tmp_path / "bittern")
            stored.symlink_to("/proc/self/mem")
        job = ended(client, job)
        assert (job["state"], job["error"]["code"]) == ("failed", "storage")
        assert [item["state"] for item in job["items"]] == ["failed", "stopped", "done", "done"]
        assert [item["reason"].partition(" (")[0] for item in job["items"]] == [
            "is damaged",
            "could not be read",
            "",
            "",
        ]
        assert titles(client) == {*FACTS, "crake", "dunlin"}
        stored.unlink()
        kept.replace(stored)
        client.post(f"/api/jobs/{job['id']}/resume")
        job = ended(client, job)
        assert (job["state"], [item["reason"] for item in job["items"][1:]]) == ("done", ["", "", ""])
        assert titles(client) == {*FACTS, "bittern", "crake", "dunlin"}


@pytest.mark.skipif(sys.platform != "linux", reason="no file here refuses to be read")
def test_a_version_that_could_not_be_read_in_time_does_not_replace_a_later_one(
    make_app: MakeApp, tmp_path: Path
) -> None:
    app = make_app()
    with client_of(app) as client:
        with app.state.services.workspaces.get("north").writing:
            files = [
                ("crake.txt", b"The crake calls."),
                ("dunlin.txt", b"One."),
                ("crake.txt", b"The crake is silent."),
            ]
            job = client.post("/api/documents", files=[("files", file) for file in files]).json()
            [stored] = files_with(tmp_path / "north" / "uploads", b"calls")
            kept = stored.rename(tmp_path / "crake")
            stored.symlink_to("/proc/self/mem")
        assert [item["state"] for item in ended(client, job)["items"]] == ["stopped", "done", "stopped"]
        stored.unlink()
        kept.replace(stored)
        client.post(f"/api/jobs/{job['id']}/resume")
        *_, last = ended(client, job)["items"]
        [document] = last["documents"]
        assert client.get(f"/api/documents/{document}").json()["text"] == "The crake is silent."


def test_files_that_no_job_names_were_never_acknowledged(make_app: MakeApp, tmp_path: Path) -> None:
    folder = tmp_path / "north" / "uploads"
    with client_of(make_app()) as client:
        add(client, "avocet")
    for name in ("u12345678abcdefabcdef.txt", "u12345678abcdefabcdef.txt.new", f"n{0:020}.jsonl", "u1.json"):
        (folder / name).write_bytes(b"left behind")
    with client_of(make_app()) as client:
        assert ended(client, {"id": add(client, "bittern")})["state"] == "done"
        assert titles(client) == {*FACTS, "avocet", "bittern"}
        assert {path.suffix for path in folder.iterdir()} == {".lock"}


def test_no_more_jobs_wait_than_may(make_app: MakeApp) -> None:
    app = make_app(None, ServerLimits(waiting_jobs=2))
    held = hold(app, "avocet")
    with client_of(app) as client:
        add(client, "avocet")
        assert held.reached.wait(60)
        waiting = add(client, "bittern")
        refused = client.post("/api/documents", json=texts("crake"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
        client.delete(f"/api/jobs/{waiting}")
        add(client, "crake")
        held.go.set()


def test_a_damaged_journal_is_found_and_removed(
    make_app: MakeApp, tmp_path: Path, hoptrail: Hoptrail, tiny: Path
) -> None:
    with client_of(make_app()) as client:
        ended(client, {"id": add(client, "avocet")})
    journal = tmp_path / "north" / "jobs.sqlite"
    index = workspace("north", tmp_path / "north").index
    files = index.verify()
    whole = journal.read_bytes()
    for at in (100, whole.index(b'"d'), whole.rindex(b"done"), whole.index(b"CREATE TABLE items"), 3 * 4096):
        journal.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        ended_ = hoptrail("verify", "--index", tmp_path / "north", "--settings", tiny)
        assert ended_.code == 1, at
        assert "jobs.sqlite" in ended_.err
    with client_of(make_app()) as client:
        assert client.post("/api/documents", json=texts("bittern")).status_code == 503
    assert index.repair() == ["jobs.sqlite"]
    assert index.verify() == files - 1
    with client_of(make_app()) as client:
        assert ended(client, {"id": add(client, "bittern")})["state"] == "done"


def test_an_index_that_was_moved_knows_its_uploads(make_app: MakeApp, tmp_path: Path) -> None:
    """A new version of an upload replaces the old one even after the index folder has moved."""
    with client_of(make_app()) as client:
        upload(client, ("birds.txt", b"The avocet wades."))
    moved = tmp_path / "elsewhere"
    (tmp_path / "north").rename(moved)
    with client_of(create_app([workspace("north", moved)], warm=False)) as client:
        upload(client, ("birds.txt", b"The bittern booms."))
        assert titles(client) == {*FACTS, "birds"}
        found = [one for one in client.get("/api/documents").json()["documents"] if one["title"] == "birds"]
        assert [(one["sources"], one["uploaded"]) for one in found] == [(["birds.txt"], True)]
    assert not files_with(moved, b"avocet")
