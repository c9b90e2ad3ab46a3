"""Check the log against its seal: receives a reader, returns a verdict that names the wrong records.

The same code that checks a bundle offline computes the hashes here, from the raw rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from stepwell.errors import NotFound
from stepwell.govern.verify import (
    PROBLEM_LIMIT,
    Problem,
    block_hash,
    commitment,
    digest,
    event_leaf,
    genesis_hash,
    root,
    salt_of,
    stream_entry,
)
from stepwell.store.calls import audit
from stepwell.store.calls.audit import AuditReader, Chain, Leaves, Position

# So many events more than a block has are read, to find inserted events.
INSERTED_LIMIT = 1000


@dataclass(slots=True)
class Verdict:
    """What was checked, and the problems in the order of the log."""

    problems: list[Problem] = field(default_factory=list)
    chain_id: str | None = None
    head_hash: str | None = None
    block_count: int = 0
    event_count: int = 0
    unsealed_count: int = 0
    archived_blocks: list[int] = field(default_factory=list)
    archived_event_count: int = 0
    anchored_count: int = 0

    @property
    def is_intact(self) -> bool:
        return not self.problems

    def say(self, kind: str, place: str, detail: str) -> None:
        self.problems.append(Problem(kind, place, detail))


def verify_tenants(
    conninfo: str, tenant: str | None, head: str | None, anchored: Iterable[dict[str, Any]]
) -> tuple[dict[str, Verdict], list[str]]:
    """Check the chain of one tenant, or of all (None): verdicts by name, and the tenants not read."""
    blocks = list(anchored)
    with audit.reading(conninfo, 0) as reader:
        known = reader.tenants()
    if tenant is not None and tenant not in known:
        raise NotFound(
            f"tenant {tenant} does not exist", field="tenant", hint="'stepwell tenants list' shows them"
        )
    chosen = known if tenant is None else {tenant: known[tenant]}
    verdicts = {}
    for name, tenant_id in chosen.items():
        with audit.reading(conninfo, tenant_id) as reader:
            verdicts[name] = verify_log(reader, head, blocks)
    return verdicts, [name for name in known if name not in chosen]


def verify_log(
    reader: AuditReader, head: str | None = None, anchored: Iterable[dict[str, Any]] = ()
) -> Verdict:
    """Check the whole chain of one tenant; stop at PROBLEM_LIMIT problems."""
    verdict = Verdict()
    chain = reader.chain()
    hashes: dict[int, str] = {}
    if chain is not None:
        verdict.chain_id = chain.chain_id
        hashes = _Walk(reader, chain, verdict).walk()
        verdict.unsealed_count = reader.unsealed_count(chain)
    if hashes:
        verdict.head_hash = hashes[max(hashes)]
    if head is not None and head not in hashes.values():
        verdict.say(
            "truncated", "the chain", f"no block has the hash {head}: the chain was cut off or made again"
        )
    _check_anchor(verdict, hashes, list(anchored), reader.other_chains())
    return verdict


def _check_anchor(
    verdict: Verdict, hashes: dict[int, str], anchored: Sequence[dict[str, Any]], others: set[str]
) -> None:
    """`others` are the chains of other tenants: an anchor may have the blocks of all tenants."""
    mine = [block for block in anchored if block["chain_id"] == verdict.chain_id]
    if not mine and any(block["chain_id"] not in others for block in anchored):
        verdict.say(
            "truncated", "the chain", "the anchor has only other chains: this chain was started again"
        )
    numbers = sorted({block["block_no"] for block in mine})
    verdict.anchored_count = len(numbers)
    for block in sorted(mine, key=lambda block: int(block["block_no"])):
        place = f"block {block['block_no']}"
        found = hashes.get(block["block_no"])
        if found is None:
            verdict.say(
                "truncated", place, f"it is anchored, but the chain ends with block {max(hashes, default=0)}"
            )
        elif found != block["block_hash"]:
            verdict.say("altered", place, "the anchor has another hash for it: the chain was made again")
    for before, after in pairwise(numbers):
        if after != before + 1:
            verdict.say("missing", f"block {before + 1}", "the anchor does not have it")


class _Walk:
    """Checks the blocks from the first to the last, each against the blocks before it."""

    def __init__(self, reader: AuditReader, chain: Chain, verdict: Verdict) -> None:
        self.reader = reader
        self.chain = chain
        self.verdict = verdict
        self.archived = reader.archived_months() - reader.existing_months()
        self.peaks: list[tuple[int, bytes]] = []
        self.hashes: dict[int, str] = {}
        self.last: Position = (0, 0)

    def walk(self) -> dict[int, str]:
        chain, verdict = self.chain, self.verdict
        if genesis_hash(chain.genesis(digest(chain.salt).hex())) != chain.genesis_hash:
            verdict.say("altered", "the beginning of the chain", "its content does not match its hash")
        before, expected_no = chain.genesis_hash, 1
        for block in self.reader.blocks():
            number = int(block["block_no"])
            if number != expected_no:
                verdict.say("missing", f"block {expected_no}", f"the next block is {number}")
            elif block["previous_hash"] != before:
                verdict.say("altered", f"block {number}", "it is not chained to the block before it")
            self._check_header(block)
            self._check_events(block)
            self.hashes[number] = before = block["block_hash"]
            self._append(bytes.fromhex(before))
            self.last = (block["last_tx"], block["last_event_id"])
            expected_no = number + 1
            verdict.block_count += 1
            if len(verdict.problems) >= PROBLEM_LIMIT:
                return self.hashes
        if chain.block_count != expected_no - 1:
            detail = f"the chain had {chain.block_count} blocks and now ends before this one"
            verdict.say("truncated", f"block {expected_no}", detail)
        elif chain.head_hash != before:
            verdict.say("altered", f"block {expected_no - 1}", "the chain has another hash for it")
        return self.hashes

    def _append(self, found: bytes) -> None:
        size = 1
        while self.peaks and self.peaks[-1][0] == size:
            found, size = digest(b"\x01", self.peaks.pop()[1], found), size * 2
        self.peaks.append((size, found))

    def _history_root(self) -> bytes:
        if not self.peaks:
            return digest()
        found = self.peaks[-1][1]
        for _, peak in reversed(self.peaks[:-1]):
            found = digest(b"\x01", peak, found)
        return found

    def _check_header(self, block: dict[str, Any]) -> None:
        place = f"block {block['block_no']}"
        if block_hash(self.chain.chain_id, block) != block["block_hash"]:
            self.verdict.say("altered", place, "the header does not match its hash")
        elif block["history_root"] != self._history_root().hex():
            self.verdict.say("altered", place, "its history root does not match the blocks before it")
        elif (block["first_tx"], block["first_event_id"]) <= self.last:
            self.verdict.say("reordered", place, "it begins before the end of the block before it")

    def _check_events(self, block: dict[str, Any]) -> None:
        number = int(block["block_no"])
        kept = self.reader.leaves(number)
        if kept is None and self._is_archived(block):
            self.verdict.archived_blocks.append(number)
            self.verdict.archived_event_count += block["event_count"]
            return
        until = (block["last_tx"], block["last_event_id"])
        records = [
            sealed_record(self.chain, event)
            for event in self.reader.events(self.last, until, block["event_count"] + INSERTED_LIMIT)
        ]
        leaves = [event_leaf(self.chain.tenant_id, record) for record in records]
        self.verdict.event_count += len(records)
        if root(leaves).hex() == block["event_root"] and len(leaves) == block["event_count"]:
            self._check_index(number, kept, records, leaves)
            self._check_streams(block, records, leaves)
        elif kept is None:
            self.verdict.say(
                "altered", f"block {number}", "its events changed; its leaves, which show which, are missing"
            )
        else:
            if root(kept.hashes).hex() != block["event_root"]:
                self.verdict.say("altered", f"the leaves of block {number}", "they do not match its header")
            self._locate(kept, records, leaves)

    def _is_archived(self, block: dict[str, Any]) -> bool:
        return {_month(block["first_at"]), _month(block["last_at"])} <= self.archived

    def _check_index(
        self, number: int, kept: Leaves | None, records: list[dict[str, Any]], leaves: list[bytes]
    ) -> None:
        """The events are intact; the stored leaves must match them."""
        place = f"the leaves of block {number}"
        if kept is None:
            self.verdict.say("missing", place, "its events are intact")
        elif (kept.hashes, kept.positions, kept.unit_ids, kept.event_types) != (
            leaves,
            [_position(record) for record in records],
            [record["unit_id"] for record in records],
            [record["event_type"] for record in records],
        ):
            self.verdict.say("altered", place, "its events are intact, but the leaves do not match them")

    def _check_streams(
        self, block: dict[str, Any], records: list[dict[str, Any]], leaves: list[bytes]
    ) -> None:
        held: dict[int, list[bytes]] = {}
        for record, leaf in zip(records, leaves, strict=True):
            held.setdefault(record["stream_id"], []).append(leaf)
        previous = {
            entry.stream_id: entry.previous_block_no
            for entry in self.reader.stream_entries(int(block["block_no"]))
        }
        entries = [stream_entry(stream, previous.get(stream, -1), held[stream]) for stream in sorted(held)]
        if root(entries).hex() != block["stream_root"]:
            self.verdict.say(
                "altered", f"the streams of block {block['block_no']}", "they do not match its header"
            )  # fmt: skip

    def _locate(self, kept: Leaves, records: list[dict[str, Any]], leaves: list[bytes]) -> None:
        """Name every record that differs from its seal, in the order of the log."""
        now = {_position(record): (record, leaf) for record, leaf in zip(records, leaves, strict=True)}
        then = dict(zip(kept.positions, range(len(kept.positions)), strict=True))
        changed = [p for p in then if p in now and now[p][1] != kept.hashes[then[p]]]
        gone = [p for p in then if p not in now and _month(kept.ats[then[p]]) not in self.archived]
        new = [p for p in now if p not in then]
        self.verdict.archived_event_count += len([p for p in then if p not in now]) - len(gone)
        wanted = {kept.hashes[then[p]]: p for p in (*changed, *gone)}
        moved = {}
        for position in (*changed[:INSERTED_LIMIT], *new[:INSERTED_LIMIT]):
            origin = self._origin(now[position][0], wanted)
            if origin is not None:
                moved[position] = origin
        for position in sorted({*changed, *gone, *new}):
            if position in moved:
                place, detail = _place(now[position][0]), f"it was at {_text(moved[position])}"
                self.verdict.say("reordered", place, detail)
            elif position in new:
                self.verdict.say(
                    "inserted", _place(now[position][0]), "it did not exist when the block was sealed"
                )
            else:
                at = then[position]
                before = f"event {_text(position)} ({kept.event_types[at]}, unit {kept.unit_ids[at]})"
                if position not in now:
                    if position not in moved.values():
                        self.verdict.say("missing", before, "it existed when the block was sealed")
                else:
                    self.verdict.say("altered", before, _difference(kept, at, now[position][0]))

    def _origin(self, record: dict[str, Any], wanted: dict[bytes, Position]) -> Position | None:
        """The position of a record when it was sealed, if only its position changed."""
        for position in wanted.values():
            tx, event_id = position
            tried = sealed_record(self.chain, {**record, "tx": tx, "event_id": event_id})
            if (
                position != _position(record)
                and wanted.get(event_leaf(self.chain.tenant_id, tried)) == position
            ):
                return position
        return None


def sealed_record(chain: Chain, event: dict[str, Any]) -> dict[str, Any]:
    """An event with size and commitment of its payload, as the leaf has them."""
    payload = event["payload"]
    if payload is None:
        return {**event, "payload_size": None, "payload_commitment": None}
    salt = salt_of(chain.salt, f"event:{event['tx']}:{event['event_id']}")
    return {
        **event,
        "payload_size": len(payload.encode()),
        "payload_commitment": commitment(salt, payload),
    }


def _difference(kept: Leaves, at: int, record: dict[str, Any]) -> str:
    """The change, as far as it is known: the leaves store only unit, type, time and hash."""
    told = []
    if kept.unit_ids[at] != record["unit_id"]:
        told.append(f"its unit is now {record['unit_id']}")
    if kept.event_types[at] != record["event_type"]:
        told.append(f"its type is now {record['event_type']}")
    if kept.ats[at] != datetime.fromisoformat(record["at"]):
        told.append(f"its time is now {record['at']}")
    return ", ".join(told) or "its state, actor, references or payload changed"


def _position(record: dict[str, Any]) -> Position:
    return (record["tx"], record["event_id"])


def _text(position: Position) -> str:
    return f"{position[0]}/{position[1]}"


def _place(record: dict[str, Any]) -> str:
    return f"event {_text(_position(record))} ({record['event_type']}, unit {record['unit_id']})"


def _month(at: str | datetime) -> date:
    found = datetime.fromisoformat(at) if isinstance(at, str) else at
    return found.astimezone(UTC).date().replace(day=1)
