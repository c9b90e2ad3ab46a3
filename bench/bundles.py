"""Measure evidence bundles beside the work: W1 of runs that act, with bundles on and off, in turn.

Receives the server; returns what a step costs and how fast steps are: for the runs that act, for runs that
start while their bundles are made, and what one bundle costs. Worker and keeper are in this process.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench import shapes
from bench.contestant import settled
from bench.meter import Meter, Reading, cost_between
from bench.server import BenchServer
from bench.stepwell_side import RUNS_OPEN, start_all
from bench.wanted import below, verdict
from bench.workloads import CHAIN_STEPS, WORKLOADS
from stepwell import App, Context, Operation, Sequential, Worker, Workflow
from stepwell.connectors.base import Action, Effect, OperationSpec
from stepwell.keeper.sealing import Sealing
from stepwell.store.calls.keep import leading

ROUNDS = 3
# The bundle of a run is made beside its steps, so a step costs the same with and without.
WANTED = {"acting_cpu_ratio": 1.05}
LIMIT_SECONDS = 600.0
AGAIN_SECONDS = 2.0
RULE = {"name": "all", "effect": "allow", "match": "true", "priority": 10, "reason": "a benchmark"}
BUNDLES_DUE = "select count(*) from stepwell.evidence_due"


class Nowhere:
    """A connector whose effects cost nothing."""

    name = "nowhere"
    operations: Mapping[str, OperationSpec] = {
        "put": OperationSpec(writes=True, idempotent=True, reversible=False, confirmable=True)
    }

    def canonical(self, operation: str, target: str) -> str:
        return target

    async def perform(self, action: Action) -> Effect:
        return Effect(None, external_id=action.idempotency_key)

    async def confirm(self, action: Action) -> Effect | None:
        return await self.perform(action)


def measure(server: BenchServer, *, quick: bool) -> dict[str, Any]:
    acting, beside = (
        (WORKLOADS[name].quick_sizes if quick else WORKLOADS[name].sizes)["runs"] for name in ("W1", "W1b")
    )
    found: dict[str, list[dict[str, Any]]] = {"off": [], "on": []}
    for number in range(1 if quick else ROUNDS):
        for mode in ("off", "on") if number % 2 == 0 else ("on", "off"):
            with server.fresh_database(f"bundles_{mode}", is_migrated=True) as url:
                _prepare(url, mode)
                found[mode].append(asyncio.run(_round(url, acting, beside)))
    return {
        "acting_runs": acting,
        "beside_runs": beside,
        "rounds": found,
        **{mode: _medians(rounds) for mode, rounds in found.items()},
    }


def _medians(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        part: {name: statistics.median(one[part][name] for one in rounds) for name in rounds[0][part]}
        for part in rounds[0]
    }


def _prepare(url: str, mode: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "update stepwell.dot_config set config_value = %s where config_key = 'evidence.automatic'",
            ("true" if mode == "on" else "false",),
        )
        connection.execute("select stepwell.fn_person_set(1, 'ada')")
        row = connection.execute(
            "select stepwell.fn_policy_propose(1, %s, null, 'ada')", (Jsonb([RULE]),)
        ).fetchone()
        assert row is not None
        connection.execute("select stepwell.fn_policy_activate(1, %s, 'operator')", (row[0]["version_no"],))


async def _round(url: str, acting: int, beside: int) -> dict[str, Any]:
    app = App(database_url=url)
    app.connector(Nowhere())

    @app.operation(name="step")
    async def step() -> None: ...

    @app.operation(name="act")
    async def act(ctx: Context) -> None:
        await ctx.act("nowhere", "put", "/x", {"amount": 1})

    rest = (Operation("step", id=f"s{no}") for no in range(1, CHAIN_STEPS))
    app.publish(Workflow("bench.acting", Sequential(Operation("act", id="s0"), *rest)))
    app.publish(shapes.chain(CHAIN_STEPS))
    meter = Meter(url)
    try:
        # The worker's own keeper makes no bundles meanwhile: the pass below does, at a known time.
        with leading(url):
            async with asyncio.timeout(LIMIT_SECONDS), app, Worker(app):
                await start_all(app, "bench.chain", acting)
                await _until(meter, RUNS_OPEN)
                before = await asyncio.to_thread(meter.read)
                await start_all(app, "bench.acting", acting)
                await _until(meter, RUNS_OPEN)
                acted = await asyncio.to_thread(meter.read)
                passing = asyncio.create_task(asyncio.to_thread(_pass, url))
                await start_all(app, "bench.chain", beside)
                await _until(meter, RUNS_OPEN)
                loaded = await asyncio.to_thread(meter.read)
                still_due = await asyncio.to_thread(meter.scalar, BUNDLES_DUE)
                await passing
                # A bundle whose seal an open transaction delayed is tried again after a pause.
                while await asyncio.to_thread(meter.scalar, BUNDLES_DUE) > 0:
                    await asyncio.sleep(AGAIN_SECONDS)
                    await asyncio.to_thread(_pass, url)
                ended = await asyncio.to_thread(meter.read)
        made = meter.scalar("select count(*) from stepwell.evidence_bundle where bundle_sha256 is not null")
    finally:
        meter.close()
    return {
        "acting": _cost(before, acted, acting * CHAIN_STEPS),
        "beside": {**_cost(acted, loaded, beside * CHAIN_STEPS), "bundles_left": still_due},
        "whole": {
            "bundles": made,
            "seconds_to_the_end": ended.at_seconds - acted.at_seconds,
            "cpu_seconds": _cpu(ended) - _cpu(before),
        },
    }


def _pass(url: str) -> None:
    """The pass that a keeper makes once a minute, in a thread of its own: it seals, then it makes bundles."""
    sealing = Sealing(url, None, None)
    sealing.look(datetime.now(UTC), is_asked_for=True)
    sealing.wait()
    sealing.close()


async def _until(meter: Meter, query: str) -> None:
    if not await settled(meter, query, LIMIT_SECONDS):
        raise SystemExit(f"bench: not ended within {LIMIT_SECONDS:.0f} seconds: {query}")


def _cpu(reading: Reading) -> float:
    return (reading.postgres_cpu_seconds or 0.0) + reading.python_cpu_seconds


def _cost(before: Reading, after: Reading, units: int) -> dict[str, Any]:
    return {
        "steps_per_second": units / (after.at_seconds - before.at_seconds),
        **cost_between(before, after, units),
    }


def missed(result: dict[str, Any]) -> list[str]:
    """The wanted figures that were not reached, each with what was measured."""
    off, on = (
        (result[mode]["acting"]["postgres_cpu_us"] or 0.0) + result[mode]["acting"]["python_cpu_us"]
        for mode in ("off", "on")
    )
    return below(WANTED, {"acting_cpu_ratio": on / off})


def markdown(result: dict[str, Any]) -> str:
    off, on = result["off"], result["on"]
    lines = [
        f"W1 with evidence bundles, {result['acting_runs']:,} runs × {CHAIN_STEPS} steps; the first acts:",
        "",
        "| what | bundles | steps/s | PostgreSQL µs a step | Python µs a step | WAL bytes a step |",
        "|---|---|---|---|---|---|",
    ]
    for part, what in (
        ("acting", "the runs that act"),
        ("beside", f"{result['beside_runs']:,} runs after them, beside their bundles"),
    ):
        for mode in ("off", "on"):
            cell = result[mode][part]
            lines.append(
                f"| {what} | {mode} | {cell['steps_per_second']:,.0f} | {cell['postgres_cpu_us'] or 0:,.0f} "
                f"| {cell['python_cpu_us']:,.0f} | {cell['wal_bytes']:,.0f} |"
            )
    bundles = on["whole"]["bundles"]
    each = (on["whole"]["cpu_seconds"] - off["whole"]["cpu_seconds"]) / max(bundles, 1)
    last = on["whole"]["seconds_to_the_end"]
    lines += [
        "",
        f"{bundles:,.0f} bundles, the last {last:.1f} s after the pass of a keeper had begun; "
        f"{each * 1e3:.0f} ms CPU for each, with the seals that they need.",
        "",
        f"A step of the runs that act may cost {WANTED['acting_cpu_ratio']}× the CPU with bundles. "
        + verdict(missed(result)),
    ]
    return "\n".join(lines) + "\n"
