"""Find things by a few letters: receives a text, returns runs, workflows, people, content and schedules."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found; `rank` 0 is an exact match."""

    kind: str
    id: str
    title: str
    detail: str | None
    rank: int


def search(tenant: int, text: str, limit: int) -> Call[list[Hit]]:
    return Call(
        "select h.kind, h.id, h.title, h.detail, h.rank from stepwell.fn_search(%s, %s, %s) as h"
        " order by h.rank, h.kind, h.title",
        (tenant, text, limit),
        lambda rows: [Hit(*row) for row in rows],
    )
