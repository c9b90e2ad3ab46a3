"""The chain of causes from a unit that does not run to the root: receives its number, returns causes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause; the first is that of the unit itself, the last one is the root."""

    place: int
    unit_id: int
    unit_name: str
    code: str
    sentence_en: str
    sentence_vi: str
    who: str | None
    # The call that helps, and the step, run or approval that it is made on.
    action: str | None
    target_id: int | None
    call_path: str | None
    needs: list[str] | None
    command: str | None
    # Without past runs it is a set time.
    expected_at: datetime | None
    past_runs: int | None


_COLUMNS = ", ".join(f"p.{field.name}" for field in fields(Cause))


def path(tenant: int, unit_id: int) -> Call[list[Cause]]:
    return Call(
        f"select {_COLUMNS} from stepwell.fn_unblock_path(%s, %s) as p order by p.place",
        (unit_id, tenant),
        lambda rows: [Cause(*row) for row in rows],
    )
