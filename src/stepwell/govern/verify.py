"""Verify an evidence bundle offline: receives a file, returns its problems.

This file needs only Python 3.9; the package and every bundle contain the same file:

    python verify.py bundle.zip [--head HASH] [--anchor FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import struct
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

FORMAT = "stepwell.evidence.1"
SEAL_EVENT = "evidence.sealed"
# The proofs. For all other files, the event that seals the bundle has a digest in the log.
PROOF_FILES = ("chain.jsonl", "events.jsonl", "manifest.json", "proofs.jsonl", "streams.jsonl")
PROBLEM_LIMIT = 20

EVENT_FIELDS = (
    "tx", "event_id", "at", "stream_id", "unit_id", "request_id", "event_type", "from_state", "to_state",
    "actor_class", "actor", "audit_ref", "trace_id", "correlation_id", "payload_size", "payload_commitment",
)  # fmt: skip
BLOCK_FIELDS = (
    "block_no", "first_tx", "first_event_id", "last_tx", "last_event_id", "first_at", "last_at",
    "event_count", "event_root", "stream_count", "stream_root", "history_root", "previous_hash", "sealed_at",
)  # fmt: skip

Record = Mapping[str, Any]


class Problem(NamedTuple):
    """`kind` is altered, missing, inserted, reordered, truncated or unproven; `place` names the record."""

    kind: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.detail}"


def digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def canonical(*values: Any) -> bytes:
    """A JSON array as the database writes it: a space after each comma, only the necessary escapes."""
    return json.dumps(values, ensure_ascii=False).encode()


def commitment(salt: bytes, text: str) -> str:
    return digest(b"\x02", salt, text.encode()).hex()


def salt_of(chain_salt: bytes, label: str) -> bytes:
    return digest(b"\x03", chain_salt, label.encode())


def event_leaf(tenant_id: int, event: Record) -> bytes:
    return digest(b"\x00", canonical("stepwell.event.1", tenant_id, *(event[name] for name in EVENT_FIELDS)))


def stream_entry(stream_id: int, previous_block_no: int, leaves: Sequence[bytes]) -> bytes:
    inner = digest(b"\x06", *leaves).hex()
    return digest(
        b"\x00", canonical("stepwell.stream.1", stream_id, previous_block_no, len(leaves), inner)
    )  # fmt: skip


def block_hash(chain_id: str, block: Record) -> str:
    fields = (block[name] for name in BLOCK_FIELDS)
    return digest(b"\x04", canonical("stepwell.block.1", chain_id, *fields)).hex()


def genesis_hash(chain: Record) -> str:
    names = ("chain_id", "tenant_id", "salt_sha256", "created_at")
    return digest(b"\x05", canonical("stepwell.chain.1", *(chain[name] for name in names))).hex()


def levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Every level of the tree of RFC 6962, leaves first: pairs from the left; a single last node moves up."""
    found = [list(leaves)]
    while len(found[-1]) > 1:
        below = found[-1]
        above = [digest(b"\x01", below[at], below[at + 1]) for at in range(0, len(below) - 1, 2)]
        found.append(above + below[len(above) * 2 :])
    return found


def root(leaves: Sequence[bytes]) -> bytes:
    return levels(leaves)[-1][0] if leaves else digest()


def path(tree: Sequence[Sequence[bytes]], index: int) -> list[str]:
    """The neighbours of a leaf on its path to the root."""
    found = []
    for level in tree[:-1]:
        neighbour = index ^ 1
        if neighbour < len(level):
            found.append(level[neighbour].hex())
        index >>= 1
    return found


def path_root(leaf: bytes, index: int, size: int, steps: Iterable[str]) -> bytes | None:
    """The root at the end of a path, computed as in RFC 9162; None if the path has the wrong length."""
    if not 0 <= index < size:
        return None
    last, found = size - 1, leaf
    for step in steps:
        if last == 0:
            return None
        if index & 1 or index == last:
            found = digest(b"\x01", bytes.fromhex(step), found)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            found = digest(b"\x01", found, bytes.fromhex(step))
        index, last = index >> 1, last >> 1
    return found if last == 0 else None


def write_json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def write_lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode()


def read_lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def pack(entries: Mapping[str, bytes]) -> bytes:
    """Pack files in the one way of a bundle: no times, no compression, manifest first, then by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries, key=lambda name: (name != "manifest.json", name)):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, entries[name])
    return buffer.getvalue()


def contents_digest(entries: Mapping[str, bytes]) -> str:
    """The digest of a bundle that is stored in the log: over all files except the proofs."""
    lines = [
        f"{hashlib.sha256(entries[name]).hexdigest()} {len(entries[name])} {name}\n"
        for name in sorted(set(entries) - set(PROOF_FILES))
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def manifest(entries: Mapping[str, bytes]) -> bytes:
    """The manifest, computed only from the other files."""
    run = json.loads(entries["run.json"])
    blocks = read_lines(entries["chain.jsonl"])[1:]
    return write_json(
        {
            "format": FORMAT,
            "run_id": run["run_id"],
            "workflow": run["workflow"],
            "state": run["state_code"],
            "with_payloads": run["with_payloads"],
            "contents_digest": contents_digest(entries),
            "head": {name: blocks[-1][name] for name in ("block_no", "block_hash", "sealed_at")},
            "verify": "python verify.py <this file>",
            "files": [
                {
                    "name": name,
                    "size": len(entries[name]),
                    "sha256": hashlib.sha256(entries[name]).hexdigest(),
                }
                for name in sorted(set(entries) - {"manifest.json"})
            ],
        }
    )


class Bundle:
    """The files of a bundle, read once, and the problems found in them so far."""

    def __init__(self, entries: Mapping[str, bytes]) -> None:
        self.entries = entries
        self.problems: list[Problem] = []
        self.chain, *blocks = read_lines(entries["chain.jsonl"])
        self.blocks = {block["block_no"]: block for block in blocks}
        self.head = blocks[-1]
        self.events = read_lines(entries["events.jsonl"])
        self.proofs = read_lines(entries["proofs.jsonl"])
        self.streams = read_lines(entries["streams.jsonl"])
        self.run = json.loads(entries["run.json"])
        # Position of each proven event → its block, leaf number and leaf.
        self.proven: dict[tuple[int, int], tuple[int, int, bytes]] = {}
        # Streams with a wrong event: further problems that follow from it are not reported.
        self.broken: set[int] = set()

    def say(self, kind: str, place: str, detail: str) -> None:
        self.problems.append(Problem(kind, place, detail))

    def check(self) -> None:
        self.check_chain()
        self.check_events()
        self.check_streams()
        self.check_contents()
        self.check_states()
        self.check_values()

    def check_chain(self) -> None:
        if genesis_hash(self.chain) != self.chain["genesis_hash"]:
            self.say("altered", "chain.jsonl line 1", "the beginning of the chain does not match its hash")
        numbers = [block["block_no"] for block in read_lines(self.entries["chain.jsonl"])[1:]]
        if numbers != sorted(set(numbers)):
            self.say("reordered", "chain.jsonl", "the blocks are not in the order of their numbers")
        for block in self.blocks.values():
            place = f"block {block['block_no']}"
            if block_hash(self.chain["chain_id"], block) != block["block_hash"]:
                self.say("altered", place, "the header does not match its hash")
            before = self.blocks.get(block["block_no"] - 1)
            if before is not None and before["block_hash"] != block["previous_hash"]:
                self.say("altered", place, "it is not chained to the block before it")
            if block["block_no"] != self.head["block_no"] and self._history_root(block) != bytes.fromhex(
                self.head["history_root"]
            ):
                self.say("unproven", place, f"it is not in the history of block {self.head['block_no']}")

    def _history_root(self, block: Record) -> bytes | None:
        size = self.head["block_no"] - 1
        return path_root(
            bytes.fromhex(block["block_hash"]), block["block_no"] - 1, size, block["history_path"]
        )

    def check_events(self) -> None:
        proofs = {(proof["tx"], proof["event_id"]): proof for proof in self.proofs}
        positions = [(event["tx"], event["event_id"]) for event in self.events]
        for at, (event, position) in enumerate(zip(self.events, positions)):  # noqa: B905 - Python 3.9
            place = self.place(event)
            if at and position <= positions[at - 1]:
                self.say("reordered", place, f"it comes after {self.place(self.events[at - 1])}")
            if not self._prove(event, proofs.get(position)):
                self.broken.add(event["stream_id"])
        for position in sorted(set(proofs) - set(positions)):
            self.say("missing", f"event {position[0]}/{position[1]}", "the bundle has only its proof")

    def _prove(self, event: Record, proof: Record | None) -> bool:
        place = self.place(event)
        if proof is None:
            self.say("inserted", place, "it has no proof")
            return False
        block = self.blocks.get(proof["block_no"])
        if block is None:
            self.say("unproven", place, f"the header of block {proof['block_no']} is missing")
            return False
        leaf = event_leaf(self.chain["tenant_id"], event)
        found = path_root(leaf, proof["leaf_no"], block["event_count"], proof["path"])
        if found != bytes.fromhex(block["event_root"]):
            self.say("altered", place, f"it is not the event that block {proof['block_no']} sealed")
            return False
        self.proven[event["tx"], event["event_id"]] = (proof["block_no"], proof["leaf_no"], leaf)
        return True

    def check_streams(self) -> None:
        """Check each stream from its last block to its first: the bundle has exactly its events."""
        entries = {(entry["stream_id"], entry["block_no"]): entry for entry in self.streams}
        held: dict[tuple[int, int], list[bytes]] = {}
        for event in self.events:
            found = self.proven.get((event["tx"], event["event_id"]))
            if found is not None:
                held.setdefault((event["stream_id"], found[0]), []).append(found[2])
        walked = set()
        for stream in self.run["streams"]:
            stream_id, block_no = stream["stream_id"], stream["last_block_no"]
            if stream_id == self.run["run_id"]:
                block_no = self.head["block_no"]
            while block_no != 0 and (stream_id, block_no) not in walked:
                walked.add((stream_id, block_no))
                block_no = self._check_entry(entries.get((stream_id, block_no)), stream_id, block_no, held)
        for stream_id, block_no in sorted(set(held) - walked):
            self.say("inserted", f"stream {stream_id} in block {block_no}", "it does not belong to the run")

    def _check_entry(
        self, entry: Record | None, stream_id: int, block_no: int, held: Mapping[tuple[int, int], list[bytes]]
    ) -> int:
        """Return the previous block with events of the stream; 0 at its beginning."""
        place = f"stream {stream_id} in block {block_no}"
        block = self.blocks.get(block_no)
        if entry is None or block is None:
            self.say("missing", place, "the entry of the stream or the header of the block is missing")
            return 0
        leaves = held.get((stream_id, block_no), [])
        previous: int = entry["previous_block_no"]
        leaf = stream_entry(stream_id, previous, leaves)
        if stream_id in self.broken:
            return previous if previous < block_no else 0
        if len(leaves) != entry["event_count"]:
            lost = entry["event_count"] - len(leaves)
            kind, word = ("missing", "missing") if lost > 0 else ("inserted", "too many")
            self.say(kind, place, f"{abs(lost)} of {entry['event_count']} events are {word}")
        elif path_root(leaf, entry["entry_no"], block["stream_count"], entry["path"]) != bytes.fromhex(
            block["stream_root"]
        ):
            self.say("altered", place, "its events differ from the sealed events of the block")
        return previous if previous < block_no else 0

    def check_contents(self) -> None:
        """A sealed event of the run has the digest of the files of the bundle."""
        wanted = contents_digest(self.entries)
        named = [
            json.loads(event["payload"])["digest"]
            for event in self.events
            if event["event_type"] == SEAL_EVENT
            and event["stream_id"] == self.run["run_id"]
            and (event["tx"], event["event_id"]) in self.proven
            and "payload" in event
            and self._shows_payload(event)
        ]
        if not named:
            self.say("missing", "the event that seals the bundle", "the log has no digest of the files")
        elif wanted not in named:
            self.say("altered", "the files of the bundle", "they do not match the digest in the log")

    def _shows_payload(self, event: Record) -> bool:
        shown = commitment(bytes.fromhex(event["salt"]), event["payload"]) == event["payload_commitment"]
        return bool(shown and len(event["payload"].encode()) == event["payload_size"])

    def check_states(self) -> None:
        """The state of a unit in the files must be the state after its last event."""
        states = {
            event["unit_id"]: event["to_state"] for event in self.events if event["to_state"] is not None
        }
        for unit in [{**self.run, "unit_id": self.run["run_id"] << 20, "name": "run"}, *self.run["steps"]]:
            left = states.get(unit["unit_id"])
            if left is not None and left != unit["state_code"]:
                self.say(
                    "altered", f"unit {unit['unit_id']} ({unit['name']})",
                    f"it is {unit['state_code']}, but {left} after its last event",
                )  # fmt: skip

    def check_values(self) -> None:
        """Each payload and each value must match its hash."""
        for event in self.events:
            if "payload" in event and not self._shows_payload(event):
                self.say("altered", self.place(event), "its payload does not match its hash")
        for name in sorted(set(self.entries) - set(PROOF_FILES)):
            for item in shown_values(json.loads(self.entries[name])) if name.endswith(".json") else ():
                if commitment(bytes.fromhex(item["salt"]), item["value"]) != item["commitment"]:
                    self.say("altered", f"{name}: {item['label']}", "its value does not match its hash")

    def place(self, event: Record) -> str:
        return f"event {event['tx']}/{event['event_id']} ({event['event_type']}, unit {event['unit_id']})"


def shown_values(document: Any) -> Iterator[Record]:
    """Every value with a hash in a document, at any depth."""
    if isinstance(document, dict):
        if "value" in document and "commitment" in document:
            yield document
        document = list(document.values())
    for inner in document if isinstance(document, list) else ():
        yield from shown_values(inner)


def stored_bytes(data: bytes, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a file without the check of the ZIP checksum, so that we can report what was changed."""
    name_size, extra_size = struct.unpack_from("<HH", data, info.header_offset + 26)
    start = info.header_offset + 30 + name_size + extra_size
    return data[start : start + info.file_size]


def read_entries(data: bytes) -> tuple[dict[str, bytes], list[Problem]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                return {}, [
                    Problem("altered", "the bundle", "it is compressed; bundles are never compressed")
                ]
            entries = {info.filename: stored_bytes(data, info) for info in infos}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, struct.error, OSError, EOFError, ValueError) as error:
        return {}, [Problem("truncated", "the bundle", f"it is cut off or not a bundle: {error}")]
    if not entries:
        return {}, [Problem("missing", "manifest.json", "the bundle is empty")]
    problems = []
    if pack(entries) != data:
        problems.append(Problem("altered", "the bundle", "it has bytes or an order that no bundle has"))
    return entries, problems


def check_manifest(entries: Mapping[str, bytes]) -> list[Problem]:
    problems = []
    claimed = {entry["name"]: entry for entry in json.loads(entries["manifest.json"])["files"]}
    for name in sorted((set(entries) | set(claimed)) - {"manifest.json"}):
        if name not in entries:
            problems.append(Problem("missing", name, "the manifest lists it"))
        elif name not in claimed:
            problems.append(Problem("inserted", name, "the manifest does not list it"))
        elif hashlib.sha256(entries[name]).hexdigest() != claimed[name]["sha256"]:
            problems.append(Problem("altered", name, "it does not match the hash in the manifest"))
    return problems


def verify(data: bytes, head: str | None = None, anchored: Iterable[Record] = ()) -> list[Problem]:
    """All problems, the most exact place first; empty if the bundle is intact."""
    entries, problems = read_entries(data)
    if not entries:
        return problems
    try:
        shallow = check_manifest(entries)
        bundle = Bundle(entries)
        bundle.check()
        if manifest(entries) != entries["manifest.json"] and not shallow:
            shallow.append(Problem("altered", "manifest.json", "it does not match the other files"))
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        missing = sorted(name for name in (*PROOF_FILES, "run.json") if name not in entries)
        found = [Problem("missing", name, "every bundle has this file") for name in missing]
        broken = Problem("altered", "the bundle", f"it cannot be read: {type(error).__name__} {error}")
        return (found or [broken]) + problems
    hashes = {block["block_hash"] for block in bundle.blocks.values()}
    if head is not None and head not in hashes:
        bundle.say("unproven", "the chain", f"block hash {head} is not in it")
    for block in anchored:
        mine = bundle.blocks.get(block["block_no"]) if block["chain_id"] == bundle.chain["chain_id"] else None
        if mine is not None and mine["block_hash"] != block["block_hash"]:
            bundle.say("altered", f"block {block['block_no']}", "the anchor has another hash for it")
    return bundle.problems + shallow + problems


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verify an evidence bundle of Stepwell, offline.")
    parser.add_argument("bundle", help="the file to verify")
    parser.add_argument("--head", help="a trusted block hash that the bundle must contain")
    parser.add_argument("--anchor", help="a file of anchored block headers, one JSON object in each line")
    given = parser.parse_args(arguments)
    try:
        with open(given.bundle, "rb") as file:  # noqa: PTH123 - one file, one import less
            data = file.read()
        anchored = []
        if given.anchor is not None:
            with open(given.anchor, "rb") as file:  # noqa: PTH123
                anchored = read_lines(file.read())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"verify: {error}\n")
        return 2
    problems = verify(data, given.head, anchored)
    for problem in problems[:PROBLEM_LIMIT]:
        sys.stdout.write(f"{problem}\n")
    if problems:
        sys.stdout.write(
            f"NOT verified: {len(problems)} problems, sha256 {hashlib.sha256(data).hexdigest()}\n"
        )
        return 1
    entries, _ = read_entries(data)
    said = json.loads(entries["manifest.json"])
    sys.stdout.write(
        f"verified: run {said['run_id']} ({said['workflow']}, {said['state']}), "
        f"{len(read_lines(entries['events.jsonl']))} events, sealed in block {said['head']['block_no']}\n"
        f"  head   {said['head']['block_hash']}\n"
        f"  sha256 {hashlib.sha256(data).hexdigest()}\n"
    )
    if given.head is None and given.anchor is None:
        sys.stdout.write("  compare the head with your anchor or the database: --head, --anchor\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
