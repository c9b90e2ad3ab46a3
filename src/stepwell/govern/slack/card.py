"""Write an approval as a Slack message: receives a row of the database, returns Block Kit. No I/O.

All texts of people are escaped: a reason with <!channel> must not notify the whole channel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from stepwell.unit_numbers import short

APPROVE: Final = "stepwell_approve"
REJECT: Final = "stepwell_reject"
REASON: Final = "reason"
REASON_LENGTH_LIMIT: Final = 1_000
TIERS: Final = {1: "low", 2: "med", 3: "high"}
HEADS: Final = {
    "requested": "⏳ Approval needed",
    "approved": "✅ Approved",
    "rejected": "❌ Rejected",
    "expired": "⌛ Expired",
    "cancelled": "⊘ Withdrawn",
}
SECTION_LIMIT: Final = 2_900
SHORT_LIMIT: Final = 300
VALUE_LIMIT: Final = SECTION_LIMIT - 40
REASON_SHOWN_LIMIT: Final = SECTION_LIMIT - 300
# What a plan of replays would do.
REPEATED: Final = ("letters", "runs", "effects", "stages")
# What this message shows of an approval, and what identifies it. Nobody approves here what it does not know.
KNOWN: Final = frozenset({
    *REPEATED, "connector", "operation", "target", "fields", "reversible", "writes", "reverses", "workflow",
    "step", "run_id", "rule", "policy_version", "kind", "diff", "rules_hash", "action_hash",
    "idempotency_key",
})  # fmt: skip

Approval = Mapping[str, Any]
Block = dict[str, Any]


def draw(tenant_id: int, approval: Approval, *, has_buttons: bool = True) -> tuple[str, list[Block]]:
    """The text for notifications, and the blocks of the message."""
    state = str(approval["state_code"])
    head = HEADS.get(state, state)
    summary = _summary(approval)
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": head, "emoji": True}},
        _section(summary),
        {"type": "section", "fields": [_mrkdwn(text) for text in _facts(approval, state)]},
    ]
    about = approval.get("about") or {}
    if about.get("fields"):
        blocks.append(_section(f"*Proposed writes*\n```{_json(about['fields'])}```"))
    if about.get("diff"):
        blocks.append(_section(f"*Change of the rules*\n```{_json(about['diff'])}```"))
    if repeated := _repeated(about):
        blocks.append(_section(f"*What is repeated*\n```{_json(repeated)}```"))
    if approval.get("reason"):
        blocks.append(_section(_why(approval, about)))
    if votes := _votes(approval):
        blocks.append({"type": "context", "elements": [_mrkdwn(vote) for vote in votes]})
    if state == "requested" and has_buttons:
        is_whole = _is_whole(approval, about)
        if not is_whole:
            blocks.append({"type": "context", "elements": [_mrkdwn(_elsewhere(approval))]})
        value = f"{tenant_id}:{approval['approval_id']}:{approval['shown_digest']}"
        blocks.append(_buttons(value, can_approve=is_whole))
    return f"{head}: {summary}", blocks


def reason_dialog(tenant_id: int, approval_id: int, shown_digest: str, channel: str) -> Block:
    """The dialog that asks for the reason of a rejection."""
    place = {
        "tenant_id": tenant_id,
        "approval_id": approval_id,
        "shown_digest": shown_digest,
        "channel": channel,
    }
    return {
        "type": "modal",
        "callback_id": REJECT,
        "private_metadata": json.dumps(place),
        "title": _plain("Reject"),
        "submit": _plain("Reject"),
        "close": _plain("Cancel"),
        "blocks": [
            _section(f"Approval {approval_id} will be rejected finally. All reviewers see the reason."),
            {
                "type": "input",
                "block_id": REASON,
                "label": _plain("Reason"),
                "element": {
                    "type": "plain_text_input",
                    "action_id": REASON,
                    "multiline": True,
                    "max_length": REASON_LENGTH_LIMIT,
                },
            },
        ],
    }


def _summary(approval: Approval) -> str:
    about = approval.get("about") or {}
    asker = f"*{_short(approval['requested_by'])}* asks"
    step, run = _where(approval)
    if about.get("connector"):
        what = f"to *{_short(about['connector'])}.{_short(about.get('operation'))}*"
        undo = ", can be undone" if about.get("reversible") else ", cannot be undone"
        undoes = f", undoes receipt {short(int(about['reverses']))}" if about.get("reverses") else ""
        return f"{asker} {what} `{_code(about.get('target'))}`{step and f' in {step}'}{run}{undoes}{undo}."
    if about.get("kind") == "replay":
        return f"{asker} to replay {about.get('letters')} dead letters of {about.get('runs')} runs."
    if about.get("kind") == "policy":
        return f"{asker} to activate another policy."
    return f"{asker} to *{_short(approval['action'])}*{step and f' {step}'}{run}."


def _repeated(about: Mapping[str, Any]) -> dict[str, Any]:
    return {name: about[name] for name in REPEATED if name in about}


def _where(approval: Approval) -> tuple[str, str]:
    """The step or job of the approval, and its run; empty if there is none."""
    subject = str(approval.get("subject") or "")
    step = f"*{_short(subject)}*" if subject and not subject.startswith("run ") else ""
    workflow = approval.get("workflow")
    return step, f" of {_short(workflow)}, run {approval['run_id']}" if workflow else ""


def _facts(approval: Approval, state: str) -> Iterator[str]:
    yield f"*Tier*\n{TIERS.get(approval.get('tier', 1), 'low')}"
    yield f"*Approved*\n{approval.get('approve_count', 0)} of {approval.get('quorum', 1)}"
    acting = approval.get("acting")
    if acting and acting != approval.get("requested_by"):
        yield f"*Acting*\n{_short(acting)}"
    if state != "requested":
        by = approval.get("decided_by")
        if by:
            yield f"*Ended by*\n{_short(by)}"
        if approval.get("decided_epoch"):
            yield f"*Ended*\n{_date(approval['decided_epoch'])}"
    elif approval.get("expires_epoch"):
        yield f"*Until*\n{_date(approval['expires_epoch'])}"
    deciders = [*(approval.get("approvers") or ()), *_role(approval)]
    if deciders and state == "requested":
        yield f"*Decided by*\n{_cut(_escaped(', '.join(map(str, deciders))), SHORT_LIMIT)}"


def _role(approval: Approval) -> list[str]:
    return [f"role {approval['approver_role']}"] if approval.get("approver_role") else []


def _why(approval: Approval, about: Mapping[str, Any]) -> str:
    reason = _cut(_escaped(str(approval["reason"])), REASON_SHOWN_LIMIT)
    if not about.get("connector"):
        return f"*Reason*\n{reason}"
    version = f", version {about['policy_version']}" if about.get("policy_version") else ""
    rule = f" (rule {_short(about['rule'])}{version})" if about.get("rule") else ""
    return f"*Policy*{rule}\n{reason}"


def _votes(approval: Approval) -> list[str]:
    """One line for each decision, at most ten."""
    lines = []
    for vote in (approval.get("votes") or [])[:10]:
        word = "approved" if vote.get("decision") == "approve" else "rejected"
        reason = f": {_short(vote['reason'])}" if vote.get("reason") else ""
        lines.append(f"*{_short(vote.get('voter'))}* {word}{reason}")
    return lines


def _is_whole(approval: Approval, about: Mapping[str, Any]) -> bool:
    """Whether the message shows everything: nobody approves what was cut."""
    words = ("requested_by", "acting", "action", "subject", "workflow")
    about_words = ("connector", "operation", "target", "rule")
    names = [approval.get(name) or "" for name in words] + [about.get(name) or "" for name in about_words]
    deciders = ", ".join(map(str, [*(approval.get("approvers") or ()), *_role(approval)]))
    values = [about[name] for name in ("fields", "diff") if about.get(name)]
    values += [_repeated(about)]
    return (
        KNOWN.issuperset(about)
        and all(_is_short(str(name), SHORT_LIMIT) for name in (*names, deciders))
        and _is_short(str(approval.get("reason") or ""), REASON_SHOWN_LIMIT)
        and all(_is_short(_written(value), VALUE_LIMIT) for value in values)
    )


def _is_short(text: str, limit: int) -> bool:
    return len(_escaped(text)) <= limit


def _elsewhere(approval: Approval) -> str:
    number = approval["approval_id"]
    return (
        f"⚠ This message does not show everything. Approve on the page of approval {number},"
        f" or with `stepwell approvals approve {number}`."
    )


def _buttons(value: str, *, can_approve: bool) -> Block:
    approve = [_button(APPROVE, "Approve", "primary", value)] if can_approve else []
    return {
        "type": "actions",
        "block_id": "stepwell_decision",
        "elements": [*approve, _button(REJECT, "Reject…", "danger", value)],
    }


def _button(action_id: str, label: str, style: str, value: str) -> Block:
    return {"type": "button", "action_id": action_id, "text": _plain(label), "style": style, "value": value}


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text}


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}


def _date(epoch: int) -> str:
    """A time that Slack shows in the time zone of the reader."""
    otherwise = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{epoch}^{{date_short_pretty}} {{time}}|{otherwise}>"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _json(value: Any) -> str:
    return _cut(_escaped(_written(value)).replace("`", "ʼ"), VALUE_LIMIT)


def _short(value: Any) -> str:
    return _cut(_escaped(" ".join(str(value).split())), SHORT_LIMIT)


def _code(value: Any) -> str:
    return _short(value).replace("`", "ʼ")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    entity = head.rfind("&", -6)
    # Do not cut inside an entity such as &amp;, because Slack would show the rest of it.
    if entity >= 0 and ";" not in head[entity:]:
        head = head[:entity]
    return f"{head}…"
