"""Every call that makes a unit claimable wakes an idle worker. The worker runs in another process and polls
only once an hour: without the notification the test reaches its time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction

import pytest

from tests.tidy.sources import files, read
from tests.tidy.sql_calls import FOLDER, graph
from tests.tidy.sql_source import definitions
from tests.worker import wake_paths, wake_paths_of_graphs, wake_paths_of_slots
from tests.worker.resting_stage import Stage, resting

Path = Callable[[Stage], Iterator[None]]
PATHS: list[Path] = [
    found
    for module in (wake_paths, wake_paths_of_graphs, wake_paths_of_slots)
    for found in vars(module).values()
    if isgeneratorfunction(found)
]


# Which path calls which public function that leads to a row in the queue.
CALLED_IN: dict[str, Path] = {
    "fn_approval_decide": wake_paths.an_approval_that_is_granted,
    "fn_approval_withdraw": wake_paths.an_approval_that_is_withdrawn,
    "fn_event_routes_follow": wake_paths_of_graphs.an_event_that_a_route_turns_into_a_job,
    "fn_job_cancel": wake_paths_of_slots.a_slot_that_a_cancelled_job_frees,
    "fn_job_enqueue": wake_paths.a_job,
    "fn_job_report": wake_paths.a_report_of_another_worker,
    "fn_job_report_free": wake_paths.a_report_of_another_worker_that_waits_for_no_lock,
    "fn_job_report_set_aside": wake_paths_of_slots.a_slot_that_a_unit_set_aside_frees,
    "fn_job_retry": wake_paths.a_retry_by_hand,
    "fn_job_workflow_refresh": wake_paths_of_graphs.a_job_graph_that_is_refreshed,
    "fn_job_workflow_refresh_due": wake_paths_of_graphs.a_refresh_that_is_due,
    "fn_job_workflow_retry": wake_paths_of_graphs.a_job_graph_whose_dead_job_is_retried,
    "fn_job_workflows_refresh": wake_paths_of_graphs.a_refresh_of_all_job_graphs,
    "fn_leases_recover": wake_paths_of_slots.a_worker_that_is_lost,
    "fn_mot_graph_emit": wake_paths_of_graphs.a_job_graph_that_is_emitted,
    "fn_receipt_reverse": wake_paths.an_effect_that_is_reversed,
    "fn_receipt_settle": wake_paths.a_receipt_that_a_person_settles,
    "fn_replay_plans_carry": wake_paths.a_plan_of_replays_that_is_carried_out,
    "fn_replay_propose": wake_paths.a_plan_of_replays_that_is_carried_out,
    "fn_run_cancel": wake_paths_of_slots.a_slot_that_a_cancelled_run_frees,
    "fn_run_pause": wake_paths_of_slots.a_slot_that_a_paused_run_frees,
    "fn_run_resume": wake_paths.a_run_that_is_resumed,
    "fn_run_retry": wake_paths.a_failed_run_that_is_retried,
    "fn_run_start": wake_paths.a_start,
    "fn_run_start_here": wake_paths.a_start_of_more_runs_than_the_worker_has_room_for,
    "fn_run_start_labelled": wake_paths.a_start_with_labels,
    "fn_schedule_fire": wake_paths.a_schedule_that_fires,
    "fn_signal": wake_paths.a_signal_for_a_wait,
    "fn_slack_approval_decide": wake_paths.an_approval_that_is_granted_in_slack,
    "fn_state_transition_validate": wake_paths.fn_state_transition_validate,
    "fn_step_cannot_complete": wake_paths.a_person_who_cannot_complete,
    "fn_step_complete": wake_paths.a_person_who_completes,
    "fn_step_reopen_for_correction": wake_paths.a_step_that_is_reopened_for_correction,
    "fn_hold_release": wake_paths_of_slots.a_hold_that_is_released,
    "fn_holds_carry": wake_paths_of_slots.a_hold_that_the_keeper_carries_on,
    "fn_timers_fire": wake_paths.a_retry_that_is_due,
    "fn_trigger_fire": wake_paths.a_request_of_a_trigger_that_starts_a_run,
    "fn_worker_close": wake_paths_of_slots.a_worker_that_closes,
    "fn_workflow_caps_set": wake_paths_of_slots.a_cap_of_a_workflow_that_is_raised,
    "fn_workspace_set": wake_paths_of_slots.a_cap_of_a_workspace_that_is_raised,
}
# These call the part that changes states, and only for units that no worker claims.
QUEUES_NOTHING = {
    "a call of the others, once for a key": {"fn_change_once"},
    "a receipt": {"fn_action_propose", "fn_action_settle", "fn_receipts_recover"},
    "a cut of content": {f"fn_iu_op_{verb}" for verb in ("cancel", "merge", "restage", "retry", "split")},
    "a proposal of a policy": {"fn_policy_activate", "fn_policy_propose"},
    "a step of a person, which stays with people": {
        *(f"fn_step_{verb}" for verb in ("block", "block_escalate", "claim", "deadline_change", "escalate")),
        *(f"fn_step_{verb}" for verb in ("release", "resume", "unblock", "wait")),
    },
    "a unit that it claims itself": {"fn_job_claim", "fn_job_claim_each"},
}


def leading_to_the_queue() -> set[str]:
    """The public functions that reach an insert into the queue."""
    found = {
        definition.name
        for path in files(".sql", under=str(FOLDER))
        for definition in definitions(read(path))
        if "insert into job_ready"
        in " ".join(token.text for token in definition.code).replace("stepwell . ", "")
    }
    open_names = list(found)
    while open_names:
        callers = graph().callers(open_names.pop()) - found
        found |= callers
        open_names += callers
    return {name for name in found if name.startswith("fn_")}


def test_every_function_that_leads_to_the_queue_has_a_path():
    assert leading_to_the_queue() == set(CALLED_IN).union(*QUEUES_NOTHING.values())


@pytest.fixture(scope="module")
def stage(databases, template, tmp_path_factory) -> Iterator[Stage]:
    with databases.fresh(template) as dsn, resting(dsn, tmp_path_factory.mktemp("ledger") / "lines") as made:
        yield made


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_worker_is_woken_by(stage: Stage, path: Path):
    acting = path(stage)
    next(acting)
    stage.until_at_rest()
    before = stage.done_count()
    stage.count_calls()
    assert next(acting, "ended") == "ended"
    named = {function for function, called_in in CALLED_IN.items() if called_in is path}
    assert named <= stage.called()
    stage.until_done(before + 1)
