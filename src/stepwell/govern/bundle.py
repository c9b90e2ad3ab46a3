"""Make the files of an evidence bundle: receives a run and its sealed events, returns file names and bytes.

What the files say is derived from the sealed events, by the code of the verifier. The same run gives the same
bytes: no file contains the present time, and every list is sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.errors import Conflict
from stepwell.govern import verify
from stepwell.govern.audit_places import sealed_record
from stepwell.govern.single_file import single_file
from stepwell.govern.verify import EVENT_FIELDS, Story, commitment, run_facts, salt_of, value_hash
from stepwell.store.calls.audit import AuditReader, BrokenLeaves, Chain, Position, StreamEntry

# The verifier in JavaScript: one file, also in the console.
SCRIPT = Path(__file__).with_name("verify.mjs")

# Most trees of leaves that are kept at once: a full block has 10,000 leaves.
KNOWN_TREES = 16
# The levels of a hash tree, leaves first.
Tree = list[list[bytes]]


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a bundle: documents that follow from the events, and the values beside the log."""

    documents: dict[str, Any]
    values: list[dict[str, Any]]
    graph: bytes

    def files(self) -> dict[str, bytes]:
        return {
            **{name: verify.write_json(document) for name, document in self.documents.items()},
            "values.json": verify.write_json(self.values),
            "graph.json": self.graph,
            "verify.py": single_file(),
            "verify.mjs": SCRIPT.read_bytes(),
        }

    @property
    def run(self) -> dict[str, Any]:
        found: dict[str, Any] = self.documents["run.json"]
        return found


@dataclass(frozen=True, slots=True)
class Text:
    """A value of an approval or a receipt, as the text that is hashed."""

    label: str
    text: str


def contents(
    reader: AuditReader, chain: Chain, found: Mapping[str, Any], events: Sequence[Mapping[str, Any]],
    streams: Sequence[Mapping[str, int]], with_payloads: bool,
) -> Contents:  # fmt: skip
    """The documents and values that the shown events prove. Nothing else of the database is used."""
    run_id = int(found["run"]["run_id"])
    story = Story(run_id, events)
    values = [
        *_carried_values(reader, chain, run_id, events),
        *_governed_values(chain, story, found["texts"]),
    ]
    shown = sorted(values, key=lambda value: str(value["label"]))
    facts = run_facts(run_id, shown)
    graph = b"null\n" if facts["graph_hash"] is None else found["run"]["graph"].encode()
    claims: dict[str, Any] = {"run_id": run_id, "streams": list(streams), "with_payloads": with_payloads}
    if found["run"]["is_development"]:
        claims["mode"] = "development"
    documents = story.documents(claims, chain.tenant_id, facts, json.loads(graph))
    if not with_payloads:
        shown = [{**value, "value": None, "salt": None} for value in shown]
    return Contents(documents, shown, graph)


def _carried_values(
    reader: AuditReader, chain: Chain, run_id: int, events: Sequence[Mapping[str, Any]]
) -> Iterable[dict[str, Any]]:
    """Input, outputs, failures and what people saw, as far as the seal has their hashes."""
    carried: dict[int, set[str]] = {}
    for event in events:
        if event["stream_id"] == run_id:
            carried.setdefault(event["unit_id"], set()).update(event["values"])
    for value in reader.values(sorted(carried)):
        made = described(chain, value.label, value.unit_id, value.at, value.text, value.facts)
        if value_hash(*(made[name] for name in verify.VALUE_FIELDS)) in carried[value.unit_id]:
            yield made


def _governed_values(chain: Chain, story: Story, texts: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    """The values of approvals and receipts whose hashes are in the payloads of their events."""
    for label, told in story.digests.items():
        if label in texts:
            yield described(chain, label, told["unit_id"], told["at"], texts[label], [])


def described(
    chain: Chain, label: str, unit_id: int, at: str, text: str, facts: Sequence[Any]
) -> dict[str, Any]:
    salt = salt_of(chain.salt, label)
    return {
        "label": label, "unit_id": unit_id, "at": at, "facts": list(facts), "size": len(text.encode()),
        "commitment": commitment(salt, text), "shape": verify.shape(text), "value": text, "salt": salt.hex(),
    }  # fmt: skip


def shown_event(chain: Chain, event: dict[str, Any], carried: Sequence[str], with_payloads: bool) -> Any:
    """An event as a line of the bundle: its sealed fields, what it carries, its payload where it is shown.

    Raises Conflict for an event of an earlier release whose payload has values that may not be shown.
    """
    record = sealed_record(chain, event)
    made = {name: record[name] for name in EVENT_FIELDS}
    made |= {"values": list(carried), "payload": None, "salt": None}
    if not verify.must_show(made, with_payloads):
        return made
    if not with_payloads and not _is_metadata(event):
        raise Conflict(
            f"event {event['tx']}/{event['event_id']} ({event['event_type']}) was written by an earlier"
            " release and contains values; a bundle without values cannot show it",
            hint="export the run with --payloads",
        )
    salt = salt_of(chain.salt, f"event:{event['tx']}:{event['event_id']}")
    return made | {"payload": event["payload"], "salt": salt.hex()}


def _is_metadata(event: Mapping[str, Any]) -> bool:
    """Earlier releases wrote what an approval was about, and the error of an action, into the payload."""
    payload = json.loads(event["payload"])
    if event["event_type"] == "approval.requested":
        return "about" not in payload or verify.value_digest(payload["about"]) is not None
    is_receipt = event["event_type"].startswith("receipt.")
    return not (is_receipt and event["actor_class"] == "executor_worker" and "reason" in payload)


@dataclass(slots=True)
class Known:
    """Hash trees and headers of blocks, which never change: the bundles of one pass share them.

    The keys are the identity of the chain and the number of a block. The largest number of events is that
    at the begin of the pass.
    """

    event_limit: int | None = None

    leaves: dict[tuple[str, int], Tree] = field(default_factory=dict)
    streams: dict[tuple[str, int], tuple[dict[int, int], Tree]] = field(default_factory=dict)
    history: dict[tuple[str, int], Tree] = field(default_factory=dict)
    headers: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    def headers_of(self, reader: AuditReader, chain: Chain, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """The headers of blocks, in the order of their numbers; one that does not exist is left out."""
        wanted = sorted(set(numbers))
        unknown = [number for number in wanted if (chain.chain_id, number) not in self.headers]
        for block in reader.blocks(unknown) if unknown else ():
            self.headers[chain.chain_id, block["block_no"]] = block
        return [
            self.headers[chain.chain_id, number]
            for number in wanted
            if (chain.chain_id, number) in self.headers
        ]


class Proofs:
    """The events of streams with their hash paths to the roots of blocks, and the block headers.

    `until` has the last block of each stream.
    """

    def __init__(
        self, reader: AuditReader, chain: Chain, run_id: int, until: Mapping[int, int], known: Known
    ) -> None:
        self.reader = reader
        self.known = known
        self.chain = chain
        self.run_id = run_id
        self.until = until
        self.entries = [
            entry for entry in reader.entries_of(sorted(until)) if entry.block_no <= until[entry.stream_id]
        ]
        self.places: dict[Position, dict[str, Any]] = {}
        self.carried: dict[Position, list[str]] = {}

    def shown(self, events: Sequence[dict[str, Any]], with_payloads: bool) -> list[dict[str, Any]]:
        """The lines of events.jsonl: every event up to the last block of its stream."""
        self._find({(event["tx"], event["event_id"]) for event in events})
        found = []
        for event in events:
            position = (event["tx"], event["event_id"])
            place = self.places.get(position)
            if place is not None and place["block_no"] <= self.until[event["stream_id"]]:
                found.append(shown_event(self.chain, event, self.carried.get(position, []), with_payloads))
        if len(found) != sum(entry.event_count for entry in self.entries):
            raise Conflict(
                f"the events of run {self.run_id} differ from the sealed events",
                hint="run 'stepwell audit verify'",
            )
        return found

    def files(self, events: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
        proofs = [
            {"tx": event["tx"], "event_id": event["event_id"], **self.places[event["tx"], event["event_id"]]}
            for event in events
        ]
        numbers = {self.until[self.run_id], *(entry.block_no for entry in self.entries)}
        return {
            "events.jsonl": verify.write_lines(events),
            "proofs.jsonl": verify.write_lines(proofs),
            "streams.jsonl": verify.write_lines(self._streams()),
            "chain.jsonl": verify.write_lines(self._headers(numbers)),
        }

    def _find(self, wanted: set[Position]) -> None:
        for number in sorted({entry.block_no for entry in self.entries}):
            tree = self._tree(number)
            for position, (at, carried) in self.reader.places(number).items():
                if position in wanted:
                    self.places[position] = {
                        "block_no": number, "leaf_no": at, "path": verify.path(tree, at)
                    }  # fmt: skip
                    self.carried[position] = carried

    def _tree(self, block_no: int) -> Tree:
        key = (self.chain.chain_id, block_no)
        if key not in self.known.leaves:
            found = self.reader.leaf_hashes(block_no)
            if isinstance(found, BrokenLeaves):
                raise Conflict(
                    f"the leaves of block {block_no} cannot be read: {found.detail}",
                    hint="run 'stepwell audit verify'",
                )
            if found is None:
                raise Conflict(
                    f"events of run {self.run_id} in block {block_no} were archived; its header is left",
                    hint="use a bundle that was exported earlier, or restore this month of the log",
                )
            if len(self.known.leaves) >= KNOWN_TREES:
                del self.known.leaves[next(iter(self.known.leaves))]
            self.known.leaves[key] = verify.levels(found)
        return self.known.leaves[key]

    def _streams(self) -> list[dict[str, Any]]:
        made = []
        for entry in self.entries:
            key = (self.chain.chain_id, entry.block_no)
            if key not in self.known.streams:
                self.known.streams[key] = _entry_tree(self.reader.stream_entries(entry.block_no))
            places, tree = self.known.streams[key]
            at = places[entry.stream_id]
            made.append(
                {
                    "stream_id": entry.stream_id, "block_no": entry.block_no, "entry_no": at,
                    "previous_block_no": entry.previous_block_no, "event_count": entry.event_count,
                    "path": verify.path(tree, at),
                }
            )  # fmt: skip
        return sorted(made, key=lambda entry: (entry["stream_id"], entry["block_no"]))

    def _headers(self, numbers: set[int]) -> list[dict[str, Any]]:
        head = max(numbers)
        key = (self.chain.chain_id, head)
        if key not in self.known.history:
            self.known.history[key] = verify.levels(self.reader.block_hashes(head)) if head > 1 else [[]]
        history = self.known.history[key]
        blocks = [
            {
                **block,
                "history_path": []
                if block["block_no"] == head
                else verify.path(history, block["block_no"] - 1),
            }
            for block in self.known.headers_of(self.reader, self.chain, numbers)
        ]
        return [self.chain.genesis(verify.digest(self.chain.salt).hex()), *blocks]


def _entry_tree(held: Sequence[StreamEntry]) -> tuple[dict[int, int], Tree]:
    tree = verify.levels([one.entry_hash for one in held])
    return {one.stream_id: at for at, one in enumerate(held)}, tree


def later_proof(reader: AuditReader, chain: Chain, block_no: int) -> dict[str, Any]:
    """The newest header, and the proof that a block lies in its history."""
    (newest,) = reader.blocks([chain.block_count])
    history = verify.levels(reader.block_hashes(chain.block_count))
    return {"chain_id": chain.chain_id, **newest, "history_path": verify.path(history, block_no - 1)}
