"""Make the files of an evidence bundle: receives the data of a run, returns file names and bytes.

The same run gives the same bytes: no file contains the present time, and every list is sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.errors import Conflict
from stepwell.govern import verify
from stepwell.govern.audit import sealed_record
from stepwell.govern.verify import EVENT_FIELDS, SEAL_EVENT, commitment, salt_of, write_json, write_lines
from stepwell.store.calls.audit import AuditReader, Chain, Leaves, Position, StreamEntry

SHAPE_PATHS_LIMIT = 200
SHAPE_DEPTH_LIMIT = 6
# In an object with more names than this the names are probably data: they are not shown.
SHAPE_NAMES_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a bundle: rows with metadata instead of values."""

    run: dict[str, Any]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    approvals: list[dict[str, Any]]
    receipts: list[dict[str, Any]]
    costs: list[dict[str, Any]]

    def files(self) -> dict[str, bytes]:
        return {
            "run.json": write_json(self.run),
            "inputs.json": write_json(self.inputs),
            "outputs.json": write_json(self.outputs),
            "decisions.json": write_json(self.decisions),
            "approvals.json": write_json(self.approvals),
            "receipts.json": write_json(self.receipts),
            "costs.json": write_json(self.costs),
            "verify.py": Path(verify.__file__).read_bytes(),
        }


def contents(
    found: Mapping[str, Any], chain: Chain, streams: Sequence[Mapping[str, int]], with_payloads: bool
) -> Contents:
    described: dict[str, list[dict[str, Any]]] = {}
    for value in found["values"]:
        described.setdefault(value["kind"], []).append(_described(value, chain.salt, with_payloads))
    by_label = {item["label"]: item for items in described.values() for item in items}
    receipts = [
        {
            **receipt,
            "content": {
                part: by_label[label]
                for part in ("request", "response", "prior", "reversal")
                if (label := f"receipt:{receipt['receipt_id']}:{part}") in by_label
            },
        }
        for receipt in found["receipts"]
    ]
    approvals = [
        {**approval, "about": by_label.get(f"approval:{approval['approval_id']}:about")}
        for approval in found["approvals"]
    ]
    run = {**found["run"], "steps": found["steps"], "streams": list(streams), "with_payloads": with_payloads}
    return Contents(
        run, [*described.get("input", []), *described.get("shown", [])],
        [*described.get("output", []), *described.get("failure", [])],
        found["decisions"], approvals, receipts, costs(found["receipts"]),
    )  # fmt: skip


def costs(receipts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
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


def shape(value: Any) -> list[str]:
    """The names in a value with their types, but without the values: `$.items[].price: number`."""
    found: dict[str, None] = {}
    _walk(value, "$", 0, found)
    paths = list(found)
    if len(paths) > SHAPE_PATHS_LIMIT:
        return [*paths[:SHAPE_PATHS_LIMIT], f"and {len(paths) - SHAPE_PATHS_LIMIT} more"]
    return paths


def _walk(value: Any, at: str, depth: int, found: dict[str, None]) -> None:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    found[f"{at}: {kinds.get(type(value), 'number')}"] = None
    if depth >= SHAPE_DEPTH_LIMIT:
        return
    if isinstance(value, dict):
        is_table = len(value) > SHAPE_NAMES_LIMIT
        for name in sorted(value):
            _walk(value[name], f"{at}.*" if is_table else f"{at}.{name}", depth + 1, found)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, f"{at}[]", depth + 1, found)


def _described(value: Mapping[str, Any], chain_salt: bytes, with_payloads: bool) -> dict[str, Any]:
    text, label = value["text"], value["label"]
    salt = salt_of(chain_salt, label)
    content = json.loads(text)
    made = {
        "label": label,
        "unit_id": value["unit_id"],
        "attempt": value["attempt"],
        "at": value["at"],
        "size": len(text.encode()),
        "commitment": commitment(salt, text),
        "shape": shape(content),
    }
    if value["kind"] == "failure" and isinstance(content, dict):
        made["error_type"] = str(content.get("type", "error"))[:200]
    return made | ({"value": text, "salt": salt.hex()} if with_payloads else {})


def proof_files(
    reader: AuditReader, chain: Chain, run: Mapping[str, Any], seal: Position, events: list[dict[str, Any]]
) -> dict[str, bytes]:
    """The proofs of the bundle: events, their hash paths to the roots of blocks, and the block headers."""
    return _Proofs(reader, chain, run, seal).files(events)


class _Proofs:
    def __init__(self, reader: AuditReader, chain: Chain, run: Mapping[str, Any], seal: Position) -> None:
        self.reader = reader
        self.chain = chain
        self.run = run
        head = reader.block_of(seal)
        if head is None:
            raise Conflict(f"the event {seal[0]}/{seal[1]} with the digest of the bundle is not sealed")
        self.head_no = head
        # Stream → its last block in the bundle; for the run itself, the block with the digest event.
        self.until = {stream["stream_id"]: stream["last_block_no"] for stream in run["streams"]}
        self.until[run["run_id"]] = head

    def files(self, events: list[dict[str, Any]]) -> dict[str, bytes]:
        entries = [
            entry
            for entry in self.reader.entries_of(sorted(self.until))
            if entry.block_no <= self.until[entry.stream_id]
        ]
        wanted = {(event["tx"], event["event_id"]) for event in events}
        places = self._places(sorted({entry.block_no for entry in entries}), wanted)
        shown, proofs = [], []
        for event in events:
            place = places.get((event["tx"], event["event_id"]))
            if place is not None and place["block_no"] <= self.until[event["stream_id"]]:
                shown.append(self._shown(event))
                proofs.append({"tx": event["tx"], "event_id": event["event_id"], **place})
        if len(shown) != sum(entry.event_count for entry in entries):
            raise Conflict(
                f"the events of run {self.run['run_id']} differ from the sealed events",
                hint="run 'stepwell audit verify'",
            )
        return {
            "events.jsonl": write_lines(shown),
            "proofs.jsonl": write_lines(proofs),
            "streams.jsonl": write_lines(self._streams(entries)),
            "chain.jsonl": write_lines(self._headers({self.head_no, *(entry.block_no for entry in entries)})),
        }

    def _leaves(self, block_no: int) -> Leaves:
        found = self.reader.leaves(block_no)
        if found is None:
            raise Conflict(
                f"events of run {self.run['run_id']} in block {block_no} were archived; its header is left",
                hint="use a bundle that was exported earlier, or restore this month of the log",
            )
        return found

    def _places(self, numbers: list[int], wanted: set[Position]) -> dict[Position, dict[str, Any]]:
        places: dict[Position, dict[str, Any]] = {}
        for number in numbers:
            leaves = self._leaves(number)
            tree = verify.levels(leaves.hashes)
            for at, position in enumerate(leaves.positions):
                if position in wanted:
                    places[position] = {"block_no": number, "leaf_no": at, "path": verify.path(tree, at)}
        return places

    def _shown(self, event: dict[str, Any]) -> dict[str, Any]:
        record = sealed_record(self.chain, event)
        made = {name: record[name] for name in EVENT_FIELDS}
        if event["payload"] is None or not (self.run["with_payloads"] or event["event_type"] == SEAL_EVENT):
            return made
        salt = salt_of(self.chain.salt, f"event:{event['tx']}:{event['event_id']}")
        return made | {"payload": event["payload"], "salt": salt.hex()}

    def _streams(self, entries: list[StreamEntry]) -> list[dict[str, Any]]:
        made = []
        trees: dict[int, tuple[dict[int, int], list[list[bytes]]]] = {}
        for entry in entries:
            if entry.block_no not in trees:
                held = self.reader.stream_entries(entry.block_no)
                tree = verify.levels([one.entry_hash for one in held])
                trees[entry.block_no] = ({one.stream_id: at for at, one in enumerate(held)}, tree)
            places, tree = trees[entry.block_no]
            at = places[entry.stream_id]
            made.append(
                {
                    "stream_id": entry.stream_id, "block_no": entry.block_no, "entry_no": at,
                    "previous_block_no": entry.previous_block_no, "event_count": entry.event_count,
                    "path": verify.path(tree, at),
                }
            )  # fmt: skip
        return made

    def _headers(self, numbers: set[int]) -> list[dict[str, Any]]:
        history = verify.levels(self.reader.block_hashes(self.head_no)) if self.head_no > 1 else [[]]
        blocks = [
            block
            if block["block_no"] == self.head_no
            else {**block, "history_path": verify.path(history, block["block_no"] - 1)}
            for block in self.reader.blocks(sorted(numbers))
        ]
        return [self.chain.genesis(verify.digest(self.chain.salt).hex()), *blocks]
