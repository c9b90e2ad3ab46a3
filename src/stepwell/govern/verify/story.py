"""Documents of a bundle: receives sealed events, returns what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stepwell.govern.verify.files import has_type, loads
from stepwell.govern.verify.hashes import commitment
from stepwell.govern.verify.words import SHOWN_PREFIXES, Record


def payload_of(event: Record) -> dict[str, Any]:
    """The shown payload of an event; empty if it is not shown or no object."""
    try:
        found = loads(event["payload"] or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def typed(payload: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    """The named fields of a payload; null for those that are missing or have another type."""
    return {
        name: payload[name] if has_type(payload.get(name), kind) else None for name, kind in kinds.items()
    }


def value_digest(value: Any) -> dict[str, Any] | None:
    fits = (
        isinstance(value, dict)
        and set(value) == {"size", "commitment"}
        and has_type(value["size"], "i")
        and has_type(value["commitment"], "h")
    )
    return value if fits else None


APPROVAL = {
    "action": "t", "subject_unit_id": "i", "reason": "t", "tier": "i", "quorum": "i", "acting": "t",
    "approvers": "t*", "approver_role": "t", "expires_at": "z",
}  # fmt: skip
VERDICT = {
    "verdict_id": "i", "attempt": "i", "connector": "t", "operation": "t", "target": "t",
    "idempotency_key": "t", "action_hash": "t", "effect": "t", "reason_code": "t", "reason": "t",
    "policy_version": "i", "rules_hash": "t", "rule": "t", "tier": "t", "two_person": "b",
    "approval_id": "i", "receipt_id": "i",
}  # fmt: skip
INTENT = {"idempotency_key": "t", "unit_id": "i", "step_id": "t", "verdict_id": "i", "approval_id": "i"}
ACTION = {
    "connector": "t", "operation": "t", "target": "t", "action_hash": "t", "writes": "b",
    "reversible": "b", "requested_by": "t", "acting": "t", "reverses_receipt_id": "i",
}  # fmt: skip
OUTCOME = {
    "external_id": "t", "reversible": "b", "provider": "t", "model": "t", "input_tokens": "i",
    "output_tokens": "i", "cost_micros": "i", "currency": "t",
}  # fmt: skip
# What the input of a run says beside the input itself.
# What run.json says that no event proves; a bundle of a strict database has no mode.
RUN_CLAIMS = ("run_id", "streams", "with_payloads", "mode")
RUN_FACTS = (
    "workflow", "version_no", "graph_hash", "trigger_type", "trigger_ref", "trace_id", "correlation_id",
    "started_by", "parent_unit_id", "depth",
)  # fmt: skip


class Story:
    """What events say: receives them in any order, gives documents and digests of values.

    Events are told by `event_id`, the order in which they happened. The order of the log is another one: a
    transaction that began earlier may change a unit later.
    """

    def __init__(self, run_id: int, events: Iterable[Record]) -> None:
        self.run_id = run_id
        self.approvals: dict[int, dict[str, Any]] = {}
        self.decisions: list[dict[str, Any]] = []
        self.receipts: dict[int, dict[str, Any]] = {}
        self.attempts: dict[int, list[int | None]] = {}
        self.units: dict[int, dict[str, Any]] = {}
        # Streams of approvals and receipts that the run names.
        self.named: set[int] = set()
        # Label → unit, time, size and hash of a value of an approval or a receipt.
        self.digests: dict[str, dict[str, Any]] = {}
        for event in sorted(events, key=lambda event: (event["event_id"], event["tx"])):
            payload = payload_of(event)
            if event["stream_id"] == run_id:
                self._tell_run(event, payload)
            elif event["event_type"].startswith("approval."):
                self._tell_approval(event, payload)
            elif event["event_type"].startswith("receipt."):
                self._tell_receipt(event, payload)

    def _tell_run(self, event: Record, payload: dict[str, Any]) -> None:
        unit = self.units.setdefault(
            event["unit_id"],
            {"first": event, "state_code": "not_started", "started_at": None, "changed_at": None,
             "failure_count": 0, "actor": None},
        )  # fmt: skip
        if event["to_state"] is not None:
            unit["state_code"], unit["changed_at"] = event["to_state"], event["at"]
            if event["to_state"] == "in_progress" and unit["started_at"] is None:
                unit["started_at"] = event["at"]
            unit["failure_count"] += event["to_state"] == "failed"
            if event["actor_class"] not in ("mow_orchestrator", "system") and event["actor"] is not None:
                unit["actor"] = event["actor"]
        if not event["event_type"].startswith(("action.", "approval.")):
            return
        ids = typed(payload, {"approval_id": "i", "receipt_id": "i"})
        self.named |= {found >> 20 for found in ids.values() if found is not None}
        if event["event_type"] == "action.judged":
            verdict = typed(payload, VERDICT)
            self.decisions.append({**verdict, "unit_id": event["unit_id"], "decided_at": event["at"]})
            if ids["receipt_id"] is not None:
                self.attempts.setdefault(ids["receipt_id"], []).append(verdict["attempt"])

    def _tell_approval(self, event: Record, payload: dict[str, Any]) -> None:
        if event["event_type"] == "approval.requested":
            self.approvals[event["unit_id"]] = {
                **typed(payload, APPROVAL), "approval_id": event["unit_id"], "state_code": None,
                "requested_by": event["actor"], "requested_at": event["at"], "decided_at": None,
                "decided_by": None, "about": value_digest(payload.get("about")), "votes": [],
            }  # fmt: skip
            self._note(f"approval:{event['unit_id']}:about", event, payload.get("about"))
        approval = self.approvals.get(event["unit_id"])
        if approval is None:
            return
        if event["event_type"] == "approval.vote_recorded":
            vote = typed(payload, {"voter": "t", "decision": "t", "reason": "t"})
            others = [one for one in approval["votes"] if one["voter"] != vote["voter"]]
            approval["votes"] = [*others, {**vote, "voted_at": event["at"], "actor": event["actor"]}]
        if event["to_state"] is not None:
            approval["state_code"] = event["to_state"]
            is_open = event["to_state"] == "requested"
            approval["decided_at"] = None if is_open else event["at"]
            approval["decided_by"] = None if is_open else event["actor"]

    def _tell_receipt(self, event: Record, payload: dict[str, Any]) -> None:
        blank = dict.fromkeys(
            ("state_code", "settled_at", "settled_by", "reversed_by_receipt_id", *INTENT, *ACTION, *OUTCOME)
        )
        receipt = self.receipts.setdefault(
            event["unit_id"], {**blank, "receipt_id": event["unit_id"], "intended_at": event["at"]}
        )
        state = event["to_state"]
        if state is None:
            return
        label = f"receipt:{event['unit_id']}:"
        receipt["state_code"] = state
        if state == "intended":
            receipt.update(typed(payload, INTENT), settled_at=None, settled_by=None)
            self.digests.pop(label + "response", None)
            if "connector" in payload:
                receipt.update(typed(payload, ACTION))
                self._note(label + "request", event, payload.get("request"))
        elif state == "reversed":
            receipt.update(typed(payload, {"reversed_by_receipt_id": "i"}))
        elif "reversible" in payload:
            receipt.update(typed(payload, OUTCOME))
            for part in ("response", "prior", "reversal"):
                self.digests.pop(label + part, None)
                self._note(label + part, event, payload.get(part))
        if state in ("confirmed", "void"):
            receipt.update(settled_at=event["at"], settled_by=event["actor"])

    def _note(self, label: str, event: Record, told: Any) -> None:
        found = value_digest(told)
        if found is not None:
            self.digests[label] = {"unit_id": event["unit_id"], "at": event["at"], "facts": [], **found}

    def documents(self, claims: Record, tenant_id: int, facts: Record, graph: Any) -> dict[str, Any]:
        """The derived files. `claims` are RUN_CLAIMS; `facts` are RUN_FACTS."""
        receipts = [
            {
                **self.receipts[receipt_id],
                "attempt": (self.attempts.get(receipt_id) or [None])[-1],
                "try_count": len(self.attempts.get(receipt_id, ())),
                "values": {
                    part: {name: found[name] for name in ("size", "commitment")}
                    for part in ("prior", "request", "response", "reversal")
                    for found in [self.digests.get(f"receipt:{receipt_id}:{part}")]
                    if found is not None
                },
            }
            for receipt_id in sorted(self.receipts)
        ]
        return {
            "run.json": self._run(claims, tenant_id, facts, graph),
            "approvals.json": [self.approvals[approval_id] for approval_id in sorted(self.approvals)],
            "decisions.json": self.decisions,
            "receipts.json": receipts,
            "costs.json": costs(receipts),
        }

    def _run(self, claims: Record, tenant_id: int, facts: Record, graph: Any) -> dict[str, Any]:
        own = self.units.get(self.run_id << 20)
        made = {
            **claims, **facts, "tenant_id": tenant_id,
            "created_at": None, "finished_at": None, "state_code": None, "steps": self._steps(graph),
        }  # fmt: skip
        if own is not None:
            made |= {
                "created_at": own["first"]["at"], "finished_at": own["changed_at"],
                "state_code": own["state_code"],
            }  # fmt: skip
            if made["started_by"] is None:
                made["started_by"] = own["first"]["actor"]
        return made

    def _steps(self, graph: Any) -> list[dict[str, Any]]:
        defined = {}
        steps = graph.get("steps") if isinstance(graph, dict) else None
        for number, step in enumerate(steps if isinstance(steps, list) else [], 1):
            if isinstance(step, dict) and not (has_type(step.get("scope"), "i") and step["scope"]):
                known = typed(step, {"id": "t", "kind": "t", "operation": "t"})
                mandatory = step.get("mandatory", True) is not False
                defined[self.run_id << 20 | number] = {
                    "name": known["id"], "kind": known["kind"], "operation": known["operation"],
                    "mandatory": mandatory,
                }  # fmt: skip
        nothing = {"name": None, "kind": None, "operation": None, "mandatory": None}
        idle = {
            "state_code": "not_started", "started_at": None, "changed_at": None, "failure_count": 0,
            "actor": None,
        }  # fmt: skip
        return [
            {
                "unit_id": unit_id,
                **defined.get(unit_id, nothing),
                **{name: self.units.get(unit_id, idle)[name] for name in idle},
            }
            for unit_id in sorted({*defined, *self.units} - {self.run_id << 20})
        ]


def costs(receipts: Iterable[Record]) -> list[dict[str, Any]]:
    """The costs for each provider, model and currency."""
    sums: dict[tuple[str, str, str], dict[str, int]] = {}
    for receipt in receipts:
        if receipt["provider"] is None:
            continue
        key = (receipt["provider"], receipt["model"] or "", receipt["currency"] or "")
        held = sums.setdefault(
            key, {"call_count": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros": 0}
        )
        held["call_count"] += 1
        for name in ("input_tokens", "output_tokens", "cost_micros"):
            held[name] += receipt[name] or 0
    return [
        {"provider": provider, "model": model or None, "currency": currency or None, **held}
        for (provider, model, currency), held in sorted(sums.items())
    ]


def run_facts(run_id: int, values: Iterable[Record]) -> dict[str, Any]:
    """What the sealed input says about the run; null for each where no input is sealed."""
    given = next((value["facts"] for value in values if value["label"] == f"input:{run_id}"), None)
    if given is None or len(given) != len(RUN_FACTS):
        return dict.fromkeys(RUN_FACTS)
    return dict(zip(RUN_FACTS, given))  # noqa: B905 - Python 3.9


def must_show(event: Record, with_payloads: bool) -> bool:
    """Whether a bundle shows the payload of an event."""
    is_governed = event["event_type"].startswith(SHOWN_PREFIXES)
    return event["payload_commitment"] is not None and (with_payloads or is_governed)


def shows_payload(event: Record) -> bool:
    """Whether the shown payload is the payload that was sealed."""
    text = event["payload"]
    return bool(
        commitment(bytes.fromhex(event["salt"]), text) == event["payload_commitment"]
        and len(text.encode()) == event["payload_size"]
    )
