"""The words and colours of states in the report of a bundle.

They are those of the release and not of the database: whoever edits a text there must not change what a
bundle seems to say. A test compares them with the machines that the migrations declare.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from stepwell.translations import Translation

__all__ = ["STATES", "Look", "look"]


class Look(NamedTuple):
    """How a state is shown: its words, its sign, and the colours of text and background."""

    words: Translation
    sign: str
    fg: str
    bg: str


_GREY = ("#4B5563", "#F3F4F6")
_READY = ("#047857", "#ECFDF5")
_RUNNING = ("#FFFFFF", "#04875E")
_WAITING = ("#92400E", "#FEF3C7")
_STUCK = ("#FFFFFF", "#B45309")
_LATE = ("#B91C1C", "#FEE2E2")
_FAILED = ("#FFFFFF", "#DC2626")
_ENDED = ("#FFFFFF", "#991B1B")
_DONE = ("#FFFFFF", "#047857")

_WORK: Final = {
    "not_started": Look(Translation("Not started", "Chưa tới lượt"), "○", *_GREY),
    "ready": Look(Translation("Ready", "Sẵn sàng"), "▶", *_READY),
    "in_progress": Look(Translation("In progress", "Đang làm"), "►", *_RUNNING),
    "waiting": Look(Translation("Waiting", "Đang chờ"), "⏳", *_WAITING),
    "blocked": Look(Translation("Blocked", "Bị chặn"), "⚠", *_STUCK),
    "overdue": Look(Translation("Overdue", "Trễ hạn"), "⏰", *_LATE),
    "failed": Look(Translation("Failed", "Thất bại"), "✕", *_FAILED),
    "cannot_complete": Look(Translation("Cannot complete", "Không thể hoàn tất"), "⛔", *_ENDED),
    "completed": Look(Translation("Completed", "Hoàn thành"), "✓", *_DONE),
    "cancelled": Look(Translation("Cancelled", "Đã hủy"), "⊘", *_ENDED),
}
_SKIPPED: Final = {"skipped": Look(Translation("Skipped", "Bỏ qua"), "↷", *_GREY)}
# Scope of a state machine → state → how it is shown.
STATES: Final[dict[str, dict[str, Look]]] = {
    "workflow_run": {**_WORK, "paused": Look(Translation("Paused", "Tạm dừng"), "⏸", *_STUCK)},
    "step": {**_WORK, **_SKIPPED},
    "task": {**_WORK, **_SKIPPED},
    "job": _WORK,
    "approval": {
        "requested": Look(Translation("Requested", "Chờ duyệt"), "⏳", *_WAITING),
        "approved": Look(Translation("Approved", "Đã duyệt"), "✓", *_DONE),
        "rejected": Look(Translation("Rejected", "Bị từ chối"), "✕", *_FAILED),
        "expired": Look(Translation("Expired", "Hết hạn"), "⏰", *_LATE),
        "cancelled": _WORK["cancelled"],
    },
    "receipt": {
        "intended": Look(Translation("Intended", "Sắp thực hiện"), "▶", *_READY),
        "confirmed": Look(Translation("Confirmed", "Đã xác nhận"), "✓", *_DONE),
        "unconfirmed": Look(Translation("Unconfirmed", "Chưa xác nhận"), "⚠", *_STUCK),
        "void": Look(Translation("Void", "Không thực hiện"), "○", *_GREY),
        "reversed": Look(Translation("Reversed", "Đã hoàn tác"), "↷", *_GREY),
    },
}


def look(scope: str, state_code: str) -> Look | None:
    """How a state is shown; None for a state that the release does not know."""
    return STATES.get(scope, {}).get(state_code)
