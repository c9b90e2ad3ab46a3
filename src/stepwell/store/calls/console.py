"""What the console shows beside its lists: receives numbers, returns counts, reach and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwell.store.connection.call import Call, value


def navigation_counts(tenant: int, person: str) -> Call[dict[str, int]]:
    return Call("select stepwell.fn_navigation_counts(%s, %s)", (tenant, person), value)


def reach(tenant: int, act: str, run_ids: Sequence[int]) -> Call[dict[str, Any]]:
    """What an act on these runs would reach. Nothing is written."""
    return Call("select stepwell.fn_runs_reach(%s, %s, %s::bigint[])", (tenant, act, list(run_ids)), value)


def version_diff(tenant: int, workflow: str, before: int, after: int) -> Call[dict[str, Any]]:
    return Call("select stepwell.fn_workflow_diff(%s, %s, %s, %s)", (tenant, workflow, before, after), value)


def running(tenant: int, workflow: str, version_no: int) -> Call[dict[str, Any]]:
    return Call("select stepwell.fn_workflow_running(%s, %s, %s)", (tenant, workflow, version_no), value)
