"""Measure the transition core: the cost of a checked, logged, counted state change and of a bare one.

Receives a fresh database URL; returns transitions/s and Postgres CPU for batches of 1, 100 and 1,000, and
the ratio to plain pairs of `update` and `insert` on tables of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.meter import Meter, Reading, postgres_cpu_between
from stepwell.define import Operation, Parallel, Workflow, freeze

TENANT = 1
BATCHES = {1: 1000, 100: 40, 1000: 8}
QUICK_BATCHES = {1: 20, 100: 2}
START_CHUNK = 1000
# The units of one batch belong to few runs (a fan-out), or each unit to another run (many chains).
SHAPES = {"10 units a run": 10, "1 unit a run": 1}

_APPLY = "select bench.core(%(ids)s::bigint[], %(to)s, %(trigger)s, %(session)s)"

# The core uses the settings of its caller; this caller has the settings of fn_job_report.
_CORE = """
create function bench.core(p_ids bigint[], p_to text, p_trigger text, p_session bigint) returns bigint
language plpgsql
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
set join_collapse_limit = 1
set jit = off
as $$
begin
    return (stepwell._transition_apply(
        array(select row(1, q, p_to, null, null, null, null, null)::stepwell.transition_request
            from unnest(p_ids) as q),
        row('executor_worker', 'rpc', p_trigger, null, p_session, null, null, 0,
            null)::stepwell.transition_cause
    )).applied_count;
end
$$;
"""

_PLAIN_TABLES = """
create schema bench;
create table bench.unit (like stepwell.work_unit including all) with (fillfactor = 60);
create table bench.log (like stepwell.event_log including all);
insert into bench.unit select * from stepwell.work_unit;
create function bench.pairs_one_by_one(p_ids bigint[], p_to text) returns bigint language plpgsql as $$
declare
    v_id bigint;
begin
    foreach v_id in array p_ids loop
        update bench.unit
        set state_code = p_to, last_transition_at = clock_timestamp(), lease_no = lease_no + 1
        where tenant_id = 1 and unit_id = v_id;
        insert into bench.log (
            tenant_id, at, run_id, unit_id, event_type, from_state, to_state, actor_class, actor)
        values (1, clock_timestamp(), v_id >> 20, v_id, 'step.started', 'ready', p_to, 'executor_worker',
            'session:1');
    end loop;
    return cardinality(p_ids);
end $$;
"""

_PAIRS_ONE_BY_ONE = "select bench.pairs_one_by_one(%(ids)s::bigint[], %(to)s)"

_PAIRS_AS_SETS = """
with changed as (
    update bench.unit as u
    set state_code = %(to)s, last_transition_at = clock_timestamp(), lease_no = u.lease_no + 1
    from unnest(%(ids)s::bigint[]) as q (unit_id)
    where u.tenant_id = 1 and u.unit_id = q.unit_id
    returning u.unit_id
), logged as (
    insert into bench.log (
        tenant_id, at, run_id, unit_id, event_type, from_state, to_state, actor_class, actor)
    select 1, clock_timestamp(), c.unit_id >> 20, c.unit_id, 'step.started', 'ready', %(to)s,
        'executor_worker', 'session:1'
    from changed as c
    returning 1
)
select count(*) from logged
"""


@dataclass(frozen=True)
class Cost:
    transitions_per_second: float
    postgres_cpu_ms_per_batch: float | None


def measure(database_url: str, *, quick: bool) -> dict[str, Any]:
    batches = QUICK_BATCHES if quick else BATCHES
    result: dict[str, Any] = {}
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=2) as connection:
        meter = Meter(database_url)
        try:
            session_id = _open_session(connection)
            needed = sum(size * count for size, count in batches.items())
            units = {shape: _ready_units(connection, per_run, needed) for shape, per_run in SHAPES.items()}
            connection.execute(_PLAIN_TABLES)
            connection.execute(_CORE)
            connection.execute("vacuum analyze")
            for shape, ids in units.items():
                result[shape] = _measure_shape(connection, meter, ids, batches, session_id)
        finally:
            meter.close()
    return result


def _measure_shape(
    connection: psycopg.Connection[Any],
    meter: Meter,
    ids: list[int],
    batches: dict[int, int],
    session_id: int,
) -> dict[str, Any]:
    def engine(batch: list[int], to_state: str, trigger: str) -> int:
        return _scalar(connection, _APPLY, ids=batch, to=to_state, trigger=trigger, session=session_id)

    def one_by_one(batch: list[int], to_state: str, trigger: str) -> int:
        return _scalar(connection, _PAIRS_ONE_BY_ONE, ids=batch, to=to_state)

    def as_sets(batch: list[int], to_state: str, trigger: str) -> int:
        return _scalar(connection, _PAIRS_AS_SETS, ids=batch, to=to_state)

    shape: dict[str, Any] = {}
    position = 0
    for size, count in batches.items():
        parts = [ids[position + n * size : position + (n + 1) * size] for n in range(count)]
        position += size * count
        core, pairs, sets = (_cost(meter, call, parts) for call in (engine, one_by_one, as_sets))
        shape[str(size)] = {
            "transitions_per_second": core.transitions_per_second,
            "postgres_cpu_ms_per_batch": core.postgres_cpu_ms_per_batch,
            "pairs_cpu_ms_per_batch": pairs.postgres_cpu_ms_per_batch,
            "sets_cpu_ms_per_batch": sets.postgres_cpu_ms_per_batch,
            "ratio_to_pairs": _quotient(core.postgres_cpu_ms_per_batch, pairs.postgres_cpu_ms_per_batch),
            "ratio_to_sets": _quotient(core.postgres_cpu_ms_per_batch, sets.postgres_cpu_ms_per_batch),
        }
    return shape


def _cost(meter: Meter, call: Callable[[list[int], str, str], int], parts: list[list[int]]) -> Cost:
    """Each unit is claimed and then completed: two transitions."""
    before = meter.read()
    for to_state, trigger in (("in_progress", "step_claim"), ("completed", "step_complete")):
        for part in parts:
            applied = call(part, to_state, trigger)
            if applied != len(part):
                raise SystemExit(
                    f"bench: {len(part) - applied} of {len(part)} transitions to {to_state} were refused"
                )
    after = meter.read()
    transitions = 2 * sum(map(len, parts))
    return Cost(
        transitions / (after.at_seconds - before.at_seconds), _cpu_ms_per_batch(before, after, 2 * len(parts))
    )


def _cpu_ms_per_batch(before: Reading, after: Reading, batches: int) -> float | None:
    seconds = postgres_cpu_between(before, after)
    return None if seconds is None else seconds * 1000 / batches


def _open_session(connection: psycopg.Connection[Any]) -> int:
    operations = '[{"name": "bench.noop"}]'
    connection.execute("select stepwell.fn_operation_register(%s, %s)", [TENANT, operations])
    key = _scalar(connection, "select stepwell.fn_worker_register('bench', array['default'], 1000, 3600)")
    return _scalar(connection, "select stepwell._session_id_of(%(key)s)", key=key)


def _ready_units(connection: psycopg.Connection[Any], per_run: int, count: int) -> list[int]:
    """Units of real runs, which the public function started; all their steps are ready."""
    steps = [Operation("bench.noop", id=f"step{n}") for n in range(per_run)]
    name = f"bench.core{per_run}"
    graph = freeze(Workflow(name, Parallel(*steps)))
    connection.execute(
        "select stepwell.fn_workflow_publish(%s, %s, 'bench')",
        [TENANT, graph.canonical.decode()],
    )
    units: list[int] = []
    while len(units) < count:
        runs = min(START_CHUNK, -(-(count - len(units)) // per_run))
        rows = connection.execute(
            "select run_id from stepwell.fn_run_start(%s, %s, array_fill('{}'::jsonb, array[%s]))",
            [TENANT, name, runs],
        ).fetchall()
        units += [(run_id << 20) | no for (run_id,) in rows for no in range(1, per_run + 1)]
    return units[:count]


def _scalar(connection: psycopg.Connection[Any], query: str, **parameters: Any) -> int:
    row = connection.execute(query, parameters).fetchone()
    assert row is not None
    value: int = row[0]
    return value


def _quotient(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours and theirs else None


def markdown(result: dict[str, Any]) -> str:
    lines = [
        "Transition core (a checked, logged and counted state change) compared with plain `update` + "
        "`insert` pairs on tables of the same shape: pairs one by one inside one statement, and as one "
        "set-based statement.",
        "",
        "| units | batch | transitions/s | CPU ms a batch | ratio to pairs | ratio to sets |",
        "|---|---|---|---|---|---|",
    ]
    for shape, sizes in result.items():
        for size, numbers in sizes.items():
            cells = [
                f"{numbers['transitions_per_second']:,.0f}",
                *(
                    _two_digits(numbers[key])
                    for key in ("postgres_cpu_ms_per_batch", "ratio_to_pairs", "ratio_to_sets")
                ),
            ]
            lines.append(f"| {shape} | {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _two_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
