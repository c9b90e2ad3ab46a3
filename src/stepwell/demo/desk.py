"""The other system of the demo: a connector that keeps tickets and refunds as files of a folder.

One file for each key, so a repeat changes nothing; a file that is removed undoes the effect.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepwell.connectors.address import path_below
from stepwell.connectors.base import (
    Action,
    Effect,
    OperationSpec,
    Reversal,
    check_canonical,
    no_such_operation,
)

_WRITES = OperationSpec(writes=True, idempotent=True, reversible=True, confirmable=True)
_FINAL = OperationSpec(writes=True, idempotent=True, reversible=False, confirmable=True)
_READS = OperationSpec(writes=False, idempotent=True, reversible=False, confirmable=True)


class DeskConnector:
    """`ticket`, `refund` and `restart` write a file; `remove` deletes one; `read` lists a folder."""

    name = "desk"
    operations: Mapping[str, OperationSpec] = {
        "read": _READS,
        "ticket": _WRITES,
        "refund": _WRITES,
        "restart": _FINAL,
        "remove": _FINAL,
    }

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def canonical(self, operation: str, target: str) -> str:
        return path_below(target)

    async def perform(self, action: Action) -> Effect:
        check_canonical(self, action)
        if action.operation not in self.operations:
            raise no_such_operation(self.name, action.operation, self.operations)
        return await asyncio.to_thread(self._perform, action)

    async def confirm(self, action: Action) -> Effect | None:
        place = self._place(action)
        return Effect(json.loads(place.read_text())) if place.is_file() else None

    def _perform(self, action: Action) -> Effect:
        place = self._place(action)
        if action.operation == "read":
            return Effect({"open": len(list(self._folder.glob("*.json")))})
        if action.operation == "remove":
            (self._folder / action.target.rpartition("/")[2]).unlink(missing_ok=True)
            return Effect({"removed": action.target})
        document: dict[str, Any] = {"id": place.stem, "target": action.target, **action.fields}
        self._folder.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(document, ensure_ascii=False))
        reversal = (
            Reversal("remove", f"/files/{place.name}")
            if self.operations[action.operation].reversible
            else None
        )
        return Effect(document, external_id=place.stem, reversal=reversal)

    def _place(self, action: Action) -> Path:
        digest = hashlib.sha256(action.idempotency_key.encode()).hexdigest()[:12]
        return self._folder / f"{action.operation}-{digest}.json"
