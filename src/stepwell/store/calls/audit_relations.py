"""What verification reads: receives a query, returns it with tables in place of views where the caller may.

A person who can change the log can also change a view, so that it shows the verifier something else.
"""

from __future__ import annotations

import re

from stepwell.sql import support_text
from stepwell.store.calls.audit_rights import Connection

# The views for callers that may not read a column of a table: view → table, column.
VIEWS = {
    "v_run_payload": ("run_detail", "input"),
    "v_job_payload": ("job_detail", "payload"),
    "v_audit_approval": ("approval_detail", "about"),
    "v_audit_receipt": ("action_receipt", "request_metadata"),
    "v_audit_version": ("workflow_version", "graph"),
}
# The tables that are read; a test compares them with the queries.
RELATIONS = (
    "action_receipt", "approval_detail", "approval_vote", "audit_block", "audit_block_stream",
    "audit_chain", "audit_leaves", "concurrency_slot", "cut_request_detail", "dlq_replay_plan",
    "dlq_replay_request", "event_log", "evidence_bundle", "executor_class", "job_detail",
    "job_template", "operation", "policy_active", "policy_set", "policy_verdict", "principal", "run_detail",
    "state_def", "step_input", "step_run_correction_cycle", "step_run_output_snapshot",
    "step_run_prior_audit", "task_comments", "task_detail", "tenant", "timer", "unit_failure", "unit_output",
    "work_unit", "workflow_branch", "workflow_group", "workflow_registry", "workflow_step_def",
    "workflow_step_relations", "workflow_version", "workspace",
)  # fmt: skip

_MAY_READ = "select has_column_privilege(%s, %s, 'select')"


def needed_views(connection: Connection) -> tuple[str, ...]:
    """The views that this caller must read, because a column of the table is hidden from it."""
    return tuple(
        view
        for view, (table, column) in VIEWS.items()
        if connection.execute(_MAY_READ, (f"stepwell.{table}", column)).fetchone() != (True,)
    )


def by_table(text: str, kept: tuple[str, ...]) -> str:
    """A query with the tables in place of all views but those that are kept."""
    for view, (table, _) in VIEWS.items():
        if view not in kept:
            text = re.sub(rf"\bstepwell\.{view}\b", f"stepwell.{table}", text)
    return text


def odd_relations(connection: Connection) -> list[tuple[str, str]]:
    """What is read and is not the table that it should be: its name, and why."""
    rows = connection.execute(support_text("audit_relations").encode(), {"names": list(RELATIONS)}).fetchall()
    return [(name, why) for name, why in rows]


def lost_tenants(connection: Connection) -> list[int]:
    """Tenants that have a chain, a policy or a workflow, and no row."""
    rows = connection.execute(support_text("audit_lost_tenants").encode()).fetchall()
    return [tenant_id for (tenant_id,) in rows]
