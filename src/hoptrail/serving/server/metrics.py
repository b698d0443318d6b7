"""Metrics of the server, in the text format of Prometheus. They name no workspace, document or question."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The metrics of one app, so that those of two apps in a process stay apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hoptrail_requests", "Requests that were answered.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "hoptrail_request_seconds",
            "Time to the end of the response.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.asking = Gauge("hoptrail_questions_under_way", "Questions worked on or waiting.", registry=self.registry)
        self.hops = Counter("hoptrail_hops", "Hops that were made.", ["verdict"], registry=self.registry)
        self.answers = Counter("hoptrail_answers", "Questions by outcome.", ["outcome"], registry=self.registry)
        self.documents = Counter(
            "hoptrail_documents", "Uploaded documents by outcome.", ["state"], registry=self.registry
        )
