"""Metrics of the server, in the text format of Prometheus. They name no workspace, document or question."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The metrics of one app, so that those of two apps in a process stay apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        took, route = "Time to the end of the response.", ["route"]
        self.requests = counter("hoptrail_requests", "Requests that were answered.", ["route", "status"])
        self.seconds = Histogram("hoptrail_request_seconds", took, route, buckets=_SECONDS, registry=self.registry)
        self.asking = Gauge("hoptrail_questions_under_way", "Questions worked on or waiting.", registry=self.registry)
        self.hops = counter("hoptrail_hops", "Hops that were made.", ["verdict"])
        self.answers = counter("hoptrail_answers", "Questions by outcome.", ["outcome"])
        self.documents = counter("hoptrail_documents", "Uploaded documents by outcome.", ["state"])
