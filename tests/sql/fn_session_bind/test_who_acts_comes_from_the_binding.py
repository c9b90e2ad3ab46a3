"""Who acts is the bound principal: no function believes the name or the class that a caller claims."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, bind, token
from tests.sql.drive import Engine, human, operation
from tests.support.deciding import deciding

DOOR = "select stepwell.fn_state_transition_validate(%s, 'step', %s, %s, %s, %s, %s, %s)"


@pytest.fixture
def run_id(engine: Engine) -> int:
    engine.publish("w", human("sign", role="office"), operation("after"))
    engine.db.execute("select fn_person_set(1, 'ada', array['office', 'admin'])")
    return engine.start("w")


def through_the_door(db: psycopg.Connection, step: int, *words: Any, **evidence: Any) -> Any:
    row = db.execute(DOOR, (step, *words, Jsonb({"audit_ref": "a"} | evidence))).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.requirement("SM-04", "SM-22")
@pytest.mark.parametrize(
    ("actor_class", "change"),
    [
        ("mow_orchestrator", ("not_started", "skipped", "condition_resolved", "branch_not_taken")),
        ("mow_orchestrator", ("ready", "in_progress", "condition_resolved", "x")),
        ("system", ("ready", "cancelled", "rpc", "workflow_cancel")),
        ("executor_worker", ("ready", "in_progress", "rpc", "step_claim")),
    ],
)
def test_nobody_poses_as_the_engine_or_a_worker(db, engine: Engine, run_id: int, actor_class: str, change):
    step = engine.unit(run_id, "after" if change[0] == "not_started" else "sign")
    text = token(db, 1)
    from_state, to_state, *trigger = change
    for is_bound in (True, False):
        with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api", text if is_bound else None):
            through_the_door(db, step, from_state, to_state, actor_class, *trigger)
        assert caught.value.sqlstate == "SW007"
    assert engine.states(run_id) == {"sign": "ready", "after": "not_started"}


@pytest.mark.requirement("SM-22")
def test_only_the_person_in_charge_acts_as_such(db, engine: Engine, run_id: int):
    step = engine.unit(run_id, "sign")
    texts = {name: token(db, 1, name, ("office",)) for name in ("ben", "cleo")}
    with as_role(db, "stepwell_api", texts["cleo"]):
        db.execute("select stepwell.fn_step_claim(1, %s, 'cleo')", (step,))
        complete = ("in_progress", "completed", "pic_human", "rpc", "step_complete")
        with db.transaction(force_rollback=True):
            bind(db, texts["ben"])
            with pytest.raises(psycopg.Error, match="ben is not in charge") as caught, db.transaction():
                through_the_door(db, step, *complete)
        assert caught.value.sqlstate == "SW007"
        with pytest.raises(psycopg.Error, match="bound to cleo and cannot act as ben"), db.transaction():
            through_the_door(db, step, *complete, actor="ben")
        assert through_the_door(db, step, *complete, actor_id=1, audit_ref="invented")["ok"]
        db.execute("set local role none")
        event = engine.db.execute(
            "select actor, audit_ref from event_log where event_type = 'step.completed'"
        ).fetchone()
        assert event == ("cleo", f"principal:{engine.one('select bound_principal()')}")


@pytest.mark.requirement("SM-22")
def test_to_look_after_others_requires_the_right(db, engine: Engine, run_id: int):
    step = engine.unit(run_id, "sign")
    cancel = ("ready", "cancelled", "reviewer", "rpc", "workflow_cancel")
    with (
        pytest.raises(psycopg.Error, match=r"step\.oversee"),
        as_role(db, "stepwell_api", token(db, 1, "cleo", ())),
    ):
        through_the_door(db, step, *cancel)
    with as_role(db, "stepwell_api", token(db, 1, "ben", ("reviewer",))):
        assert through_the_door(db, step, *cancel)["ok"]


@pytest.mark.requirement("SM-22")
def test_no_function_lets_a_bound_caller_act_as_somebody_else(db, engine: Engine, run_id: int):
    """Every function that the API may call and that names an actor, found in the catalog."""
    rows = db.execute(
        r"""select p.proname, string_agg(format('%%I => %%s::%%s', a.name, case a.name
                   when 'p_tenant_id' then '1' when 'p_actor' then '''ada'''
                   when 'p_person' then '''ada''' when 'p_unit_id' then %s::text else 'null' end,
                   format_type(a.type, null)), ', ')
            from pg_proc as p
            cross join lateral unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[])
                with ordinality as a (name, type, place)
            where p.pronamespace = 'stepwell'::regnamespace and p.prosecdef
                and 'p_actor' = any (p.proargnames[:p.pronargs])
                and has_function_privilege('stepwell_api', p.oid, 'execute')
                and (a.place <= p.pronargs - p.pronargdefaults or a.name in ('p_tenant_id', 'p_actor'))
            group by p.proname, p.oid order by 1""",
        (engine.unit(run_id, "sign"),),
    ).fetchall()
    assert len(rows) > 25
    lax = {}
    with as_role(db, "stepwell_api", token(db, 1, roles=("admin", "MOT_template_generator"))):
        for name, arguments in rows:
            try:
                with db.transaction():
                    db.execute(f"select * from stepwell.{name}({arguments})")
                lax[name] = "acts as ada"
            except psycopg.Error as error:
                if "bound to binder and cannot act as ada" not in str(error):
                    lax[name] = f"{error.sqlstate} {error}"
    assert lax == {}


@pytest.mark.requirement("SM-22")
def test_the_log_names_the_bound_principal_when_no_actor_is_given(db, engine: Engine, run_id: int):
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (run_id << 20,))
    with as_role(db, "stepwell_api", token(db, 1, "ben", ("reviewer",))):
        query = "select run_id from stepwell.fn_run_start(1, 'w', array['{}'::jsonb], p_actor => null)"
        started = engine.one(query)
        assert engine.one("select stepwell.fn_run_cancel(1, %s, null)", (started,)) == "cancelled"
        assert engine.one(deciding("approve", None), (approval,)) == "approved"
        db.execute("set local role none")
        assert engine.one("select started_by from run_detail where run_id = %s", (started,)) == "ben"
        assert (
            engine.one("select decided_by from approval_detail where approval_id = %s", (approval,)) == "ben"
        )
        cancelled = "select actor from event_log where event_type = 'workflow.cancelled'"
        assert engine.one(cancelled) == "ben"
