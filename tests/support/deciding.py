"""The statement with which a reviewer reads an approval and decides it, for tests that speak SQL."""

from __future__ import annotations

PLACE = "%s"


def deciding(
    decision: str = PLACE, actor: str | None = PLACE, reason: str | None = None, tenant: int = 1
) -> str:
    """Takes the number of the approval, then a value for each PLACE; decides what is shown at that moment."""
    written = [
        PLACE if word == PLACE else "null" if word is None else f"'{word}'"
        for word in (decision, actor, reason)
    ]
    return (
        "with asked as (select %s::bigint as approval_id) select stepwell.fn_approval_decide("
        f"{tenant}, q.approval_id, {written[0]}, {written[1]}, coalesce((select a.shown_digest"
        f" from stepwell.v_approval as a where a.tenant_id = {tenant} and a.approval_id = q.approval_id),"
        f" repeat('0', 64)), {written[2]}) from asked as q"
    )
