"""Figures for Prometheus: receives those of the database and of this process, returns the text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastapi import Request
from starlette.responses import PlainTextResponse

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.serving import Serving, serving_of
from stepwell.store.calls import metrics as calls
from stepwell.store.calls.metrics import Figure

# Outside of /api/v1: the path that monitoring expects.
router = Resource("metrics")

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MEANINGS = {
    "queue_depth": "Units that workers can claim now",
    "queue_oldest_seconds": "How long the oldest of them has waited",
    "leases": "Units that are leased to workers",
    "dead_letters": "Units whose attempts are used up",
    "workers": "Connected workers",
    "timer_lag_seconds": "How late the oldest timer is that is due",
    "runs_ended_5m": "Runs that ended in the last five minutes, by state",
    "runs_open": "Runs that have not ended",
    "integrity_problems": "Open problems of the category integrity warnings",
    "seal_age_seconds": "How long the oldest event has waited for its seal",
    "api_pool_connections": "Connections of this process to the database",
    "api_pool_available": "Connections of this process that are free",
    "api_pool_waiting": "Requests of this process that wait for a connection",
    "api_requests": "Requests under way in this process",
    "api_streams": "Open streams of this process",
}


@router.read(
    "/metrics",
    verb="metrics.read",
    summary="Figures for Prometheus, of the tenant of the caller and of this process",
    problems=(),
    response_class=PlainTextResponse,
)
async def read_metrics(request: Request, caller: Caller) -> PlainTextResponse:
    found = await caller.perform(calls.figures())
    lines = exposition([*found, *_of_process(serving_of(request))])
    return PlainTextResponse("\n".join(lines) + "\n", media_type=MEDIA_TYPE)


def exposition(figures: Iterable[Figure]) -> Iterator[str]:
    """The lines of the text format; figures with the same name stand together."""
    by_name: dict[str, list[Figure]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    for name, found in by_name.items():
        yield f"# HELP stepwell_{name} {MEANINGS[name]}"
        yield f"# TYPE stepwell_{name} gauge"
        for figure in found:
            label = "" if figure.label is None else f'{{{figure.label_name}="{_escaped(figure.label)}"}}'
            yield f"stepwell_{name}{label} {figure.value:.17g}"


def _of_process(serving: Serving) -> Iterator[Figure]:
    stats = serving.pool.get_stats()
    for name, key in (
        ("connections", "pool_size"),
        ("available", "pool_available"),
        ("waiting", "requests_waiting"),
    ):
        yield Figure(f"api_pool_{name}", None, None, float(stats.get(key, 0)))
    yield Figure("api_requests", None, None, float(serving.request_count))
    yield Figure("api_streams", None, None, float(serving.hub.stream_count))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
