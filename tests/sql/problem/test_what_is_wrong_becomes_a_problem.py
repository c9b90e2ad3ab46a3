"""The keeper opens a problem for each thing that is wrong, and closes it by an event when that is over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock

RECOUNT = (
    "select category_code, count(*) from governance_problem where closed_at is null group by category_code"
)
KEPT = "select category_code, open_count from governance_count where open_count > 0"


def looked(engine: Engine) -> dict[str, int]:
    """The kept counts after the keeper has looked; they are those of a recount."""
    engine.one("select fn_problems_watch()")
    kept = dict(engine.db.execute(KEPT).fetchall())
    assert kept == dict(engine.db.execute(RECOUNT).fetchall())
    return kept


def closed_by(engine: Engine, category: str) -> str:
    """The reason in the event that closed the newest problem of the category."""
    found: str = engine.one(
        "select e.payload ->> 'reason' from governance_problem as p inner join event_log as e"
        " on p.tenant_id = e.tenant_id and p.closed_event_id = e.event_id"
        " where p.category_code = %s order by p.problem_id desc limit 1",
        (category,),
    )
    return found


@pytest.mark.requirement("GV-04")
def test_a_dead_letter_is_a_problem_until_it_is_replayed(engine: Engine):
    engine.person("ada")
    session = engine.worker()
    (job,) = engine.enqueue("a")
    engine.kill(session, *engine.claim(session))
    assert looked(engine) == {"dead_letter": 1}
    assert looked(engine) == {"dead_letter": 1}
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    )
    engine.one("select fn_job_retry(1, %s, 'ada')", (job,))
    assert looked(engine) == {}
    assert closed_by(engine, "dead_letter") == "it was replayed or removed"
    # It dies again: that is a new problem.
    engine.kill(session, *engine.claim(session))
    assert looked(engine) == {"dead_letter": 1}


@pytest.mark.requirement("GV-04")
def test_a_silent_worker_stays_a_problem_until_its_class_has_a_good_tick(engine: Engine, clock: Clock):
    engine.worker("orders:1", lease_seconds=30)
    assert looked(engine) == {}
    clock.advance(seconds=31)
    engine.one("select fn_leases_recover(10)")
    # The session is closed, the silence is not.
    assert looked(engine) == {"silent_worker": 1}
    clock.advance(minutes=5)
    assert looked(engine) == {"silent_worker": 1}
    other = engine.worker("orders:2", lease_seconds=30)
    # To start is no good tick: a worker that ends as often as it starts serves nothing.
    assert looked(engine) == {"silent_worker": 1}
    engine.beat(other)
    assert looked(engine) == {}
    assert closed_by(engine, "silent_worker") == "worker orders:2 serves the class default"
    assert engine.one("select count(*) from event_log where event_type = 'worker.recovered'") == 1


def test_an_overdue_step_is_a_problem_until_it_ends_or_its_deadline_moves(engine: Engine, clock: Clock):
    engine.person("ada")
    engine.publish("desk", human("sign", deadline=600))
    runs = [engine.start("desk") for _ in range(2)]
    clock.advance(minutes=20)
    engine.timers()
    assert looked(engine) == {"overdue_step": 2}
    step = engine.unit(runs[0], "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (step,))
    assert looked(engine) == {"overdue_step": 1}
    assert closed_by(engine, "overdue_step") == "it ended"


def test_rejected_events_of_one_type_are_one_problem_that_a_person_closes(engine: Engine, clock: Clock):
    engine.person("ada")
    for _ in range(3):
        engine.one("select fn_event_reject_note(1, 'nobody.registered_it', 0, '{}')")
    assert looked(engine) == {"schema_violation": 1}
    problem = engine.one("select problem_id from governance_problem")
    engine.one("select fn_problem_close(1, %s, 'ada', 'it is registered now')", (problem,))
    assert looked(engine) == {}
    clock.advance(minutes=1)
    engine.one("select fn_event_reject_note(1, 'nobody.registered_it', 0, '{\"n\": 1}')")
    assert looked(engine) == {"schema_violation": 1}


def test_a_reader_behind_the_log_is_a_problem_until_it_catches_up(engine: Engine, clock: Clock):
    engine.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    engine.enqueue("a")
    clock.advance(minutes=1)
    assert looked(engine) == {"event_lag": 1}
    engine.db.execute("update event_reader set last_tx = pg_current_xact_id()")
    assert looked(engine) == {}
    kinds = engine.db.execute(
        "select event_type from event_log where event_type like 'event_lag.%' order by event_id"
    )
    assert [kind for (kind,) in kinds] == ["event_lag.breached", "event_lag.healed"]


def test_a_run_that_nothing_can_move_is_an_orphan(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    assert looked(engine) == {}
    engine.db.execute("delete from job_ready")
    clock.advance(minutes=2)
    assert looked(engine) == {"orphan_workflow": 1}
    engine.person("ada")
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.workflow_cancel'"
    )
    engine.one("select fn_run_cancel(1, %s, 'ada')", (run_id,))
    assert looked(engine) == {}
    assert closed_by(engine, "orphan_workflow") == "the run goes on or ended"


def test_a_problem_tells_since_when_it_is_wrong_also_if_it_is_found_later(engine: Engine, clock: Clock):
    engine.publish("desk", human("sign", deadline=600))
    engine.publish("w", operation("a"))
    engine.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    engine.start("desk")
    lost = engine.start("w")
    session = engine.worker("orders:1", lease_seconds=30)
    engine.kill(session, *engine.claim(session))
    engine.db.execute("delete from job_ready where unit_id = %s", (engine.unit(engine.start("w"), "a"),))
    began = clock.now()
    # No keeper looks for three days.
    clock.advance(days=3)
    engine.one("select fn_leases_recover(10)")
    engine.timers()
    assert set(looked(engine)) == {
        "dead_letter", "silent_worker", "overdue_step", "event_lag", "orphan_workflow",
    }  # fmt: skip
    since = {
        category: round((at - began).total_seconds() / 60)
        for category, at in engine.db.execute(
            "select category_code, oldest_at from vw_governance_counts where subject_count > 0"
        )
    }
    assert since == {
        "dead_letter": 0, "silent_worker": 0, "overdue_step": 10, "event_lag": 0, "orphan_workflow": 0,
    }  # fmt: skip
    assert lost
    rows = "select extract(epoch from p.opened_at - p.since_at) / 86400 from governance_problem as p"
    assert min(days for (days,) in engine.db.execute(rows)) > 2.9
    # The list of a category has the same times, and its pages follow them.
    (newest, *_) = engine.db.execute("select since_at from fn_governance_read(1, 'overdue_step')").fetchall()
    assert newest[0] < began + timedelta(minutes=11)


@pytest.mark.requirement("GV-04")
def test_a_problem_that_turned_green_without_its_event_is_an_integrity_warning(engine: Engine):
    session = engine.worker()
    engine.enqueue("a")
    engine.kill(session, *engine.claim(session))
    assert looked(engine) == {"dead_letter": 1}
    # Only the owner of the schema can go around the trigger.
    engine.db.execute("alter table governance_problem disable trigger problems_change_by_events")
    engine.db.execute(
        "update governance_problem set closed_at = stepwell.now(), closed_by = 'x', closed_event_id = 1"
    )
    engine.db.execute("alter table governance_problem enable trigger problems_change_by_events")
    found = looked(engine)
    assert found["integrity_warning"] == 1
    reason = engine.one("select reason from governance_problem where category_code = 'integrity_warning'")
    assert "was closed without an event" in reason
    helps = "select remedy_en from fn_governance_read(1, 'integrity_warning')"
    assert "beside the engine" in engine.one(helps)


@pytest.mark.requirement("GV-04")
def test_the_remedy_of_a_warning_fits_what_warns(engine: Engine):
    """Content is compared with its source; of all warnings together only what is true of each is said."""
    engine.one("select version_no from fn_content_write(1, 'guide', 'one two', 'ada')")
    parts = '[{"code": "a", "body": "one"}, {"code": "b", "body": "three"}]'
    engine.one("select fn_iu_op_split(1, 'guide', %s, 'ada')", (parts,))
    assert looked(engine)["integrity_warning"] == 1
    words = (("en", "Compare the content", "content"), ("vi", "So sánh nội dung", "nội dung"))
    for lang, word, other in words:
        own = engine.one(f"select remedy_{lang} from fn_governance_read(1, 'integrity_warning')")
        assert own.startswith(word)
        told = f"select remedy_{lang} from v_governance_problem where category_code = 'integrity_warning'"
        assert engine.one(told) == own
        whole = f"select remedy_{lang} from vw_governance_counts where category_code = 'integrity_warning'"
        assert other not in engine.one(whole)


@pytest.mark.requirement("GV-01")
def test_the_counts_of_a_day_are_kept_by_the_hour(engine: Engine, clock: Clock):
    session = engine.worker(lease_seconds=86_400)
    engine.enqueue("a", 3)
    leases = engine.claim(session)
    engine.kill(session, leases[0])
    looked(engine)
    clock.advance(hours=2)
    engine.kill(session, *leases[1:])
    looked(engine)
    row = engine.db.execute(
        "select subject_count, opened_count, closed_count, hours, newest_reason from vw_governance_counts"
        " where category_code = 'dead_letter'"
    ).fetchone()
    assert row is not None
    assert row[:3] == (3, 3, 0)
    assert [hour["open"] for hour in row[3]] == [1, 3]
    assert row[4] == "declared_dead: it is dead"
    assert engine.one("select count(*) from vw_governance_counts") == 10
