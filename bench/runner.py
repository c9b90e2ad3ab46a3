"""Run cells: receives a plan, returns one record per contestant, workload and round.

Contestants take turns within a round, so that a slow minute of the machine affects all of them. Each cell
runs in its own process, in its own process group, which is always ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.contestant import Order
from bench.environment import ROOT
from bench.server import BenchServer
from bench.workloads import BUDGET_SECONDS, WORKER_SLOTS, WORKLOADS, Workload, sizes_for

# Added to the budget of the work: time for imports, schema, warm-up and shut-down.
GRACE_SECONDS = 60.0
PEERS = ("dbos", "procrastinate", "absurd", "pgqueuer", "graphile-worker", "restate")
STEPWELL = "stepwell"
# The same worker with other settings than the default ones; its name says which.
TUNED = f"stepwell, {WORKER_SLOTS} slots"
# Peers whose default settings are a column of their own beside these.
TUNED_PEERS: dict[str, dict[str, Any]] = {
    "graphile-worker": {
        "concurrentJobs": 24,
        "maxPoolSize": 26,
        "localQueue": {"size": 500},
        "completeJobBatchDelay": 0,
        "failJobBatchDelay": 0,
    }
}


@dataclass(frozen=True)
class Contestant:
    name: str
    module: str
    python: Path
    options: dict[str, Any] = field(default_factory=dict)

    def runs(self, workload: Workload) -> bool:
        if self.name == STEPWELL:
            return True
        if workload.is_of_default:
            return False
        return self.name == TUNED or not workload.is_ours or self.name in workload.ours_and


@dataclass(frozen=True)
class Plan:
    contestants: tuple[Contestant, ...]
    workloads: tuple[str, ...]
    rounds: int
    quick: bool


def stepwell_contestants() -> list[Contestant]:
    """The worker as a user gets it, and a tuned one."""
    module, python = "bench.stepwell_side", Path(sys.executable)
    return [Contestant(STEPWELL, module, python), Contestant(TUNED, module, python, {"slots": WORKER_SLOTS})]


def peer_contestants(name: str, python: Path) -> list[Contestant]:
    plain = Contestant(name, f"bench.peers.{name.replace('-', '_')}", python)
    if name not in TUNED_PEERS:
        return [plain]
    return [plain, replace(plain, name=f"{name}, tuned", options=TUNED_PEERS[name])]


def run_plan(server: BenchServer, plan: Plan) -> Iterator[dict[str, Any]]:
    for round_no in range(1, plan.rounds + 1):
        for workload in plan.workloads:
            for contestant in plan.contestants:
                if not contestant.runs(WORKLOADS[workload]):
                    continue
                # A quick run shows that everything runs; the tuned worker is the same program.
                if plan.quick and contestant.name == TUNED and workload != plan.workloads[0]:
                    continue
                record = _run_cell(server, contestant, workload, quick=plan.quick)
                yield {"round": round_no, "workload": workload, **record}


def _run_cell(server: BenchServer, contestant: Contestant, workload: str, *, quick: bool) -> dict[str, Any]:
    sizes = sizes_for(WORKLOADS[workload], contestant.name, quick=quick)
    is_ours = contestant.name in (STEPWELL, TUNED)
    with server.fresh_database(f"{contestant.name.split(',')[0]}_{workload}", is_migrated=is_ours) as url:
        order = Order(workload, url, sizes, BUDGET_SECONDS, contestant.options)
        return {**answer_of(contestant, order), "contestant": contestant.name}


def answer_of(contestant: Contestant, order: Order) -> dict[str, Any]:
    """What a contestant leaves in the folder for temporary files is removed, also when it is killed."""
    with tempfile.TemporaryDirectory(prefix="stepwell-cell-", ignore_cleanup_errors=True) as folder:
        return _answer_of(contestant, order, folder)


def _answer_of(contestant: Contestant, order: Order, folder: str) -> dict[str, Any]:
    command = [str(contestant.python), "-m", contestant.module, order.as_json()]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": folder},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=order.budget_seconds + GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return _failure(contestant, order, "did not end in time")
    finally:
        _end_group(process)
    if process.returncode != 0 or not out.strip():
        return _failure(contestant, order, f"ended with code {process.returncode}", err)
    answer: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return answer


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ends the whole group, because a contestant may have child processes.

    Never called after the process was reaped: its number may then belong to another process.
    """
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _failure(contestant: Contestant, order: Order, reason: str, stderr: str = "") -> dict[str, Any]:
    tail = stderr.strip()[-2000:]
    if tail:
        print(tail, file=sys.stderr)
    last_line = tail.splitlines()[-1] if tail else ""
    return {
        "contestant": contestant.name,
        "version": "",
        "sizes": order.sizes,
        "numbers": {},
        "note": "",
        "empty_because": f"{reason}{': ' if last_line else ''}{last_line}",
        "failed": True,
    }
