"""For each reason why a unit does not run there is one sentence, and the name of who can change it."""

from __future__ import annotations

from datetime import UTC

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation, subworkflow, wait


def test_the_reason_of_a_step_names_the_predecessors_it_waits_for(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    run_id = engine.start("w")
    code, english, vietnamese, who = engine.why(engine.unit(run_id, "c"))
    assert (code, who) == ("dependency", "engine")
    assert english == "c waits for a (Ready), b (Ready)."
    assert vietnamese == "c chờ a (Sẵn sàng), b (Sẵn sàng)."


def test_a_predecessor_that_ended_is_no_longer_named(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    run_id = engine.start("w")
    session = engine.worker()
    engine.complete(session, engine.claim(session, 1)[0])
    assert engine.why(engine.unit(run_id, "c"))[1] == "c waits for b (Ready)."


def test_the_reason_says_that_no_worker_serves_the_executor(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    code, english, _, who = engine.why(engine.unit(run_id, "a"))
    assert (code, who) == ("no_worker", "operator")
    assert english == "a can run, but no live worker serves executor default."
    engine.worker(classes=["process"])
    assert engine.why(engine.unit(run_id, "a"))[0] == "no_worker"


def test_the_reason_says_that_no_worker_serves_the_operation(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    run_id = engine.start("w")
    one, two = engine.worker("one"), engine.worker("two")
    for session in (one, two):
        engine.db.execute("select fn_worker_serves(%s, array['b'])", (session,))
    code, english, vietnamese, who = engine.why(engine.unit(run_id, "a"))
    assert (code, who) == ("no_handler", "operator")
    assert english == "a can run, but no live worker serves operation a."
    assert vietnamese == "a có thể chạy, nhưng không có worker nào phục vụ thao tác a."
    assert engine.why(engine.unit(run_id, "b"))[0] == "queued"
    engine.db.execute("select fn_worker_serves(%s, array['a'])", (two,))
    assert engine.why(engine.unit(run_id, "a"))[0] == "queued"


def test_the_reason_of_a_ready_step_gives_its_place_in_the_queue(engine: Engine):
    engine.publish("w", operation("a"))
    engine.start("w")
    run_id = engine.start("w")
    engine.worker()
    code, english, _, who = engine.why(engine.unit(run_id, "a"))
    assert (code, who) == ("queued", "worker")
    assert english == "a can run and is at place 2 of the queue of executor default."


def test_the_reason_of_a_running_step_names_its_worker_and_lease(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker("ada")
    engine.claim(session)
    until = engine.one("select expires_at from worker_session").astimezone(UTC)
    code, english, _, who = engine.why(engine.unit(run_id, "a"))
    assert (code, who) == ("leased", "worker:ada")
    assert english == f"a is being done by worker ada, whose lease holds until {until:%Y-%m-%d %H:%M:%S} UTC."


def test_the_reason_of_a_job_behind_a_limit_gives_its_place_and_the_limit(engine: Engine):
    ids = engine.enqueue("op", 3, p_concurrency_key="account-1", p_max_concurrency=1)
    code, english, _, who = engine.why(ids[2])
    assert (code, who) == ("concurrency", "engine")
    assert english == "op waits for a slot of key:account-1, at place 2; at most 1 run at once."


def test_the_reason_of_a_step_can_be_the_limit_of_its_group(engine: Engine):
    engine.publish(
        "w", operation("a", group=1), operation("b", group=1), edges=[],
        groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    run_id = engine.start("w")
    assert engine.why(engine.unit(run_id, "b"))[0] == "concurrency"


def test_the_reason_of_a_job_for_later_gives_its_start_time(engine: Engine, clock):
    (job_id,) = engine.enqueue("op", p_process_after=clock.now().replace(year=2099))
    code, english, _, who = engine.why(job_id)
    assert (code, who) == ("schedule", "clock")
    assert english.startswith("op starts at 2099-")


def test_the_reason_of_a_failed_step_gives_the_time_of_the_next_attempt(engine: Engine):
    engine.publish("w", operation("a", retry={"max_attempts": 3}))
    run_id = engine.start("w")
    session = engine.worker()
    engine.report(
        session, (engine.claim(session)[0], "failed", {"error": {"type": "E"}, "delay_seconds": 60})
    )
    code, english, _, who = engine.why(engine.unit(run_id, "a"))
    assert (code, who) == ("retry", "clock")
    assert english.startswith("a failed; attempt 2 of 3 starts at ")


def test_the_reason_of_a_wait_names_its_event_and_its_end(engine: Engine):
    engine.publish("w", wait("parcel", "carrier.picked_up", timeout_seconds=60))
    run_id = engine.start("w")
    code, english, _, who = engine.why(engine.unit(run_id, "parcel"))
    assert (code, who) == ("event", "sender of carrier.picked_up")
    assert english.startswith("parcel waits for the event carrier.picked_up, until 20")


def test_the_reason_of_a_wait_without_an_end_names_only_its_event(engine: Engine):
    engine.publish("w", wait("parcel", "came"))
    _, english, vietnamese, _ = engine.why(engine.unit(engine.start("w"), "parcel"))
    assert (english, vietnamese) == ("parcel waits for the event came.", "parcel chờ sự kiện came.")


def test_the_reason_of_a_human_step_without_a_role_says_that_anybody_can_claim_it(engine: Engine):
    engine.publish("w", human("sign-off"))
    code, english, _, who = engine.why(engine.unit(engine.start("w"), "sign-off"))
    assert (code, who) == ("human", "anyone")
    assert english == "sign-off waits for a person; anybody can claim it."


def test_the_reason_of_a_step_that_a_person_lets_wait_names_the_person_and_what_it_waits_for(engine: Engine):
    engine.person("ada")
    engine.publish("w", human("sign-off"))
    unit_id = engine.unit(engine.start("w"), "sign-off")
    engine.one("select fn_step_claim(1, %s, 'ada')", (unit_id,))
    engine.one("select fn_step_wait(1, %s, 'ada', array['waiting_external'])", (unit_id,))
    code, english, vietnamese, who = engine.why(unit_id)
    assert (code, who) == ("human", "person:ada")
    assert english == "ada has begun sign-off and cannot continue now: Waiting for an outside system."
    assert vietnamese == "ada đã bắt đầu sign-off nhưng chưa thể tiếp tục: Chờ bên ngoài."


def test_the_reason_of_a_sleeping_step_is_its_timer(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.report(session, (engine.claim(session)[0], "sleep", {"seconds": 3600}))
    assert engine.why(engine.unit(run_id, "a"))[0] == "schedule"


def test_the_reason_of_a_human_step_names_the_role(engine: Engine):
    engine.publish("w", human("sign-off", role="warehouse"))
    run_id = engine.start("w")
    code, english, _, who = engine.why(engine.unit(run_id, "sign-off"))
    assert (code, who) == ("human", "role:warehouse")
    assert english == "sign-off waits for a person (role: warehouse)."


def test_the_reason_of_a_wait_for_an_approval_names_the_approval(engine: Engine, db: psycopg.Connection):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    body = {"event": "approval.decided", "facet": "waiting_human"}
    engine.report(session, (engine.claim(session)[0], "waiting", body))
    unit_id = engine.unit(run_id, "a")
    db.execute(
        """insert into approval_detail (
               tenant_id, approval_id, action, subject_unit_id, requested_by, requested_at, expires_at)
           values (1, 99, 'payment', %s, 'ada', now(), now() + interval '1 day')""",
        (unit_id,),
    )
    code, english, vietnamese, who = engine.why(unit_id)
    assert (code, who) == ("approval", "reviewer")
    assert english == "a waits for approval 0.99: 0 of 1 have agreed."
    assert vietnamese == "a chờ phê duyệt 0.99: 0/1 người đã đồng ý."


def test_the_reason_of_a_sub_workflow_step_names_its_run(engine: Engine):
    engine.publish("inner", operation("x"))
    engine.publish("outer", subworkflow("call", "inner"))
    run_id = engine.start("outer")
    code, english, _, _ = engine.why(engine.unit(run_id, "call"))
    inner = engine.one("select run_id from workflow_run where workflow = 'inner'")
    assert (code, english) == ("subworkflow", f"call waits for its sub-workflow, run {inner} (In progress).")


def test_the_reason_in_a_paused_run_says_that_a_reviewer_can_resume(engine: Engine, db: psycopg.Connection):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    db.execute("select fn_run_pause(1, %s, 'cli:ada')", (run_id,))
    assert engine.why(engine.unit(run_id, "a"))[::3] == ("paused", "reviewer")
    assert engine.why(run_id << 20)[::3] == ("paused", "reviewer")


def test_the_reason_in_an_undecided_branch_names_the_conditional(engine: Engine, db: psycopg.Connection):
    engine.publish("w", operation("a"), operation("choice"), operation("then"))
    run_id = engine.start("w")
    db.execute("insert into workflow_branch values (1, 1, 1, 2, null, false)")
    db.execute("update workflow_step_def set branch_no = 1 where step_id = 'then'")
    code, english, _, _ = engine.why(engine.unit(run_id, "then"))
    assert (code, english) == ("branch", "then belongs to a branch that choice has not chosen yet.")


def test_the_reason_of_a_blocked_step_is_its_block_reason(engine: Engine, db: psycopg.Connection):
    engine.publish("w", human("check"))
    run_id = engine.start("w")
    unit_id = engine.unit(run_id, "check")
    db.execute("update work_unit set pic_id = 7 where unit_id = %s", (unit_id,))
    ask = "select fn_state_transition_validate(%s, 'step', %s, %s, 'pic_human', 'rpc', %s, %s)"
    evidence = {"audit_ref": "x", "block_reason": "missing_iu", "payload": {"block_reason": "missing_iu"}}
    db.execute(ask, (unit_id, "ready", "in_progress", "step_claim", Jsonb({"audit_ref": "x"})))
    assert engine.why(unit_id)[::3] == ("in_progress", "person:7")
    db.execute(ask, (unit_id, "in_progress", "blocked", "step_block", Jsonb(evidence)))
    assert engine.why(unit_id)[:2] == ("blocked", "check is blocked: A content unit is missing.")


def test_the_reason_of_an_ended_unit_says_how_it_ended(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.drain(session)
    assert engine.why(engine.unit(run_id, "a"))[:2] == ("ended", "a has ended: Completed.")
    assert engine.why(run_id << 20)[1] == f"run {run_id} has ended: Completed."


def test_the_reason_of_a_run_is_that_of_its_first_open_step(engine: Engine):
    engine.publish("w", wait("parcel", "came"), operation("after"))
    run_id = engine.start("w")
    assert engine.why(run_id << 20)[0] == "event"


def test_a_unit_that_does_not_exist_is_not_found(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        engine.why(12345)
    assert caught.value.sqlstate == "SW002"
