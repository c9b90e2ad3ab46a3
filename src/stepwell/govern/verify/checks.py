"""The checks of a bundle, in the order of docs/evidence-format.md: receives records, collects findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stepwell.govern.verify.anchors import believed_lines
from stepwell.govern.verify.files import contents_digest, has_fields, has_type, loads, manifest, write_json
from stepwell.govern.verify.hashes import (
    block_hash,
    commitment,
    event_leaf,
    genesis_hash,
    path_root,
    stream_entry,
    value_hash,
)
from stepwell.govern.verify.shapes import shape
from stepwell.govern.verify.story import RUN_CLAIMS, Story, must_show, payload_of, run_facts, shows_payload
from stepwell.govern.verify.words import DERIVED_FILES, SEAL_EVENT, VALUE_FIELDS, Finding, Record


class Bundle:
    """The files of a bundle, read once, and the findings so far."""

    def __init__(self, entries: Mapping[str, bytes], records: Mapping[str, list[Any]]) -> None:
        self.entries = entries
        self.findings: list[Finding] = []
        self.chain, *blocks = records["chain.jsonl"]
        self.block_list: list[Record] = blocks
        self.blocks = {block["block_no"]: block for block in blocks}
        self.head = blocks[-1]
        self.events, self.proofs = records["events.jsonl"], records["proofs.jsonl"]
        self.streams, self.values = records["streams.jsonl"], records["values.json"][0]
        self.run = records["run.json"][0]
        # Position of each proven event → its block and leaf.
        self.proven: dict[tuple[int, int], tuple[int, bytes]] = {}
        # Streams with a wrong event: further findings that follow from it are not reported.
        self.broken: set[int] = set()

    def say(self, code: str, place: str) -> None:
        self.findings.append(Finding(code, place))

    def check(self) -> None:
        self.check_manifest()
        self.check_chain()
        self.check_events()
        self.check_streams()
        self.check_payloads()
        self.check_contents()
        self.check_values()
        self.check_documents()

    def check_manifest(self) -> None:
        wanted = manifest(self.entries)
        if wanted == self.entries["manifest.json"]:
            return
        told = json.loads(self.entries["manifest.json"]).get("files")
        kept = {write_json(one) for one in told} if isinstance(told, list) else set()
        changed = [one["name"] for one in json.loads(wanted)["files"] if write_json(one) not in kept]
        for name in changed:
            self.say("file.hash", name)
        if not changed:
            self.say("manifest.differs", "manifest.json")

    def check_chain(self) -> None:
        if genesis_hash(self.chain) != self.chain["genesis_hash"]:
            self.say("chain.genesis", "chain.jsonl line 1")
        numbers = [block["block_no"] for block in self.block_list]
        if numbers != sorted(set(numbers)):
            self.say("chain.order", "chain.jsonl")
        needed = {proof["block_no"] for proof in self.proofs} | {self.head["block_no"]}
        for block in self.block_list:
            place, number = f"block {block['block_no']}", block["block_no"]
            if block_hash(self.chain["chain_id"], block) != block["block_hash"]:
                self.say("block.hash", place)
            before = self.chain["genesis_hash"] if number == 1 else None
            if number - 1 in self.blocks:
                before = self.blocks[number - 1]["block_hash"]
            if before is not None and before != block["previous_hash"]:
                self.say("block.link", place)
            if not self._is_in_history(block):
                self.say("block.history", place)
            if number not in needed:
                self.say("block.unused", place)

    def _is_in_history(self, block: Record) -> bool:
        if block is self.head:
            return not block["history_path"]
        leaf, size = bytes.fromhex(block["block_hash"]), self.head["block_no"] - 1
        found = path_root(leaf, block["block_no"] - 1, size, block["history_path"])
        return found == bytes.fromhex(self.head["history_root"])

    def check_events(self) -> None:
        proofs = {(proof["tx"], proof["event_id"]): proof for proof in self.proofs}
        positions = [(event["tx"], event["event_id"]) for event in self.events]
        for at, (event, position) in enumerate(zip(self.events, positions)):  # noqa: B905 - Python 3.9
            if at and position <= positions[at - 1]:
                self.say("event.order", self.place(event))
            if not self._prove(event, proofs.get(position)):
                self.broken.add(event["stream_id"])
        for position in sorted(set(proofs) - set(positions)):
            self.say("proof.no_event", f"event {position[0]}/{position[1]}")
        proved = [(proof["tx"], proof["event_id"]) for proof in self.proofs]
        if proved != sorted(set(proved)):
            self.say("proof.order", "proofs.jsonl")

    def _prove(self, event: Record, proof: Record | None) -> bool:
        if proof is None:
            self.say("event.no_proof", self.place(event))
            return False
        block = self.blocks.get(proof["block_no"])
        if block is None:
            self.say("event.block", self.place(event))
            return False
        leaf = event_leaf(self.chain["tenant_id"], event)
        found = path_root(leaf, proof["leaf_no"], block["event_count"], proof["path"])
        if found != bytes.fromhex(block["event_root"]):
            self.say("event.leaf", self.place(event))
            return False
        self.proven[event["tx"], event["event_id"]] = (proof["block_no"], leaf)
        return True

    def check_streams(self) -> None:
        """Check each stream from its last block to its first: the bundle has exactly its events."""
        keys = [(entry["stream_id"], entry["block_no"]) for entry in self.streams]
        if keys != sorted(set(keys)):
            self.say("stream.order", "streams.jsonl")
        entries = dict(zip(keys, self.streams))  # noqa: B905 - Python 3.9
        held: dict[tuple[int, int], list[bytes]] = {}
        for event in self.events:
            found = self.proven.get((event["tx"], event["event_id"]))
            if found is not None:
                held.setdefault((event["stream_id"], found[0]), []).append(found[1])
        walked = set()
        for stream in self.run["streams"]:
            stream_id, block_no = stream["stream_id"], stream["last_block_no"]
            if stream_id == self.run["run_id"]:
                block_no = self.head["block_no"]
            while block_no != 0 and (stream_id, block_no) not in walked:
                walked.add((stream_id, block_no))
                block_no = self._check_entry(entries.get((stream_id, block_no)), stream_id, block_no, held)
        for stream_id, block_no in sorted(set(held) - walked):
            self.say("stream.unknown", f"stream {stream_id} in block {block_no}")
        for stream_id, block_no in sorted(set(keys) - walked):
            self.say("stream.unused", f"stream {stream_id} in block {block_no}")

    def _check_entry(
        self, entry: Record | None, stream_id: int, block_no: int, held: Mapping[tuple[int, int], list[bytes]]
    ) -> int:
        """Return the previous block with events of the stream; 0 at its beginning."""
        place = f"stream {stream_id} in block {block_no}"
        block = self.blocks.get(block_no)
        if entry is None or block is None:
            self.say("stream.entry", place)
            return 0
        leaves = held.get((stream_id, block_no), [])
        previous: int = entry["previous_block_no"] if entry["previous_block_no"] < block_no else 0
        if stream_id in self.broken:
            return previous
        leaf = stream_entry(stream_id, entry["previous_block_no"], leaves)
        found = path_root(leaf, entry["entry_no"], block["stream_count"], entry["path"])
        if len(leaves) != entry["event_count"]:
            self.say("stream.lacks" if len(leaves) < entry["event_count"] else "stream.more", place)
        elif found != bytes.fromhex(block["stream_root"]):
            self.say("stream.leaf", place)
        return previous

    def check_payloads(self) -> None:
        """Payloads are shown exactly where the format says, and match their hashes."""
        for event in self.events:
            is_shown = event["payload"] is not None and event["salt"] is not None
            if must_show(event, self.run["with_payloads"]):
                if not is_shown:
                    self.say("event.payload_missing", self.place(event))
                elif not shows_payload(event):
                    self.say("event.payload", self.place(event))
            elif event["payload"] is not None or event["salt"] is not None:
                self.say("event.payload_extra", self.place(event))

    def check_contents(self) -> None:
        """An event of the run in the head has the digest of the files of the bundle."""
        sealing = [
            payload_of(event)
            for event in self.events
            if event["event_type"] == SEAL_EVENT
            and event["stream_id"] == self.run["run_id"]
            and self._block_of(event) == self.head["block_no"]
            and event["payload"] is not None
            and event["salt"] is not None
            and shows_payload(event)
        ]
        digest = contents_digest(self.entries)
        told = next((payload for payload in sealing if payload.get("digest") == digest), None)
        if not sealing:
            self.say("contents.unsealed", "the files of the bundle")
        elif told is None:
            self.say("contents.differs", "the files of the bundle")
        else:
            self._check_counts(told.get("streams"))
            # Earlier releases did not say it.
            if "mode" in told and (told["mode"] == "development") != ("mode" in self.run):
                self.say("document.differs", "run.json.mode")

    def _check_counts(self, told: Any) -> None:
        """The bundle has as many events of each approval and receipt as the log had when it was sealed."""
        run_id = self.run["run_id"]
        listed = {stream["stream_id"] for stream in self.run["streams"]} - {run_id}
        if not has_type(told, "i**") or any(len(pair) != 2 for pair in told):
            if listed:
                self.say("stream.uncounted", "the approvals and receipts")
            return
        held: dict[int, int] = {}
        for event in self.events:
            if self._block_of(event):
                held[event["stream_id"]] = held.get(event["stream_id"], 0) + 1
        counted = dict(told)
        for stream_id in sorted(listed | set(counted)):
            if held.get(stream_id, 0) != counted.get(stream_id, 0):
                self.say("stream.count", f"stream {stream_id}")

    def _block_of(self, event: Record) -> int | None:
        return self.proven.get((event["tx"], event["event_id"]), (None,))[0]

    def check_values(self) -> None:
        """Each value is carried by a sealed event, each carried value is here, and shown values are true."""
        self.story = Story(self.run["run_id"], [event for event in self.events if self._block_of(event)])
        labels = [value["label"] for value in self.values]
        if labels != sorted(set(labels)):
            self.say("value.order", "values.json")
        carried: dict[int, set[str]] = {}
        for event in self.events:
            if self._block_of(event) and event["stream_id"] == self.run["run_id"]:
                carried.setdefault(event["unit_id"], set()).update(event["values"])
        found: dict[int, set[str]] = {}
        for value in self.values:
            mine = value_hash(*(value[name] for name in VALUE_FIELDS))
            found.setdefault(value["unit_id"], set()).add(mine)
            told = self.story.digests.get(value["label"])
            if mine not in carried.get(value["unit_id"], ()) and told != {
                name: value[name] for name in told or ()
            }:
                self.say("value.unsealed", value["label"])
            self._check_value(value)
        for unit_id in sorted(carried):
            for _ in sorted(carried[unit_id] - found.get(unit_id, set())):
                self.say("value.missing", f"unit {unit_id}")
        for label in sorted(set(self.story.digests) - set(labels)):
            self.say("value.missing", label)

    def _check_value(self, value: Record) -> None:
        is_shown = value["value"] is not None and value["salt"] is not None
        is_hidden = value["value"] is None and value["salt"] is None
        if not (is_shown if self.run["with_payloads"] else is_hidden):
            self.say("value.shown", value["label"])
        if not is_shown:
            return
        text = value["value"]
        fits = commitment(bytes.fromhex(value["salt"]), text) == value["commitment"]
        if not fits or len(text.encode()) != value["size"]:
            self.say("value.hash", value["label"])
        elif shape(text) != value["shape"]:
            self.say("value.shape", value["label"])

    def check_documents(self) -> None:
        """The derived files are what the sealed events say."""
        run_id, facts = self.run["run_id"], run_facts(self.run["run_id"], self.values)
        graph_data = self.entries["graph.json"]
        is_sealed = facts["graph_hash"] is not None
        if (hashlib.sha256(graph_data).hexdigest() if is_sealed else graph_data) != (
            facts["graph_hash"] if is_sealed else b"null\n"
        ):
            self.say("graph.hash", "graph.json")
            graph = None
        else:
            graph = graph_of(graph_data)
        listed = [stream["stream_id"] for stream in self.run["streams"]]
        for stream_id in sorted(self.story.named - set(listed)):
            self.say("stream.named", f"stream {stream_id}")
        for stream_id in listed:
            if stream_id != run_id and stream_id not in self._streams_of_run():
                self.say("stream.foreign", f"stream {stream_id}")
        claims = {name: self.run[name] for name in RUN_CLAIMS if name in self.run}
        wanted = self.story.documents(claims, self.chain["tenant_id"], facts, graph)
        if listed != sorted(set(listed)):
            self.say("document.differs", "run.json")
        for name in DERIVED_FILES:
            if write_json(wanted[name]) != self.entries[name]:
                self.say("document.differs", difference(name, wanted[name], json.loads(self.entries[name])))

    def _streams_of_run(self) -> set[int]:
        """The streams whose approval or receipt is about a unit of the run."""
        about = {**self.story.approvals, **self.story.receipts}
        return {
            unit_id >> 20
            for unit_id, told in about.items()
            if (told.get("subject_unit_id") or told.get("unit_id") or 0) >> 20 == self.run["run_id"]
        }

    def check_trust(
        self, head: str | None, anchored: Iterable[Record] | None, later: Any, keys: Sequence[str] | None
    ) -> None:
        """The head is a block that somebody else vouches for, or lies in the history of one."""
        place, mine = f"block {self.head['block_no']}", self.head["block_hash"]
        trusted, next_no = {mine}, self.head["block_no"] + 1
        if later is not None:
            if self._comes_later(later):
                trusted.add(later["block_hash"])
            else:
                self.say("later.proof", "the proof of a later block")
        if head is not None and head not in trusted:
            self.say("head.other", place)
        if anchored is None:
            return
        same = [line for line in anchored if line["chain_id"] == self.chain["chain_id"]]
        needed = {*self.blocks, next_no} | ({later["block_no"]} if len(trusted) > 1 else set())
        believed, findings = believed_lines(same, keys, needed)
        self.findings += findings
        others = {
            line["block_no"]
            for line in same
            if line["block_no"] in self.blocks
            and self.blocks[line["block_no"]]["block_hash"] != line["block_hash"]
        }
        for number in sorted(others):
            self.say("anchor.other", f"block {number}")
        if not same:
            self.say("anchor.none", place)
        elif not any(
            line["block_hash"] in trusted
            or (line["block_no"] == next_no and line.get("previous_hash") == mine)
            for line in believed
        ):
            self.say("anchor.head", place)

    def _comes_later(self, later: Any) -> bool:
        if not isinstance(later, dict) or not has_fields(later, "later"):
            return False
        leaf, index = bytes.fromhex(self.head["block_hash"]), self.head["block_no"] - 1
        found = path_root(leaf, index, later["block_no"] - 1, later["history_path"])
        return (
            later["chain_id"] == self.chain["chain_id"]
            and block_hash(later["chain_id"], later) == later["block_hash"]
            and found == bytes.fromhex(later["history_root"])
        )

    def place(self, event: Record) -> str:
        return f"event {event['tx']}/{event['event_id']} ({event['event_type']}, unit {event['unit_id']})"


def graph_of(data: bytes) -> Any:
    """The definition; null if it is no JSON."""
    try:
        return loads(data.decode())
    except (ValueError, RecursionError):
        return None


def difference(name: str, wanted: Any, told: Any) -> str:
    """Where a document first differs from what the events say: `approvals.json[0].votes[1].voter`."""
    if isinstance(wanted, dict) and isinstance(told, dict):
        for key in sorted({*wanted, *told}):
            if key not in wanted or key not in told or write_json(wanted[key]) != write_json(told[key]):
                return difference(f"{name}.{key}", wanted.get(key), told.get(key))
    if isinstance(wanted, list) and isinstance(told, list):
        for at in range(max(len(wanted), len(told))):
            if at >= min(len(wanted), len(told)):
                return f"{name}[{at}]"
            if write_json(wanted[at]) != write_json(told[at]):
                return difference(f"{name}[{at}]", wanted[at], told[at])
    return name
