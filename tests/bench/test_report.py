"""The table shows medians, spread and ratios of the records correctly."""

from __future__ import annotations

from typing import Any

import pytest

from bench import report
from bench.workloads import WORKLOADS, sizes_for


def record(workload: str, contestant: str, round_no: int = 1, **numbers: Any) -> dict[str, Any]:
    return {
        "round": round_no,
        "workload": workload,
        "contestant": contestant,
        "version": "1.0",
        "sizes": {"runs": 200},
        "numbers": numbers,
        "note": "",
        "empty_because": "",
    }


def result(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "at": "2026-01-01T00:00:00+00:00",
        "server_version": "18.4",
        "settings": {"fsync": "on"},
        "cpu_count": 2,
        "load_average": 0.5,
        "rounds": 3,
        "quick": False,
        "floor": {"1": 4000.0, "8": 11500.0},
        "records": records,
    }


def test_a_figure_is_the_median_with_half_the_range_as_spread():
    records = [record("W1", "dbos", n, steps_per_second=rate) for n, rate in enumerate((100.0, 300.0, 200.0))]
    figure = report.figures(records)["W1"]["dbos"]["steps_per_second"]
    assert (figure.median, figure.low, figure.high, figure.count) == (200.0, 100.0, 300.0, 3)
    assert figure.spread == 0.5


def test_more_steps_a_second_are_better():
    table = report.figures(
        [record("W1", "stepwell", steps_per_second=1000.0), record("W1", "dbos", steps_per_second=100.0)]
    )
    assert report.ratio(table, "W1", WORKLOADS["W1"].metrics[0], "dbos") == 10


def test_fewer_milliseconds_are_better():
    table = report.figures([record("W4", "stepwell", p50_ms=2.0), record("W4", "dbos", p50_ms=20.0)])
    assert report.ratio(table, "W4", WORKLOADS["W4"].metrics[0], "dbos") == 10


def test_there_is_no_ratio_to_an_empty_cell():
    table = report.figures([record("W1", "stepwell", steps_per_second=1000.0)])
    assert report.ratio(table, "W1", WORKLOADS["W1"].metrics[0], "dbos") is None


def test_the_table_shows_stepwell_first_and_the_ratio_of_each_peer():
    text = report.markdown(
        result(
            [record("W1", "dbos", steps_per_second=100.0), record("W1", "stepwell", steps_per_second=1000.0)]
        )
    )
    assert "| workload | number | stepwell | dbos |" in text
    assert "| W1 | steps/s | 1,000 | 100 (10.0×) |" in text
    assert "11,500/s with 8 clients" in text


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"partial": True, "units": 5, "handler_calls": 5}, "stopped by the time limit"),
        ({"units": 5, "handler_calls": 7}, "2 handlers ran twice"),
    ],
)
def test_the_report_says_what_is_wrong_with_a_cell(numbers: dict[str, Any], said: str):
    assert said in report.markdown(result([record("W1", "dbos", **numbers)]))


def test_an_empty_cell_gives_its_reason():
    empty = {**record("W3", "dbos"), "empty_because": "no join in the library"}
    assert "W3 dbos 1.0: empty, no join in the library" in report.markdown(result([empty]))


def test_a_slow_peer_gets_a_smaller_size():
    workload = WORKLOADS["W1b"]
    assert sizes_for(workload, "stepwell", quick=False)["runs"] == 2000
    assert sizes_for(workload, "pgqueuer", quick=False)["runs"] == 2000
    assert sizes_for(workload, "dbos", quick=False)["runs"] < 2000


def test_publishing_replaces_the_results_and_nothing_else():
    page = f"above\n{report.RESULTS_BEGIN}\nold\n{report.RESULTS_END}\nbelow\n"
    assert report.published(page, "new\n") == page.replace("old", "new")


def test_a_page_without_a_place_for_results_is_refused():
    with pytest.raises(SystemExit, match="the page has no"):
        report.published("nothing here", "new")
