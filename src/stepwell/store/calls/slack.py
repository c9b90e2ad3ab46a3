"""Calls for approvals in Slack: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class DueCard:
    """An approval whose Slack message is missing or outdated. `face` is a short text of what it must show."""

    approval_id: int
    channel: str
    message_ts: str | None
    try_count: int
    face: str
    approval: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SlackUser:
    slack_user_id: str
    person_name: str
    is_active: bool
    mapped_at: datetime
    mapped_by: str


@dataclass(frozen=True, slots=True)
class LateCard:
    """A message that could not be sent or changed yet."""

    approval_id: int
    channel: str
    try_count: int
    next_try_at: datetime
    last_error: str


_USER = "u.slack_user_id, u.person_name, u.is_active, u.mapped_at, u.mapped_by"


def take_cards(tenant: int, channel: str, limit: int, hold_seconds: int) -> Call[list[DueCard]]:
    return Call(
        "select c.approval_id, c.channel, c.message_ts, c.try_count, c.face, c.approval"
        " from stepwell.fn_slack_cards_take(%s, %s, %s, %s) as c order by c.approval_id",
        (tenant, channel, limit, hold_seconds),
        lambda rows: [DueCard(*row) for row in rows],
    )


def note_card(
    tenant: int,
    approval_id: int,
    *,
    message_ts: str | None = None,
    face: str | None = None,
    is_final: bool = False,
    error: str | None = None,
    retry_seconds: int | None = None,
) -> Call[None]:
    return Call(
        "select stepwell.fn_slack_card_note(%s, %s, %s, %s, %s, %s, %s)",
        (tenant, approval_id, message_ts, face, is_final, error, retry_seconds),
        lambda rows: None,
    )


def accept_callback(tenant: int, signature: str, sent_epoch: int) -> Call[None]:
    return Call(
        "select stepwell.fn_slack_callback_accept(%s, %s, %s)",
        (tenant, signature, sent_epoch),
        lambda rows: None,
    )


def map_user(tenant: int, slack_user_id: str, person: str, actor: str) -> Call[bool]:
    """True if this call changed something."""
    return Call(
        "select stepwell.fn_slack_user_map(%s, %s, %s, %s)",
        (tenant, slack_user_id, person, actor),
        lambda rows: bool(rows[0][0]),
    )


def unmap_user(tenant: int, slack_user_id: str) -> Call[bool]:
    return Call(
        "select stepwell.fn_slack_user_unmap(%s, %s)",
        (tenant, slack_user_id),
        lambda rows: bool(rows[0][0]),
    )


def users(tenant: int, limit: int) -> Call[list[SlackUser]]:
    return Call(
        f"select {_USER} from stepwell.v_slack_user as u where u.tenant_id = %s"
        " order by u.person_name limit %s",
        (tenant, limit),
        lambda rows: [SlackUser(*row) for row in rows],
    )


def user(tenant: int, slack_user_id: str) -> Call[SlackUser | None]:
    return Call(
        f"select {_USER} from stepwell.fn_slack_user_find(%s, %s) as u",
        (tenant, slack_user_id),
        lambda rows: SlackUser(*rows[0]) if rows else None,
    )


def decide(
    tenant: int, slack_user_id: str, approval_id: int, decision: str, shown_digest: str, reason: str | None
) -> Call[str]:
    """Decide as the person of the Slack account."""
    return Call(
        "select stepwell.fn_slack_approval_decide(%s, %s, %s, %s, %s, %s)",
        (tenant, slack_user_id, approval_id, decision, shown_digest, reason),
        lambda rows: str(rows[0][0]),
    )


def late_cards(tenant: int, limit: int) -> Call[list[LateCard]]:
    return Call(
        "select c.approval_id, c.channel, c.try_count, c.next_try_at, c.last_error"
        " from stepwell.slack_card as c"
        " where c.tenant_id = %s and not c.is_final and c.last_error is not null"
        " order by c.approval_id limit %s",
        (tenant, limit),
        lambda rows: [LateCard(*row) for row in rows],
    )
