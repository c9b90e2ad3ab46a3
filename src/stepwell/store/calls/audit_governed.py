"""Read what people and policy decided, for verification: receives numbers, returns rows beside the log.

Fields have the names of the documents of a bundle; times and values are the texts that are hashed.
"""

from __future__ import annotations

from typing import Any

from stepwell.store.calls.audit import Archived, AuditReader, Position
from stepwell.store.calls.audit_times import moment_text

Row = dict[str, Any]

APPROVAL = (
    "approval_id", "action", "subject_unit_id", "tier", "quorum", "requested_by", "reason", "requested_at",
    "expires_at", "decided_at", "decided_by", "acting", "approvers", "approver_role",
)  # fmt: skip
VOTE = ("approval_id", "voter", "decision", "reason", "voted_at")
RECEIPT = (
    "receipt_id", "unit_id", "run_id", "step_id", "session_id", "lease_no", "try_count", "idempotency_key",
    "connector",
    "operation", "target", "action_hash", "writes", "reversible", "external_id", "provider", "model",
    "input_tokens", "output_tokens", "cost_micros", "currency", "verdict_id", "approval_id", "requested_by",
    "acting", "reverses_receipt_id", "reversed_by_receipt_id", "settled_by", "intended_at", "settled_at",
)  # fmt: skip
VERDICT = (
    "verdict_id", "unit_id", "lease_no", "idempotency_key", "connector", "operation", "target",
    "action_hash", "effect", "reason_code", "reason", "rule_name", "tier", "two_person", "approval_id",
    "decided_at",
)  # fmt: skip
# The values of a record, by the last part of their label.
APPROVAL_VALUES = {"about": "about"}
RECEIPT_VALUES = {
    "request": "request_metadata", "response": "response_metadata", "prior": "prior", "reversal": "reversal",
}  # fmt: skip


def governed_ids(reader: AuditReader) -> list[int | None]:
    """Every approval and receipt that a table has, or that the log names and whose unit is still there."""
    return [unit_id for (unit_id,) in reader.support("audit_governed")]


def effects(reader: AuditReader, archived: Archived) -> list[tuple[int, bool, str | None, bool]]:
    """The approvals and receipts of the log, by event_id: number, whether it is a receipt, payload.

    The last one tells whether its verdict may be of an archived month.
    """
    rows = reader.support("audit_effects", archived=sorted(archived.months))
    return [(number, is_receipt, payload, is_old) for number, is_receipt, payload, is_old in rows]


def approvals(reader: AuditReader, ids: list[int]) -> list[Row]:
    return _read(reader, "v_audit_approval", (*APPROVAL, "request_key"), APPROVAL_VALUES, "approval_id", ids)


def votes(reader: AuditReader, ids: list[int]) -> list[Row]:
    return _read(reader, "approval_vote", VOTE, {}, "approval_id", ids)


def receipts(reader: AuditReader, ids: list[int]) -> list[Row]:
    return _read(reader, "v_audit_receipt", (*RECEIPT, "intent_token"), RECEIPT_VALUES, "receipt_id", ids)


def judgements(reader: AuditReader, after: Position, limit: int) -> list[Row]:
    """The events of verdicts after a position; `has_run`: the rows of their run are still there."""
    rows = reader.support("audit_judgements", tx=after[0], event_id=after[1], limit=limit)
    names = ("tx", "event_id", "at", "unit_id", "actor", "payload", "has_run")
    return [dict(zip(names, row, strict=True)) for row in rows]


def verdicts(reader: AuditReader, ids: list[int]) -> list[Row]:
    """The rows of verdicts, each with the version and the hash of its policy."""
    return _read(reader, "policy_verdict", VERDICT, {}, "verdict_id", ids)


def verdict_policies(reader: AuditReader, ids: list[int]) -> dict[int, tuple[int, str]]:
    """Version and hash of the policy of each verdict that names one."""
    rows = reader.support("audit_policies", verdict_ids=ids)
    return {verdict_id: (version_no, rules_hash) for verdict_id, version_no, rules_hash in rows}


def verdict_units(reader: AuditReader) -> list[tuple[int | None, int | None, str | None]]:
    """Number, unit and time of every verdict that the table has."""
    return [
        (verdict_id, unit_id, at)
        for verdict_id, unit_id, at in reader.rows(
            f"select v.verdict_id, v.unit_id, {moment_text('v.decided_at')}"
            " from stepwell.policy_verdict as v where v.tenant_id = %s"
            " order by v.verdict_id",
            reader.tenant_id,
        )
    ]


def _read(
    reader: AuditReader,
    relation: str,
    names: tuple[str, ...],
    values: dict[str, str],
    key: str,
    ids: list[int],
) -> list[Row]:
    columns = [moment_text(f"x.{name}") if name.endswith("_at") else f"x.{name}" for name in names]
    columns += [f"x.{column}::text" for column in values.values()]
    rows = reader.rows(
        f"select {', '.join(columns)} from stepwell.{relation} as x"
        f" where x.tenant_id = %s and x.{key} = any (%s) order by x.{key}",
        reader.tenant_id, ids,
    )  # fmt: skip
    return [
        {
            **dict(zip(names, row[: len(names)], strict=True)),
            "values": dict(zip(values, row[len(names) :], strict=True)),
        }
        for row in rows
    ]
