"""Check the blocks of a chain, from the first to the last: receives a reader, adds problems to a verdict.

A root or a count that does not match is always a problem, even if the record that differs cannot be named.
"""

from __future__ import annotations

from typing import Any

from stepwell.govern.audit_beside import check_beside
from stepwell.govern.audit_complete import check_complete
from stepwell.govern.audit_governed import GovernedCheck
from stepwell.govern.audit_places import event_place, name_records, position_of, sealed_record
from stepwell.govern.audit_retention import Retention
from stepwell.govern.audit_units import check_definitions, check_records, check_units
from stepwell.govern.audit_verdict import Verdict
from stepwell.govern.verify import (
    PROBLEM_LIMIT,
    block_hash,
    digest,
    event_leaf,
    genesis_hash,
    root,
    stream_entry,
)
from stepwell.store.calls.audit import AuditReader, BrokenLeaves, Chain, Leaves, Position

# So many events more than a block has are read, to find inserted events.
INSERTED_LIMIT = 1000

NEEDED = ("event_id", "at", "stream_id", "unit_id", "event_type", "actor_class")

Record = dict[str, Any]


class BlockWalk:
    """Checks each block against the blocks before it; `hashes` are the block hashes by number."""

    def __init__(self, reader: AuditReader, chain: Chain, verdict: Verdict) -> None:
        self.reader = reader
        self.chain = chain
        self.verdict = verdict
        self.archived = reader.archived()
        self.retention = Retention(reader, verdict)
        self.peaks: list[tuple[int, bytes]] = []
        self.hashes: dict[int, str] = {}
        # None: before everything, so that nothing can be hidden before the first event.
        self.last: Position | None = None
        self.seals_values = False

    def walk(self) -> None:
        chain, verdict = self.chain, self.verdict
        if genesis_hash(chain.genesis(digest(chain.salt).hex())) != chain.genesis_hash:
            verdict.say("altered", "the beginning of the chain", "its content does not match its hash")
        before, expected_no, sealed_at = chain.genesis_hash, 1, None
        for block in self.reader.blocks():
            number = int(block["block_no"])
            if None in block.values():
                verdict.say("altered", f"block {number}", "a field of its header is missing")
                return
            if number != expected_no:
                verdict.say("missing", f"block {expected_no}", f"the next block is {number}")
            elif block["previous_hash"] != before:
                verdict.say("altered", f"block {number}", "it is not chained to the block before it")
            self._check_header(block)
            self._check_events(block)
            self.hashes[number] = before = block["block_hash"]
            self._append(bytes.fromhex(before))
            self.last = (block["last_tx"], block["last_event_id"])
            expected_no, sealed_at = number + 1, block["sealed_at"]
            verdict.block_count += 1
            if len(verdict.problems) >= PROBLEM_LIMIT:
                return
        self._check_chain(expected_no - 1, before, sealed_at)
        self._check_rest()

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

    def _check_header(self, block: Record) -> None:
        place = f"block {block['block_no']}"
        if block_hash(self.chain.chain_id, block) != block["block_hash"]:
            self.verdict.say("altered", place, "the header does not match its hash")
        elif block["history_root"] != self._history_root().hex():
            self.verdict.say("altered", place, "its history root does not match the blocks before it")
        elif min(block["event_count"], block["stream_count"]) < 1:
            self.verdict.say("altered", place, "it has no events: nothing was sealed in it")
        elif self.last is not None and (block["first_tx"], block["first_event_id"]) <= self.last:
            self.verdict.say("reordered", place, "it begins before the end of the block before it")

    def _check_chain(self, last_no: int, head: str, sealed_at: str | None) -> None:
        """The row of the chain must have the end of the chain."""
        chain, verdict = self.chain, self.verdict
        if chain.block_count != last_no:
            detail = f"the chain had {chain.block_count} blocks and now ends before this one"
            verdict.say("truncated", f"block {last_no + 1}", detail)
        elif chain.head_hash != head:
            verdict.say("altered", f"block {last_no}", "the chain has another hash for it")
        elif (chain.last, chain.peaks, chain.sealed_at) != (
            self.last or (0, 0), [peak for _, peak in self.peaks], sealed_at
        ):  # fmt: skip
            verdict.say("altered", "the row of the chain", f"it does not match block {last_no}, the last one")

    def _check_events(self, block: Record) -> None:
        number, until = int(block["block_no"]), (block["last_tx"], block["last_event_id"])
        kept = self.reader.leaves(number)
        events = self.reader.events(self.last, until, block["event_count"] + INSERTED_LIMIT)
        if kept is None and self._is_archived(block):
            self._take_archived(block, events)
            return
        events = self._without_broken(events)
        carried = _carried(kept)
        records = [sealed_record(self.chain, event, carried.get(position_of(event))) for event in events]
        leaves = [event_leaf(self.chain.tenant_id, record) for record in records]
        self.verdict.event_count += len(records)
        for record in records:
            if record["at"][:7] in self.archived.months:
                detail = f"the log says that month {record['at'][:7]} was archived as a whole"
                self.verdict.say("inserted", event_place(record), detail)
        if root(leaves).hex() == block["event_root"] and len(leaves) == block["event_count"]:
            self._check_leaves(number, kept, records, leaves)
            self._check_streams(block, records, leaves)
            if records:
                check_beside(
                    self.reader, self.chain, self.verdict, records, self.seals_values, self.retention
                )
        else:
            self._find(block, kept, records, leaves)

    def _without_broken(self, events: list[Record]) -> list[Record]:
        """Events that lost a field that every event has are named by what is left of them."""
        whole = [event for event in events if None not in (event[name] for name in NEEDED)]
        for event in events:
            if event not in whole:
                detail = f"it has no {', '.join(name for name in NEEDED if event[name] is None)}"
                self.verdict.say("altered", f"event {event['tx']}/{event['event_id']}", detail)
        return whole

    def _is_archived(self, block: Record) -> bool:
        return {block["first_at"][:7], block["last_at"][:7]} <= self.archived.months

    def _take_archived(self, block: Record, events: list[Record]) -> None:
        self.verdict.archived_blocks.append(int(block["block_no"]))
        self.verdict.archived_event_count += block["event_count"]
        for event in events[:PROBLEM_LIMIT]:
            self.verdict.say("inserted", event_place(event), "all events of its block were archived")

    def _check_leaves(
        self, number: int, kept: Leaves | BrokenLeaves | None, records: list[Record], leaves: list[bytes]
    ) -> None:
        """The events are intact; the stored leaves must match them."""
        place = f"the leaves of block {number}"
        if kept is None:
            self.verdict.say("missing", place, "its events are intact")
        elif isinstance(kept, BrokenLeaves):
            self.verdict.say("altered", place, f"its events are intact, but {kept.detail}")
        elif (kept.hashes, kept.positions, kept.ats, kept.unit_ids, kept.event_types) != (
            leaves,
            [position_of(record) for record in records],
            [record["at"] for record in records],
            [record["unit_id"] for record in records],
            [record["event_type"] for record in records],
        ):
            self.verdict.say("altered", place, "its events are intact, but the leaves do not match them")
        elif self.seals_values and kept.values is None:
            self.verdict.say("altered", place, "they no longer say which events carry values")
        else:
            self.seals_values = kept.values is not None

    def _check_streams(self, block: Record, records: list[Record], leaves: list[bytes]) -> None:
        """The entries of the streams must be those of the events, and those that the header has."""
        held: dict[int, list[bytes]] = {}
        for record, leaf in zip(records, leaves, strict=True):
            held.setdefault(record["stream_id"], []).append(leaf)
        found = self.reader.stream_entries(int(block["block_no"]))
        wanted = [
            (one.stream_id, len(held[one.stream_id]),
             stream_entry(one.stream_id, one.previous_block_no, held[one.stream_id]))
            for one in found if one.stream_id in held
        ]  # fmt: skip
        hashes = [entry for _, _, entry in wanted]
        if (
            wanted != [(one.stream_id, one.event_count, one.entry_hash) for one in found]
            or root(hashes).hex() != block["stream_root"]
            or len(hashes) != block["stream_count"]
        ):
            place = f"the streams of block {block['block_no']}"
            self.verdict.say("altered", place, "they do not match its header")

    def _check_entries(self, block: Record) -> None:
        """A part of the block was archived: the hashes of its streams must still be those of the header."""
        hashes = [one.entry_hash for one in self.reader.stream_entries(int(block["block_no"]))]
        if root(hashes).hex() != block["stream_root"] or len(hashes) != block["stream_count"]:
            place = f"the streams of block {block['block_no']}"
            self.verdict.say("altered", place, "they do not match its header")

    def _find(
        self, block: Record, kept: Leaves | BrokenLeaves | None, records: list[Record], leaves: list[bytes]
    ) -> None:
        """The events do not match the header: name those that differ, or at least the block."""
        number, verdict = int(block["block_no"]), self.verdict
        if kept is None:
            verdict.say(
                "altered", f"block {number}", "its events changed; its leaves, which show which, are missing"
            )
            return
        detail = kept.detail if isinstance(kept, BrokenLeaves) else self._leaves_problem(block, kept)
        if isinstance(kept, BrokenLeaves) or detail is not None:
            verdict.say("altered", f"the leaves of block {number}", f"they do not match its header: {detail}")
            self._name_by_hash(block, kept, records, leaves)
            named = gone = 0
        else:
            named, gone = name_records(self.chain, verdict, kept, records, leaves, self.archived.months)
            verdict.archived_event_count += gone
            if gone:
                self._check_entries(block)
        # Where no record is named, all the missing ones were archived, or the block itself is the finding.
        if named == gone == 0:
            verdict.say(
                "altered", f"block {number}",
                f"it sealed {block['event_count']} events with another root than the {len(records)} events"
                " in the log; its leaves do not show which differ",
            )  # fmt: skip

    def _leaves_problem(self, block: Record, kept: Leaves) -> str | None:
        """Why the stored leaves of a block cannot be those that its header sealed."""
        positions = kept.positions
        if root(kept.hashes).hex() != block["event_root"] or len(positions) != block["event_count"]:
            return "they have another root or number"
        if sorted(set(positions)) != positions:
            return "they are not in order, or one is there twice"
        ends = (positions[0], positions[-1])
        if ends != (
            (block["first_tx"], block["first_event_id"]), (block["last_tx"], block["last_event_id"])
        ):  # fmt: skip
            return "they begin or end with another event"
        if (min(kept.ats), max(kept.ats)) != (block["first_at"], block["last_at"]):
            return "their times are others"
        return None

    def _name_by_hash(
        self, block: Record, kept: Leaves | BrokenLeaves, records: list[Record], leaves: list[bytes]
    ) -> None:
        """Only the hashes of the leaves are proven, if at all: name the records that have none of them."""
        if isinstance(kept, BrokenLeaves) or root(kept.hashes).hex() != block["event_root"]:
            return
        sealed = set(kept.hashes)
        for record, leaf in zip(records, leaves, strict=True):
            if leaf not in sealed:
                self.verdict.say("altered", event_place(record), "the block did not seal it like this")

    def _check_rest(self) -> None:
        """What belongs to no block, and what the log says of the months that it no longer has."""
        verdict, reader = self.verdict, self.reader
        for what, numbers in (("leaves", reader.leaf_blocks()), ("streams", reader.stream_blocks())):
            for number in sorted(numbers - set(self.hashes))[:PROBLEM_LIMIT]:
                verdict.say("inserted", f"the {what} of block {number}", "there is no such block")
        for stream_id, number in reader.broken_streams(PROBLEM_LIMIT):
            place = f"stream {stream_id} in block {number}"
            verdict.say("altered", place, "it names another block before it than the stream has")
        for what, unit_id in reader.unknown(self.archived, PROBLEM_LIMIT):
            verdict.say("inserted", f"the {what} of unit {unit_id}", "the log has no event of this unit")
        for unit_id in reader.absent(PROBLEM_LIMIT):
            verdict.say(
                "missing", f"unit {unit_id}", "its run has a definition with this step, but no row of it"
            )
        for tx, event_id in reader.impossible_events(PROBLEM_LIMIT):
            verdict.say("inserted", f"event {tx}/{event_id}", "no transaction has this number yet")
        check_units(reader, verdict, self.archived)
        check_definitions(reader, verdict, self.archived)
        check_records(reader, verdict, self.archived)
        governed = GovernedCheck(reader, self.chain, verdict, self.archived)
        governed.check()
        check_complete(reader, verdict, self.archived, governed.judged)
        for detail in dict.fromkeys(reader.unreadable):
            verdict.say("altered", "an event or a record beside the log", f"it cannot be read: {detail}")
        if not self.archived.is_whole:
            verdict.say(
                "altered", "the archived months", "the newest event about them names no months and no number"
            )
        if any(month >= self.archived.said_in for month in self.archived.months):
            detail = f"an event of {self.archived.said_in} says that a month which had not ended was archived"
            verdict.say("altered", "the archived months", detail)
        if verdict.archived_event_count != self.archived.event_count:
            verdict.say(
                "missing", "the archived months",
                f"the log says that they had {self.archived.event_count} sealed events;"
                f" {verdict.archived_event_count} are missing",
            )  # fmt: skip


def _carried(kept: Leaves | BrokenLeaves | None) -> dict[Position, list[str] | None]:
    if not isinstance(kept, Leaves) or kept.values is None:
        return {}
    return dict(zip(kept.positions, kept.values, strict=True))
