"""The whole benchmark with very small sizes: it runs, every cell has numbers, and the result is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.environment import FOLDER, ROOT
from bench.runner import PEERS, TUNED_PEERS
from bench.workloads import WORKER_SLOTS, WORKLOADS
from stepwell.worker.worker import DEFAULT_SLOTS

# It starts a server, workers and a browser, one after the other.
LIMIT_SECONDS = 580


def bench(results: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, "-m", "bench", "--quick", "--results-dir", str(results), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    written: dict[str, Any] = json.loads(next(results.glob("*.json")).read_text())
    assert next(results.glob("*.md")).read_text() == done.stdout.rstrip("\n") + "\n"
    return written, done.stdout


# One run for all parts, because each run starts a server and migrates a database.
@pytest.mark.timeout(600)
def test_every_part_is_measured(tmp_path: Path):
    result, table = bench(tmp_path, "--peers", "none")
    check_workloads(result, table)
    check_settings(result, table)
    check_floor_core_engine_and_history(result, table)
    check_graphs_and_rebuilds(result, table)
    check_bundles(result, table)
    check_http(result)
    check_pages(result, table)
    check_problems(result, table)


def check_workloads(result: dict[str, Any], table: str) -> None:
    assert {record["workload"] for record in result["records"]} == set(WORKLOADS)
    for record in result["records"]:
        assert not record["empty_because"]
        assert not record["numbers"].get("partial")
        assert record["numbers"].get("handler_calls") == record["numbers"].get("units")
        for metric in WORKLOADS[record["workload"]].metrics:
            assert record["numbers"][metric.key] > 0
            assert f"| {record['workload']} | {metric.label} |" in table


def check_settings(result: dict[str, Any], table: str) -> None:
    """What is not the default has the default beside it: of the server, and of the worker."""
    assert result["settings"]["shared_buffers"].endswith("(default 128 MB)")
    assert "max_wal_size = 2GB (default 1024 MB)" in table
    assert result["settings"]["fsync"] == "on"
    # H20 and H20t name the slots, of which their ideal follows.
    assert {record["note"].split(";")[0].split(":")[0] for record in result["records"]} == {
        "default settings",
        f"slots={WORKER_SLOTS} (default {DEFAULT_SLOTS})",
    }


def check_floor_core_engine_and_history(result: dict[str, Any], table: str) -> None:
    assert set(result["floor"]) == {"1", "8"}
    assert all(
        cell["transitions_per_second"] > 0 for shape in result["core"].values() for cell in shape.values()
    )
    assert [load["label"] for load in result["engine"]] == ["W1", "W1b", "W3", "W2"]
    assert all(load["routine_us"] for load in result["engine"])
    assert result["history"]["full"]["elapsed_us"] > 0
    assert all(row["drain_ms"] > 0 for row in result["emits"]["rows"].values())
    assert "Transition core" in table


def check_graphs_and_rebuilds(result: dict[str, Any], table: str) -> None:
    cells = {(shape, size): cell for shape, sizes in result["graphs"].items() for size, cell in sizes.items()}
    assert {shape for shape, _ in cells} == {"chain", "fan", "layers"}
    for (_, size), cell in cells.items():
        assert cell["units"] == int(size) * cell["runs"]
        assert cell["elapsed_us"] > 0
    assert "| layers | 40 | 2 |" in table
    assert set(result["rebuild"]) == {"chain", "fan", "layers"}
    # Each step has the events ready, started and completed.
    assert all(cell["events"] >= 3 * cell["steps"] for cell in result["rebuild"].values())
    assert "| chain | 40 |" in table


def check_bundles(result: dict[str, Any], table: str) -> None:
    runs = WORKLOADS["W1"].quick_sizes["runs"]
    assert [result["bundles"][mode]["whole"]["bundles"] for mode in ("off", "on")] == [0, runs]
    assert all(result["bundles"][mode]["beside"]["steps_per_second"] > 0 for mode in ("off", "on"))
    assert f"{runs} bundles" in table


def check_http(result: dict[str, Any]) -> None:
    assert result["http"]["list"]["per_second"] > 0
    assert result["http"]["layout"]["p50_ms"] > 0


def check_pages(result: dict[str, Any], table: str) -> None:
    for cell in result["pages"].values():
        assert cell["pan_fps"] > 0
        assert cell["first_paint_ms"] > 0
        assert 0 < cell["nodes"] <= 2500
    assert "The run page in Chromium" in table


def check_problems(result: dict[str, Any], table: str) -> None:
    assert result["problems"]["events"] >= 2_000
    # Dead letters and a refused event; a quick run is over before a reader is late.
    assert result["problems"]["categories"] >= 2
    assert all(read["p50_ms"] > 0 for read in result["problems"]["reads"].values())
    assert "The problems page with" in table
    # Ten million events are written only when somebody asks for them.
    assert result["problems-10m"] == {}


@pytest.mark.skipif(not (FOLDER / ".installed").exists(), reason="the peers are installed by make bench")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_is_measured(peer: str, tmp_path: Path):
    result, _ = bench(tmp_path, "--without-stepwell", "--peers", peer, "--only", "W1,W2,P2K")
    columns = [peer, f"{peer}, tuned"] if peer in TUNED_PEERS else [peer]
    rate_of = {
        "W1": "steps_per_second",
        **({"P2K": "steps_per_second"} if peer == "restate" else {"W2": "drained_per_second"}),
    }
    found = {
        (record["workload"], record["contestant"]): record
        for record in result["records"]
        if not record["empty_because"]
    }
    assert set(found) == {(workload, column) for workload in rate_of for column in columns}
    for (workload, _), record in found.items():
        assert record["numbers"][rate_of[workload]] > 0
        assert record["numbers"]["per_unit"]["python_cpu_us"] > 0
        assert "default" in record["note"]
        # Restate writes a log of its own.
        assert (record["numbers"]["per_unit"]["wal_bytes"] is None) == (peer == "restate")
    assert not left_of_peers()


def left_of_peers() -> list[int]:
    """Processes of Node and of Restate's server that a contestant started and left."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(ROOT / ".venv-bench") in " ".join(process.info["cmdline"] or [])
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "W9"], "'W9' is not known; give some of floor, core, engine"),
        (["--peers", "celery"], "'celery' is not known; give some of dbos"),
        (["--repeat", "0"], "give a number from 1 to 20"),
        (["--publish"], "a quick run proves nothing"),
    ],
)
def test_the_error_names_a_wrong_argument(arguments: list[str], said: str, tmp_path: Path):
    command = [sys.executable, "-m", "bench", "--quick", "--results-dir", str(tmp_path), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 2
    assert said in done.stderr
