"""A lease has the inputs that its step declares, and of the input of its run what the handler takes."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.define import freeze
from tests.sql.drive import Engine, Lease

# Of a lease: what its inputs are when they are bound one by one.
ONE_BY_ONE = """
select case when u.item_no is null then b.bound
    else _inputs_join(_item_read(1, u.parent_id, u.item_no), b.bound) end
from work_unit as u
inner join workflow_step_def as d
    on d.tenant_id = u.tenant_id and d.version_id = u.version_id and d.step_no = u.def_no
cross join lateral (select case when d.inputs is not null
    then _inputs_bind(u.tenant_id, u.unit_id, d.inputs, d.config -> 'reads') end as bound) as b
where u.unit_id = %s
"""
# It is not stored smaller than it is.
LONG = "".join(hashlib.sha256(b"%d" % no).hexdigest() for no in range(40))
ITEMS = [{"no": no, "price": {"amount": no * 3}, "a key": [no, no]} for no in range(5)]
GIVEN = {"items": ITEMS, "shared": {"unit": "kg", "list": [1, 2]}, "item": "of the run", "long": LONG}
INPUTS: dict[str, dict[str, str]] = {
    "nothing": {},
    "run": {"shared": "$.input.shared", "none": "$.input.nothing", "first": "$.input.shared.list[0]"},
    "quoted": {"a": '$."input"."shared"', "b": '$.item."a key"[1]', "c": "$.input.shared.list[*]"},
    "item": {"item": "$.item.price", "amount": "$.item.price.amount", "index": "$.index"},
    "computed": {"twice": "$.item.no * 2", "many": "$.item.price.amount + $.input.items[0].no"},
    "around": {"made": "$.steps.make.output.values", "state": "$.steps.make.status"},
    "inside": {
        "before": "$.steps.before.output",
        "of": "$.steps.before.output.of",
        "made": "$.steps.make.output",
    },
    "document": {"item": "$.item", "all": "$.input"},
    "without a value": {"bad": "$.item.no / 0"},
}  # fmt: skip


def leases(engine: Engine, session: int, workflow: sw.Workflow, given: Any) -> list[Lease]:
    """Runs the workflow to its end; returns every lease, each checked while the unit is leased."""
    engine.one("select fn_workflow_publish(1, %s, 'ada')", (freeze(workflow).canonical.decode(),))
    engine.one("select run_id from fn_run_start(1, %s, %s::jsonb[])", (workflow.name, [Jsonb(given)]))
    seen: list[Lease] = []
    now = engine.claim(session)
    while now:
        for lease in now:
            assert lease.bound_input == engine.one(ONE_BY_ONE, (lease.unit_id,)), lease.step_id
        seen += now
        bodies = {"make": {"values": [1, 2], "of": "make"}, "before": {"of": "before"}}
        now = engine.report(
            session,
            *((lease, "completed", bodies.get(lease.step_id or "")) for lease in now),
            claim_limit=100,
        )
        now = [lease for lease in now if lease.row_kind == "lease"]
    return seen


@pytest.fixture
def declared(engine: Engine) -> Engine:
    engine.db.execute('select fn_operation_register(1, \'[{"name": "op"}, {"name": "other"}]\')')
    return engine


@pytest.mark.parametrize("form", INPUTS)
def test_the_items_of_a_map_get_what_each_gets_alone(declared: Engine, form: str):
    body = sw.Sequential(sw.Operation("op", id="before"), sw.Operation("op", id="each", inputs=INPUTS[form]))
    flow = sw.Workflow(
        "w", sw.Sequential(sw.Operation("op", id="make"), sw.Map("$.input.items", body, id="m"))
    )
    seen = leases(declared, declared.worker(), flow, GIVEN)
    assert len(seen) == 1 + 2 * len(ITEMS)
    bound = [lease.bound_input for lease in seen if lease.step_id == "each"]
    assert [inputs["index"] for inputs in bound] == list(range(len(ITEMS)))


@pytest.mark.parametrize("given", [GIVEN, {"items": [], "shared": {"list": [1]}}], ids=["large", "small"])
def test_a_step_outside_of_a_map_gets_what_it_gets_alone(declared: Engine, given: dict[str, Any]):
    of_items = ("$.item.", '$.item"', "$.item[", "$.index", "$.steps.before")
    steps = [
        sw.Operation("op", id=f"s{no}", inputs=inputs)
        for no, inputs in enumerate(INPUTS.values())
        if not any(f"{path}.".startswith(of_items) for path in inputs.values())
    ]
    assert len(steps) == 3
    flow = sw.Workflow("w", sw.Sequential(sw.Operation("op", id="make"), *steps))
    seen = leases(declared, declared.worker(), flow, given)
    assert [lease.step_id for lease in seen] == ["make", *(step.id for step in steps)]


def test_only_what_the_handler_takes_of_a_large_input_is_sent(declared: Engine):
    session = declared.one(
        "select fn_worker_register('w', '{default}', 10, 3600, '{}', null, %s)",
        (Jsonb({"op": ["shared", "item", "missing", "bound"]}),),
    )
    flow = sw.Workflow(
        "w",
        sw.Sequential(
            sw.Operation("op", id="plain"),
            sw.Operation("op", id="bound", inputs={"shared": "$.input.items[0].no"}),
            sw.Operation("other", id="all"),
            sw.Map("$.input.items", sw.Operation("op", id="each"), id="m"),
        ),
    )
    sent = {lease.step_id: lease.input for lease in leases(declared, session, flow, GIVEN)}
    assert sent == {
        "plain": {"shared": GIVEN["shared"], "item": "of the run"},
        "bound": {"item": "of the run"},
        "all": GIVEN,
        # The item of the Map takes the place of the input with this name.
        "each": {"shared": GIVEN["shared"]},
    }


@pytest.mark.parametrize("takes", [[], "all", {"op": "shared"}, {"op": ["sk-live-" + "a" * 40]}])
def test_what_is_no_list_of_names_is_not_kept(declared: Engine, takes: Any):
    declared.one("select fn_worker_register('w', '{default}', 10, 3600, '{}', null, %s)", (Jsonb(takes),))
    assert declared.one("select handler_takes from worker_session") is None


def test_a_worker_that_serves_more_says_what_it_takes(declared: Engine):
    session = declared.worker()
    declared.one("select fn_worker_serves(%s, '{op}', %s)", (session, Jsonb({"op": ["a"]})))
    assert declared.one("select handler_takes from worker_session") == {"op": ["a"]}
