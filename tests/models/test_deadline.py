"""What the steps of the HTTP library are taken to mean; that a deadline cuts is proved in `test_chat.py`."""

from __future__ import annotations

from types import SimpleNamespace

from hoptrail.models.client import Deadline


def test_a_request_has_left_with_its_last_byte_and_what_a_proxy_is_asked_first_is_none() -> None:
    left: list[str] = []
    deadline = Deadline(60, lambda: left.append("left"))
    for method in (b"CONNECT", b"POST"):
        deadline.watch("http11.send_request_headers.started", {"request": SimpleNamespace(method=method)})
        deadline.watch("http11.send_request_headers.complete", {"return_value": None})
        deadline.watch("http11.send_request_body.started", {})
        assert left == []
        deadline.watch("http11.send_request_body.complete", {"return_value": None})
    assert left == ["left"]


def test_a_request_whose_body_broke_off_has_not_left() -> None:
    left: list[str] = []
    deadline = Deadline(60, lambda: left.append("left"))
    deadline.watch("http11.send_request_headers.started", {"request": SimpleNamespace(method=b"POST")})
    deadline.watch("http11.send_request_body.failed", {"exception": OSError()})
    assert left == []
