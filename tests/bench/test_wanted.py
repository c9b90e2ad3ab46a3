"""Figures that are wanted and missed are told in words, and fail a benchmark that is not quick."""

from __future__ import annotations

from typing import Any

import pytest

from bench import bundles, http
from bench.__main__ import missed
from bench.wanted import below, verdict


def cell(cpu: float) -> dict[str, Any]:
    return {
        "acting": {"steps_per_second": 1.0, "postgres_cpu_us": cpu, "python_cpu_us": 50.0, "wal_bytes": 1.0},
        "beside": {"steps_per_second": 1.0, "postgres_cpu_us": cpu, "python_cpu_us": 50.0, "wal_bytes": 1.0},
        "whole": {"bundles": 2, "seconds_to_the_end": 1.0, "cpu_seconds": 1.0},
    }


def measured(**changed: float) -> dict[str, Any]:
    """A result in which every wanted figure is just reached, but for those given."""
    figures = http.WANTED | changed
    cost = {"p50_ms": 1.0, "server_cpu_ms": 1.0, "postgres_cpu_ms": 1.0, "slowest_ms": 1.0}
    side = {"per_second": 1.0, "cpu_us": 1.0, "server_cpu_us": 1.0}
    return {
        "quick": False,
        "problems": {},
        "problems-10m": {},
        "bundles": {
            "acting_runs": 2, "beside_runs": 2, "off": cell(50.0),
            "on": cell(100.0 * changed.get("acting_cpu_ratio", 1.05) - 50.0),
        },
        "http": {
            "past_runs": 1, "steps": 2_000,
            "list": {**cost, "per_second": figures["list_per_second"], "p99_ms": figures["list_p99_ms"]},
            "snapshot": {**cost, "p99_ms": figures["snapshot_p99_ms"]},
            "layout": {**cost, "p50_ms": figures["layout_p50_ms"]},
            "w1": {
                "with": side, "without": side,
                "ratio": figures["w1_ratio"], "cpu_ratio": figures["w1_cpu_ratio"],
            },
        },
    }  # fmt: skip


def test_a_result_that_reaches_every_figure_misses_none():
    result = measured()
    assert missed(result) == []
    for part in (http, bundles):
        assert "Every wanted figure was reached." in part.markdown(result[part.__name__.rpartition(".")[2]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("list_per_second", 299.0),
        ("list_p99_ms", 101.0),
        ("snapshot_p99_ms", 101.0),
        ("layout_p50_ms", 101.0),
        ("w1_ratio", 0.94),
        ("w1_cpu_ratio", 1.06),
        ("acting_cpu_ratio", 1.2),
    ],
)
def test_a_figure_that_is_missed_is_named_with_what_was_measured(name: str, value: float):
    result = measured(**{name: value})
    (told,) = missed(result)
    assert name in told
    assert f"is {value:,.2f}, wanted is at " in told
    part = bundles if name == "acting_cpu_ratio" else http
    assert f"**Missed:** {name} is {value:,.2f}" in part.markdown(result[part.__name__.rpartition(".")[2]])
    assert missed({**result, "quick": True}) == [], "a quick run proves nothing"


def test_a_part_that_was_not_measured_misses_nothing():
    assert missed({"quick": False, "bundles": {}, "http": {}, "problems": {}, "problems-10m": {}}) == []
    assert verdict(below({"a": 1.0}, {"a": 1.0}, at_least={"a"})) == "Every wanted figure was reached."
