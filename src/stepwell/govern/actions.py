"""Do actions in other systems under policy: receives an action of a handler, returns its result, once.

Each action is judged by policy, recorded before it is done, and confirmed after it. If an attempt finds an
unconfirmed receipt of an earlier attempt, it repeats the action with the same key, asks the other system, or
waits for a person.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, NoReturn, Protocol, TypeVar

from stepwell import json_text, redaction
from stepwell.connectors.base import (
    Action,
    Connector,
    Effect,
    EffectRefused,
    EffectUnavailable,
    EffectUnknown,
    OperationSpec,
    effect_form,
)
from stepwell.define.problem import did_you_mean
from stepwell.errors import (
    CANCELLED_SQLSTATE,
    ActionConflict,
    ApprovalCancelled,
    ApprovalExpired,
    ApprovalRejected,
    DatabaseFailure,
    DatabaseUnavailable,
    EffectInFlight,
    InvalidInput,
    NotFound,
    PolicyDenied,
    StepwellError,
    UsageError,
)
from stepwell.store.calls import receipts as calls
from stepwell.store.calls.leases import Lease
from stepwell.store.calls.receipts import Proposed
from stepwell.store.connection.call import Call

T = TypeVar("T")

# An action that was found not to be done is proposed again, at most so often.
TURN_LIMIT: Final = 3
REASON_LIMIT: Final = 2_000
# Pauses while the database restarts: an effect that is not recorded would stay uncertain for ever.
PAUSES_SECONDS: Final = (0.1, 0.4, 1.5, 5.0)


class Awaiting(BaseException):
    """Raised to leave the handler: the unit waits for a person, then runs again. Do not catch it.

    With `seconds` it runs again after that time, whether or not the event has come.
    """

    def __init__(self, event: str, approval_id: int | None = None, seconds: float | None = None) -> None:
        self.event = event
        self.approval_id = approval_id
        self.seconds = seconds


class WorkerCalls(Protocol):
    """The calls of an action to its worker."""

    @property
    def connectors(self) -> Mapping[str, Connector]: ...
    @property
    def session_key(self) -> int: ...
    async def perform(self, call: Call[T]) -> T: ...
    async def perform_action(self, call: Call[T], *, is_limited: bool) -> T: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """One action as the handler requested it."""

    connector: Connector
    spec: OperationSpec
    operation: str
    target: str
    fields: Mapping[str, Any]
    reversible: bool
    document: str
    tenant_id: int

    def action(self, key: str) -> Action:
        return Action(
            self.tenant_id, self.connector.name, self.operation, self.target, self.fields, key,
            self.reversible,
        )  # fmt: skip


class Acting:
    """The governed actions of one execution of a handler."""

    def __init__(self, lease: Lease, worker: WorkerCalls) -> None:
        self._lease = lease
        self._worker = worker
        # Of the session that has the lease: it settles its receipts also after its end.
        self._session_key = worker.session_key
        self._counts: Counter[str] = Counter()
        self._keys: set[str] = set()

    async def act(
        self,
        connector: str,
        operation: str,
        target: str,
        fields: Mapping[str, Any],
        *,
        reversible: bool | None = None,
        key: str | None = None,
        reverses: int | None = None,
    ) -> Any:
        plan = self._plan(connector, operation, target, fields, reversible, key, reverses)
        if key is None:
            return await self._settle_matter(plan)
        # Of two simultaneous calls with one key, each would take the other for an earlier attempt.
        if key in self._keys:
            raise ActionConflict(f"key {key} is in use by another action of this handler", field="key")
        self._keys.add(key)
        try:
            return await self._settle_matter(plan)
        finally:
            self._keys.discard(key)

    async def reverse(self, receipt_id: int) -> Any:
        """Undo an effect. This is a new action with its own receipt."""
        lease = self._lease
        back = await self._worker.perform(
            calls.reversal(self._session_key, lease.tenant_id, lease.unit_id, lease.lease_no, receipt_id)
        )
        return await self.act(
            back["connector"], back["operation"], back["target"], back.get("fields") or {},
            key=f"reverse:{receipt_id}", reverses=receipt_id,
        )  # fmt: skip

    def _plan(
        self,
        name: str,
        operation: str,
        target: str,
        fields: Mapping[str, Any],
        reversible: bool | None,
        key: str | None,
        reverses: int | None,
    ) -> Plan:
        connector, spec = self._find(name, operation)
        target = _canonical(connector, operation, target)
        if reversible and not spec.reversible:
            raise UsageError(f"{name}.{operation} cannot be reversed", hint="remove reversible=True")
        way_back = spec.reversible if reversible is None else reversible
        # The order of the calls does not matter: only calls that ask for the same effect are counted.
        effect = json_text.encode([name, operation, target, fields], "action")
        self._counts[effect] += 1
        document = {
            "connector": name, "operation": operation, "target": target, "fields": fields,
            "writes": spec.writes, "reversible": way_back, "key": key, "reverses": reverses,
            "effect": effect_form(connector, operation, target, fields),
            "call": f"{name}.{operation}#{self._counts[effect]}",
            "token": uuid.uuid4().hex, "types": dict(spec.fields),
        }  # fmt: skip
        text = json_text.encode(document, "action")
        # Send what was judged: a copy, because the handler may change its mapping in the meantime.
        kept = json.loads(text)["fields"]
        if not isinstance(kept, dict):
            raise InvalidInput(
                "fields is not a mapping; accepted: a mapping of names to values", field="fields"
            )
        return Plan(
            connector, spec, operation, target, kept, way_back, text, self._lease.tenant_id
        )  # fmt: skip

    def _find(self, name: str, operation: str) -> tuple[Connector, OperationSpec]:
        known = self._worker.connectors
        if name not in known:
            raise NotFound(
                f"connector {name} is not registered{did_you_mean(name, known)}", field="connector",
                hint=f"registered: {', '.join(sorted(known)) or 'none; use app.connector(…)'}",
            )  # fmt: skip
        found = known[name]
        if operation not in found.operations:
            raise NotFound(
                f"connector {name} has no operation {operation}{did_you_mean(operation, found.operations)}",
                field="operation",
                hint=f"it has {', '.join(sorted(found.operations))}",
            )  # fmt: skip
        return found, found.operations[operation]

    async def _settle_matter(self, plan: Plan) -> Any:
        for _ in range(TURN_LIMIT):
            proposed = await self._propose(plan)
            match proposed.answer:
                case "cached":
                    return proposed.result
                case "go":
                    return await self._perform(plan, proposed, is_first=True)
                case "doubt":
                    is_settled, result = await self._find_out(plan, proposed)
                    if is_settled:
                        return result
                case "held":
                    # An incident hold: not an attempt that failed. It is proposed again later.
                    raise Awaiting(f"hold.released.{proposed.hold_id}", seconds=proposed.retry_seconds)
                case "wait":
                    raise Awaiting(f"approval.decided.{proposed.approval_id}", proposed.approval_id)
                case _:
                    _refuse(plan, proposed)
        raise EffectUnknown(f"{plan.connector.name}.{plan.operation} could not be settled")

    async def _propose(self, plan: Plan, fault: str | None = None) -> Proposed:
        lease = self._lease
        call = calls.propose(
            self._session_key, lease.tenant_id, lease.unit_id, lease.lease_no, plan.document, fault
        )
        if fault is not None:
            return await self._ask(call)
        # One timeout may be a busy machine, so try again. A second timeout is recorded as a denial.
        for _ in range(2):
            try:
                return await self._ask(call, is_limited=True)
            except DatabaseFailure as error:
                if error.sqlstate != CANCELLED_SQLSTATE:
                    raise
        return await self._propose(plan, "policy_timeout")

    async def _perform(self, plan: Plan, proposed: Proposed, *, is_first: bool) -> Any:
        receipt_id = _number(proposed)
        try:
            effect = await plan.connector.perform(plan.action(proposed.idempotency_key))
        except (EffectRefused, EffectUnavailable) as error:
            _scrub(error, plan.fields)
            # Only the first attempt is known to have had no effect; an earlier attempt may have had one.
            if is_first:
                await self._settle(receipt_id, "void", {"reason": error.message})
            raise
        except EffectUnknown as error:
            _scrub(error, plan.fields)
            await self._leave_in_doubt(plan, receipt_id, error.message)
            raise
        except Exception as error:
            # An unexpected error: the effect is unknown. Its text may contain secrets, so it is not stored.
            what = f"connector {plan.connector.name} raised {type(error).__name__}"
            await self._leave_in_doubt(plan, receipt_id, what)
            raise EffectUnknown(what) from None
        return await self._confirm(receipt_id, effect)

    async def _leave_in_doubt(self, plan: Plan, receipt_id: int, reason: str) -> None:
        settled = await self._settle(receipt_id, "unconfirmed", {"reason": reason})
        if plan.spec.writes and not plan.spec.idempotent and not plan.spec.confirmable:
            raise Awaiting(settled["event"])

    async def _find_out(self, plan: Plan, proposed: Proposed) -> tuple[bool, Any]:
        """An earlier attempt may have had an effect: (True, result), or (False, None) if it had none."""
        spec, receipt_id = plan.spec, _number(proposed)
        if proposed.may_perform and (spec.idempotent or not spec.writes):
            return True, await self._perform(plan, proposed, is_first=False)
        if spec.confirmable:
            try:
                effect = await plan.connector.confirm(plan.action(proposed.idempotency_key))
            except EffectUnknown:
                pass
            except StepwellError as error:
                _scrub(error, plan.fields)
                raise
            else:
                if effect is not None:
                    return True, await self._confirm(receipt_id, effect)
                await self._settle(
                    receipt_id, "void", {"reason": "the other system reports that it was not done"}
                )
                return False, None
        settled = await self._settle(
            receipt_id, "unconfirmed", {"reason": "it is unknown whether the effect happened"}
        )
        raise Awaiting(settled["event"])

    async def _confirm(self, receipt_id: int, effect: Effect) -> Any:
        found = {
            "result": effect.result,
            "external_id": effect.external_id,
            "prior": effect.prior,
            "reversal": None if effect.reversal is None else asdict(effect.reversal),
            "usage": None if effect.usage is None else asdict(effect.usage),
        }
        return (await self._settle(receipt_id, "confirmed", found))["result"]

    async def _settle(self, receipt_id: int, outcome: str, effect: Mapping[str, Any]) -> dict[str, Any]:
        lease = self._lease
        try:
            text = json_text.encode(effect, "effect", nan_as_null=True)
        except InvalidInput as error:
            # The effect has happened, so record it without the result that cannot be stored.
            reason = f"its result cannot be stored: {error.message}"
            text = json_text.encode({"external_id": effect.get("external_id"), "reason": reason}, "effect")
        call = calls.settle(
            self._session_key, lease.tenant_id, lease.unit_id, lease.lease_no, receipt_id, outcome, text
        )
        return await self._ask(call)

    async def _ask(self, call: Call[T], *, is_limited: bool = False) -> T:
        """Perform a call; repeat it while the database is unavailable. Both calls of an action allow that."""
        for pause in PAUSES_SECONDS:
            try:
                return await self._worker.perform_action(call, is_limited=is_limited)
            except DatabaseUnavailable:
                await asyncio.sleep(pause)
        return await self._worker.perform_action(call, is_limited=is_limited)


def _canonical(connector: Connector, operation: str, target: str) -> str:
    """The target as policy judges it and as the connector sends it."""
    if not isinstance(target, str):
        raise InvalidInput("target is not a text", field="target")
    canonical = connector.canonical(operation, target)
    if connector.canonical(operation, canonical) != canonical:
        raise UsageError(
            f"connector {connector.name} has no canonical form of the target {target}",
            hint="canonical must return the same for the form that it returned",
            field="target",
        )
    return canonical


def _number(proposed: Proposed) -> int:
    assert proposed.receipt_id is not None, "go and doubt come with a receipt"
    return proposed.receipt_id


def _refuse(plan: Plan, proposed: Proposed) -> NoReturn:
    what = f"{plan.connector.name}.{plan.operation}"
    reason = proposed.reason or proposed.reason_code or proposed.answer
    match proposed.answer:
        case "deny":
            denied = PolicyDenied(f"policy denies {what}: {reason} ({proposed.reason_code})")
            denied.reason_code = proposed.reason_code or "rule"
            raise denied
        case "rejected":
            raise ApprovalRejected(f"approval {proposed.approval_id} for {what} was rejected")
        case "expired":
            raise ApprovalExpired(f"approval {proposed.approval_id} for {what} was not decided in time")
        case "cancelled":
            raise ApprovalCancelled(f"approval {proposed.approval_id} for {what} was withdrawn")
        case "conflict":
            raise ActionConflict(reason, field="key")
        case "busy":
            raise EffectInFlight(reason)
        case other:
            raise PolicyDenied(f"policy gave the unknown answer {other} on {what}")


def _scrub(error: StepwellError, fields: Mapping[str, Any]) -> None:
    """Remove from an error the values of fields whose names look like secrets."""
    message = redaction.text(error.message)
    for value in sorted(_secrets(fields), key=len, reverse=True):
        message = message.replace(value, "[redacted]")
    if message != error.message:
        error.message = message[:REASON_LIMIT]
        error.args = (error.message,)
        error.detail = None
    error.__cause__ = error.__context__ = None


def _secrets(value: Any, *, is_secret: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _secrets(item, is_secret=is_secret or redaction.is_secret_name(str(name)))
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item, is_secret=is_secret)
    elif is_secret and isinstance(value, str) and len(value) >= 4:
        yield value
