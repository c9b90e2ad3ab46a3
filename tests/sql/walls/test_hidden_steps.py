"""A step with rows of permission does not exist for whoever has none of their roles; others see it whole."""

from __future__ import annotations

import json

import psycopg
import pytest

import stepwell as sw
from stepwell.define import Graph, freeze
from stepwell.define.graph_reader import step_numbers
from stepwell.layout.document import draw
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine
from tests.sql.walls import matrix
from tests.sql.walls.hidden import BODY, MARK, NEAR, hide, history

ROLES = ("stepwell_api", "stepwell_reader")


@pytest.fixture
def run_id(engine: Engine) -> int:
    return history(engine)


def where(db: psycopg.Connection, role: str, text: str) -> set[str]:
    """The tables and views that show this text to who is bound."""
    found = set()
    for relation in matrix.relations(db):
        if role not in relation.roles:
            continue
        columns = db.execute(
            """select attname from pg_attribute where attrelid = %s::regclass and attnum > 0
               and not attisdropped and has_column_privilege(attrelid, attnum, 'select')""",
            (f"stepwell.{relation.name}",),
        ).fetchall()
        texts = " || ' ' || ".join(f"coalesce({name}::text, '')" for (name,) in columns)
        query = f"select count(*) from stepwell.{relation.name} where {texts} like '%{text}%'"
        if db.execute(query.encode()).fetchone() != (0,):
            found.add(relation.name)
    return found


# What names operations of workers, which are the same for every tenant, or the rules of a tenant.
OPERATIONS = {
    "operation",
    "handler",
    "job_subscription",
    "v_handler",
    "v_operation",
    "v_queue",
    "v_queue_health",
}


@pytest.mark.parametrize("role", ROLES)
def test_no_table_and_no_view_shows_anything_of_a_hidden_step(db: psycopg.Connection, run_id: int, role: str):
    clerk = token(db, 1, "clerk", ["operator"])
    with as_role(db, role, clerk):
        before = where(db, role, MARK)
        near = where(db, role, NEAR)
    # The test looks at something: before there are rows, whoever reads sees it in many places.
    assert len(before) > 25, before
    hide(db)
    with as_role(db, role, clerk):
        assert where(db, role, MARK) - OPERATIONS == set()
        # The whole record of a version is for whoever sees all of it.
        assert where(db, role, NEAR) >= near - {"v_audit_version"}
    for name, roles in (("fin", ["finance", "operator"]), ("root", ["admin"])):
        with as_role(db, role, token(db, 1, name, roles)):
            assert where(db, role, MARK) >= before - {"evidence_file"}, name


READING: dict[str, str] = {
    "snapshot": "select fn_workflow_run_snapshot(1, %(run)s)::text",
    "past": "select fn_workflow_run_snapshot_at(1, %(run)s, null, stepwell.now())::text",
    "changes": "select max(c.changes::text) from fn_run_changes(1, array[%(run)s::bigint], %(units)s) as c",
    "critical path": "select string_agg(c::text, '') from fn_run_critical_path(1, %(run)s) as c",
    "behind": "select string_agg(c::text, '') from fn_run_blocked_downstream(1, %(run)s) as c",
    "states": "select string_agg(c::text, '') from fn_run_state_at(1, %(run)s, null, stepwell.now()) as c",
    "density": "select fn_run_density(1, %(run)s)::text",
    "timeline": "select fn_run_segments(1, %(run)s)::text",
    "milestones": "select fn_run_milestones(1, %(run)s)::text",
    "why": "select string_agg(c::text, '') from fn_why_not_running(%(run)s::bigint << 20) as c",
    "versions": "select string_agg(v::text, '') from v_workflow_version as v",
    "running": "select fn_workflow_running(1, 'order', 1)::text",
    "search": "select string_agg(s::text, '') from fn_search(1, 'quarry7') as s",
    "letters": "select fn_replay_rehearse(1, '{}')::text",
}


@pytest.mark.parametrize("name", READING)
def test_no_function_tells_of_a_hidden_step(db: psycopg.Connection, engine: Engine, run_id: int, name: str):
    hide(db)
    sees = [f"{NEAR}-first", f"{NEAR}-last"]
    units = [engine.unit(run_id, f"{MARK}-{step}") for step in ("check", "many", "sign")]
    numbers = {unit & 0xFFFFF for unit in units}
    given = {"run": run_id, "units": [*units, *(engine.unit(run_id, step) for step in sees)]}
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
        (text,) = db.execute(READING[name], given).fetchone()  # type: ignore[misc]
    assert MARK not in (text or "")
    if name in ("critical path", "states"):
        assert not [unit for unit in units if str(unit) in (text or "")]
    if name in ("snapshot", "past"):
        with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
            (found,) = db.execute(READING[name].replace("::text", ""), given).fetchone()  # type: ignore[misc]
        assert found["steps"]["def"] == [1, 5]
        assert numbers.isdisjoint(found["steps"]["no"])
    with as_role(db, "stepwell_api", token(db, 1, "fin", ["finance", "operator"])):
        (whole,) = db.execute(READING[name], given).fetchone()  # type: ignore[misc]
    if name not in ("behind", "search"):
        assert whole != text


def test_the_graph_goes_around_hidden_steps(db: psycopg.Connection, run_id: int):
    whole = db.execute("select graph_hash from v_workflow_version").fetchone()
    hide(db)
    query = "select document, graph_hash from v_workflow_version where name = 'order'"
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["stranger"])):
        graph, graph_hash = db.execute(query).fetchone()  # type: ignore[misc]
    assert [step["no"] for step in graph["steps"]] == [1, 5]
    assert graph["edges"] == [{"from": 1, "to": 5}]
    assert (graph_hash,) != whole
    with as_role(db, "stepwell_api", token(db, 1, "fin", ["finance"])):
        graph, graph_hash = db.execute(query).fetchone()  # type: ignore[misc]
    assert len(graph["steps"]) == 6
    assert (graph_hash,) == whole


def test_a_hidden_conditional_takes_its_branches_along(engine: Engine):
    flow = sw.Workflow(
        "choice",
        sw.Sequential(
            sw.Operation("a"),
            sw.Conditional(
                "$.input.x == 1", then=sw.Operation("b"), otherwise=sw.Operation("c"), id=f"{MARK}-which"
            ),
            sw.Conditional("$.input.y == 1", then=sw.Operation("d"), id="other"),
            sw.Operation("e"),
        ),
    )
    db = engine.db
    db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(flow).canonical.decode(),))
    db.execute("select fn_step_permission_set(1, 'choice', %s, '{finance}')", (f"{MARK}-which",))
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["stranger"])):
        (document,) = db.execute("select document from v_workflow_version").fetchone()  # type: ignore[misc]
    assert MARK not in json.dumps(document)
    graph = Graph.from_stored(document)
    ids = {step.no: step.id for step in graph.steps}
    assert [ids[branch.conditional] for branch in graph.branches] == ["other"]
    assert {(ids[edge.from_no], ids[edge.to_no]) for edge in graph.edges} >= {("a", "b"), ("a", "c")}
    assert graph.by_id["b"].branch is None
    assert graph.by_id["d"].branch == graph.branches[0].no
    drawn = draw(graph, "hash", "role", step_numbers(document))
    numbers = {step["id"]: step["no"] for step in document["steps"]}
    assert dict(zip(drawn["steps"]["id"], drawn["steps"]["no"], strict=True)) == numbers
    assert {box[0] for box in drawn["scopes"][0]["boxes"]} == set(numbers.values())
    assert list(drawn["conditionals"]) == [str(numbers["other"])]


ACTING = {
    "claim": "select fn_step_claim(1, %s, 'clerk')",
    "comment": "select fn_step_comment(1, %s, 'clerk', 'hello')",
    "assign": "select fn_step_assign(1, %s, 'ada', 'clerk')",
    "deadline": "select fn_step_deadline_change(1, %s, 'clerk', now(), 'later')",
    "cancel": "select fn_job_cancel(1, %s, 'clerk')",
    "retry": "select fn_job_retry(1, %s, 'clerk')",
    "approval": "select fn_approval_request(1, 'reopen', %s, 'clerk')",
    "actions": "select fn_actions_read(1, %s)",
    "inputs": "select fn_step_inputs_read(1, %s)",
    "body": "select fn_step_body(1, %s, '{why,content,events}')",
    "why": "select * from fn_why_not_running(%s)",
}


@pytest.mark.parametrize("name", ACTING)
def test_nobody_acts_on_a_step_that_is_hidden(db: psycopg.Connection, engine: Engine, run_id: int, name: str):
    hide(db)
    sign = engine.unit(run_id, f"{MARK}-sign")
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
        with pytest.raises(psycopg.Error) as refused:
            db.execute(ACTING[name], (sign,))
        assert refused.value.sqlstate == "SW002"
        assert MARK not in str(refused.value)


def test_whoever_may_do_a_step_or_is_in_charge_of_it_sees_it(
    db: psycopg.Connection, engine: Engine, run_id: int
):
    hide(db)
    sign = engine.unit(run_id, f"{MARK}-sign")
    for name, roles in (("ada", ["office"]), ("fin", ["finance", "office"])):
        with as_role(db, "stepwell_api", token(db, 1, name, roles)):
            assert db.execute("select count(*) from work_unit where unit_id = %s", (sign,)).fetchone() == (1,)
    clerk = token(db, 1, "clerk", ["operator"])
    with as_role(db, "stepwell_api", clerk):
        assert db.execute("select count(*) from work_unit where unit_id = %s", (sign,)).fetchone() == (0,)
    # Who is in charge of it sees it, also without the role that it is for.
    db.execute("select fn_person_set(1, 'clerk', '{operator,office}')")
    db.execute("select fn_step_claim(1, %s, 'clerk')", (sign,))
    clerk = token(db, 1, "clerk", ["operator"])
    with as_role(db, "stepwell_api", clerk):
        assert db.execute("select count(*) from work_unit where unit_id = %s", (sign,)).fetchone() == (1,)
        # The other hidden steps stay hidden.
        assert where(db, "stepwell_api", f"{MARK}-check") - OPERATIONS == set()


def test_the_bodies_of_contents_have_roles_of_their_own(db: psycopg.Connection, engine: Engine, run_id: int):
    last = engine.unit(run_id, f"{NEAR}-last")
    body = "select fn_step_body(1, %s, '{content}') -> 'content' -> 0"
    db.execute("select fn_content_permission_set(1, 'prices', '{finance}')")
    for role in ROLES:
        with as_role(db, role, token(db, 1, "clerk", ["operator"])):
            assert where(db, role, BODY) == set()
            if role == "stepwell_api":
                (found,) = db.execute(body, (last,)).fetchone()  # type: ignore[misc]
                assert (found["name"], found["body"]) == ("prices", None)
        with as_role(db, role, token(db, 1, "fin", ["finance"])):
            assert "v_content_version" in where(db, role, BODY)
    db.execute("select fn_content_permission_set(1, 'prices', '{}')")
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
        (found,) = db.execute(body, (last,)).fetchone()  # type: ignore[misc]
        assert found["body"] == BODY


def test_a_narrow_token_of_an_administrator_has_no_more_than_its_verbs(db: psycopg.Connection, run_id: int):
    hide(db)
    count = "select count(*) from workflow_step_def where step_id like %s"
    with as_role(db, "stepwell_api", token(db, 1, "root", ["admin"], verbs=["read"])):
        assert db.execute(count, (f"{MARK}%",)).fetchone() == (0,)
    with as_role(db, "stepwell_api", token(db, 1, "root", ["admin"], verbs=["read", "step.read_all"])):
        assert db.execute(count, (f"{MARK}%",)).fetchone() == (4,)


def test_the_rows_are_set_by_who_changes_rights_and_told_in_the_log(db: psycopg.Connection, run_id: int):
    setting = "select fn_step_permission_set(1, 'order', %s, %s)"
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
        for call in (
            "select fn_step_permission_set(1, 'order', 'x', '{a}')",
            "select fn_content_permission_set(1, 'prices', '{a}')",
            "select fn_permissions_read(1)",
        ):
            with pytest.raises(psycopg.Error) as refused, db.transaction():
                db.execute(call.encode())
            assert refused.value.sqlstate == "SW007"
    db.execute("update dot_config set config_value = '2' where config_key = 'limits.step_roles'")
    for given, state in (
        (("nowhere", ["a"]), "SW002"),
        ((f"{MARK}-check", [" "]), "SW001"),
        ((f"{MARK}-check", None), "SW001"),
        ((f"{MARK}-check", ["a", "b", "c"]), "SW006"),
    ):
        with pytest.raises(psycopg.Error) as wrong, db.transaction():
            db.execute(setting, given)
        assert wrong.value.sqlstate == state
    for roles in (["finance", "audit"], ["audit", "finance"], []):
        db.execute(setting, (f"{MARK}-check", roles))
    rows = db.execute(
        "select payload from event_log where event_type = 'permission.changed' order by event_id"
    ).fetchall()
    told = {"kind": "step", "name": "order", "step": f"{MARK}-check"}
    assert [row[0] for row in rows] == [told | {"roles": ["audit", "finance"]}, told | {"roles": []}]
    assert db.execute("select * from fn_permissions_read(1)").fetchall() == []


@pytest.mark.parametrize("otherwise", [None, f"{MARK}-c"])
def test_a_branch_without_a_step_that_is_shown_names_no_way(engine: Engine, otherwise: str | None):
    """After the condition comes what follows it, whichever way it decides: that is no line of a branch."""
    db = engine.db
    given = {} if otherwise is None else {"otherwise": sw.Operation(otherwise)}
    choice = sw.Conditional("$.input.x == 1", then=sw.Operation(f"{MARK}-b"), id="choice", **given)
    flow = sw.Workflow("choice", sw.Sequential(sw.Operation("a"), choice, sw.Operation("e")))
    db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(flow).canonical.decode(),))
    for step in (f"{MARK}-b", otherwise):
        if step is not None:
            db.execute("select fn_step_permission_set(1, 'choice', %s, '{finance}')", (step,))
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["stranger"])):
        (document,) = db.execute("select document from v_workflow_version").fetchone()  # type: ignore[misc]
    assert MARK not in json.dumps(document)
    numbers = {step["id"]: step["no"] for step in document["steps"]}
    assert document["edges"] == [
        {"from": numbers["a"], "to": numbers["choice"]},
        {"from": numbers["choice"], "to": numbers["e"]},
    ]
    draw(Graph.from_stored(document), "hash", "role", step_numbers(document))
