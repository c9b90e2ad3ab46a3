"""Verify an evidence bundle offline: receives a file, returns its findings.

This file needs only Python 3.9; the package and every bundle contain the same file:

    python verify.py bundle.zip [--head HASH] [--anchor FILE [--keys FILE]] [--later FILE]

`docs/evidence-format.md` defines every byte and every check; `verify.mjs` is the same verifier in JavaScript.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

FORMAT = "stepwell.evidence.2"
OLD_FORMATS = ("stepwell.evidence.1",)
SEAL_EVENT = "evidence.sealed"
FILES = (
    "approvals.json", "chain.jsonl", "costs.json", "decisions.json", "events.jsonl", "graph.json",
    "manifest.json", "proofs.jsonl", "receipts.json", "report.html", "run.json", "streams.jsonl",
    "values.json", "verify.mjs", "verify.py",
)  # fmt: skip
# The proofs. For all other files, the event that seals the bundle has a digest in the log.
PROOF_FILES = ("chain.jsonl", "events.jsonl", "manifest.json", "proofs.jsonl", "streams.jsonl")
# These files are derived from the sealed events; a verifier derives them again.
DERIVED_FILES = ("run.json", "approvals.json", "decisions.json", "receipts.json", "costs.json")
# The payloads of these events hold no values: a bundle always shows them.
SHOWN_PREFIXES = ("action.", "approval.", "evidence.", "receipt.")
PROBLEM_LIMIT = 20
NESTING_LIMIT = 32
DIGITS_LIMIT = 19
SHAPE_PATHS_LIMIT = 200
SHAPE_DEPTH_LIMIT = 6
SHAPE_NESTING_LIMIT = 500
# In an object with more names than this the names are probably data: they are not shown.
SHAPE_NAMES_LIMIT = 50

EVENT_FIELDS = (
    "tx", "event_id", "at", "stream_id", "unit_id", "request_id", "event_type", "from_state", "to_state",
    "actor_class", "actor", "audit_ref", "trace_id", "correlation_id", "payload_size", "payload_commitment",
)  # fmt: skip
BLOCK_FIELDS = (
    "block_no", "first_tx", "first_event_id", "last_tx", "last_event_id", "first_at", "last_at",
    "event_count", "event_root", "stream_count", "stream_root", "history_root", "previous_hash", "sealed_at",
)  # fmt: skip

VALUE_FIELDS = ("label", "unit_id", "at", "size", "commitment", "facts")

# The fields of each record and their types: i integer, t text, h hash, z time, b boolean, s text or integer;
# with ? it may be null, with * it is a list.
_BLOCK_TYPES = ("i", "i", "i", "i", "i", "z", "z", "i", "h", "i", "h", "h", "h", "z")
_EVENT_TYPES = ("i", "i", "z", "i", "i", "i?", "t", "t?", "t?", "t", "t?", "t?", "t?", "t?", "i?", "h?")
TYPES: dict[str, dict[str, str]] = {
    "genesis": {
        "chain_id": "t", "tenant_id": "i", "salt_sha256": "h", "created_at": "z", "genesis_hash": "h",
    },
    "block": {**dict(zip(BLOCK_FIELDS, _BLOCK_TYPES)), "block_hash": "h", "history_path": "h*"},  # noqa: B905
    "event": {
        **dict(zip(EVENT_FIELDS, _EVENT_TYPES)), "values": "h*", "payload": "t?", "salt": "h?",  # noqa: B905
    },
    "proof": {"tx": "i", "event_id": "i", "block_no": "i", "leaf_no": "i", "path": "h*"},
    "entry": {
        "stream_id": "i", "block_no": "i", "entry_no": "i", "previous_block_no": "i", "event_count": "i",
        "path": "h*",
    },
    "value": {
        "label": "t", "unit_id": "i", "at": "z", "facts": "s?*", "size": "i", "commitment": "h",
        "shape": "t*", "value": "t?", "salt": "h?",
    },
    "stream": {"stream_id": "i", "last_block_no": "i"},
}  # fmt: skip
TYPES["later"] = {**TYPES["block"], "chain_id": "t"}
TYPES["header"] = dict(zip(BLOCK_FIELDS, _BLOCK_TYPES))  # noqa: B905

# Code → kind and sentence.
CODES: dict[str, tuple[str, str]] = {
    "zip.broken": ("truncated", "it is cut off or not a bundle"),
    "zip.bytes": ("altered", "it has bytes or an order that no bundle has"),
    "format.old": ("unproven", "an earlier release made it and proved less; export the run again"),
    "format.unknown": ("unproven", "this verifier does not know the format"),
    "file.missing": ("missing", "every bundle has this file"),
    "file.unknown": ("inserted", "no bundle has this file"),
    "json.form": ("altered", "it is not written in the canonical form"),
    "json.fields": ("altered", "it has other fields or types than the format says"),
    "file.hash": ("altered", "it does not match its size and hash in the manifest"),
    "manifest.differs": ("altered", "it does not match the other files"),
    "chain.genesis": ("altered", "the beginning of the chain does not match its hash"),
    "chain.order": ("reordered", "the blocks are not in the order of their numbers"),
    "block.hash": ("altered", "the header does not match its hash"),
    "block.link": ("altered", "it is not chained to the block before it"),
    "block.history": ("unproven", "it is not in the history of the head"),
    "block.unused": ("inserted", "nothing in the bundle needs it"),
    "event.order": ("reordered", "it does not come after the event before it"),
    "event.no_proof": ("inserted", "it has no proof"),
    "proof.no_event": ("missing", "the bundle has only its proof"),
    "proof.order": ("reordered", "the proofs are not in the order of the events"),
    "event.block": ("unproven", "the header of its block is missing"),
    "event.leaf": ("altered", "it is not the event that its block sealed"),
    "stream.entry": ("missing", "the entry of the stream or the header of the block is missing"),
    "stream.lacks": ("missing", "events of the stream are missing"),
    "stream.more": ("inserted", "it has more events than the block sealed"),
    "stream.leaf": ("altered", "its events differ from the sealed events of the block"),
    "stream.order": ("reordered", "the entries are not in the order of streams and blocks"),
    "stream.unused": ("inserted", "nothing in the bundle needs it"),
    "stream.unknown": ("inserted", "the run does not name this stream"),
    "stream.foreign": ("inserted", "it is no approval and no receipt of the run"),
    "stream.named": ("missing", "an event of the run names it, and the bundle does not have it"),
    "event.payload": ("altered", "its payload does not match its hash"),
    "event.payload_missing": ("missing", "a bundle of this kind shows its payload"),
    "event.payload_extra": ("inserted", "a bundle of this kind does not show its payload"),
    "contents.unsealed": ("missing", "the head has no event with the digest of the files"),
    "contents.differs": ("altered", "they do not match the digest in the log"),
    "graph.hash": ("altered", "it is not the definition that the run started with"),
    "value.order": ("reordered", "the values are not in the order of their labels"),
    "value.unsealed": ("inserted", "no sealed event has this value"),
    "value.missing": ("missing", "a sealed event has a value that the bundle does not have"),
    "value.hash": ("altered", "the value does not match its size and hash"),
    "value.shape": ("altered", "the names and types are not those of the value"),
    "value.shown": ("altered", "the bundle must show all values with their salts, or none"),
    "document.differs": ("altered", "the sealed events say something else"),
    "head.other": ("unproven", "it is not the trusted block, nor shown to lie in its history"),
    "anchor.line": ("altered", "a line of the anchor does not match its own hash"),
    "anchor.signature": ("unproven", "no key of the list signed this line of the anchor"),
    "anchor.key": ("unproven", "the anchor does not end with blocks that the newest key signed"),
    "anchor.none": ("unproven", "the anchor has no block of this chain"),
    "anchor.other": ("altered", "the anchor has another hash for it"),
    "anchor.head": ("unproven", "it is not anchored, nor shown to lie in the history of an anchored block"),
    "later.proof": ("altered", "it does not show that its block comes after the head of the bundle"),
}  # fmt: skip

Record = Mapping[str, Any]


class Problem(NamedTuple):
    """`kind` is altered, missing, inserted, reordered, truncated or unproven; `place` names the record."""

    kind: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.detail}"


class Finding(NamedTuple):
    """What is wrong with a bundle: `code` names the check, `place` the record."""

    code: str
    place: str

    @property
    def kind(self) -> str:
        return CODES[self.code][0]

    @property
    def detail(self) -> str:
        return CODES[self.code][1]

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.detail} [{self.code}]"


# Hashes


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
    """The leaf of an event. An event that carries hashes of values beside the log has them in its leaf."""
    fields, carried = [event[name] for name in EVENT_FIELDS], event.get("values")
    if not carried:
        return digest(b"\x00", canonical("stepwell.event.1", tenant_id, *fields))
    inner = digest(b"\x07", *(bytes.fromhex(one) for one in carried)).hex()
    return digest(b"\x00", canonical("stepwell.event.2", tenant_id, *fields, inner))


def value_hash(
    label: str, unit_id: int, at: str, size: int, value_commitment: str, facts: Sequence[Any]
) -> str:
    """The hash of a value beside the log, as an event of its unit carries it."""
    return digest(
        b"\x00", canonical("stepwell.value.1", label, unit_id, at, size, value_commitment, list(facts))
    ).hex()


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


# Signatures: Ed25519 (RFC 8032). Points have the coordinates X, Y, Z and T.

Point = tuple[int, int, int, int]
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
ZERO: Point = (0, 1, 1, 0)
_tables: dict[bytes, list[list[Point]]] = {}


def point_add(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % PRIME
    b = (one[1] + one[0]) * (other[1] + other[0]) % PRIME
    c = 2 * one[3] * other[3] * CURVE % PRIME
    d = 2 * one[2] * other[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def point_read(data: bytes) -> Point | None:
    """The point of 32 bytes; None if they are not the one way to write a point."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if len(data) != 32 or y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if x * x % PRIME != square or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else PRIME - x
    return (x, y, 1, x * y % PRIME)


def point_bytes(point: Point) -> bytes:
    over = pow(point[2], -1, PRIME)
    x, y = point[0] * over % PRIME, point[1] * over % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = (4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little")


def point_times(number: int, data: bytes) -> Point | None:
    """A multiple of a point. The multiples of the few points in use are computed once."""
    if data not in _tables:
        point = point_read(data)
        if point is None:
            return None
        rows = []
        for _ in range(64):
            row = [ZERO]
            for _ in range(15):
                row.append(point_add(row[-1], point))
            rows.append(row)
            point = point_add(row[-1], point)
        _tables[data] = rows
    found = ZERO
    for at, row in enumerate(_tables[data]):
        found = point_add(found, row[number >> 4 * at & 15])
    return found


def challenge(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def is_signed(public_key: str, signature: str, message: bytes) -> bool:
    key, sign = bytes.fromhex(public_key), bytes.fromhex(signature)
    number = int.from_bytes(sign[32:], "little")
    if len(sign) != 64 or number >= ORDER:
        return False
    mine = point_times(ORDER - challenge(sign[:32], key, message), key)
    base = point_times(number, BASE)
    return mine is not None and base is not None and point_bytes(point_add(base, mine)) == sign[:32]


def anchor_message(line: Record) -> bytes:
    """What the signature of a line of an anchor covers. The hash of the block covers its whole header."""
    names = ("chain_id", "tenant_id", "block_no", "block_hash")
    return b"\x08" + canonical("stepwell.anchor.1", *(line[name] for name in names))


# Files


def utf8(text: str) -> bytes:
    """The text as bytes; half of a pair of UTF-16, which no text has, becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", "\ufffd", text).encode()


def write_json(value: Any) -> bytes:
    return utf8(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def write_lines(rows: Iterable[Any]) -> bytes:
    return utf8("".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows))


def read_lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def pack(entries: Mapping[str, bytes]) -> bytes:
    """Pack files in the one way of a bundle: no times, no compression, manifest first, then by name."""
    files, index, at = [], [], 0
    for name in sorted(entries, key=lambda name: (name != "manifest.json", name)):
        data, raw = entries[name], name.encode()
        # Version 2.0, no flags, stored, 1980-01-01, checksum, sizes, length of the name, no extra field.
        common = struct.pack(
            "<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(raw), 0
        )
        files += [b"PK\x03\x04", common, raw, data]
        rest = struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, at)
        index += [b"PK\x01\x02", struct.pack("<H", 3 << 8 | 20), common, rest, raw]
        at += 30 + len(raw) + len(data)
    size = sum(map(len, index))
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), size, at, 0)
    return b"".join((*files, *index, b"PK\x05\x06", end))


def unpack(data: bytes) -> dict[str, bytes] | None:
    """The files of a bundle, also if checksums are wrong, so that changes can be named; None if cut off."""
    entries: dict[str, bytes] = {}
    at = 0
    while data[at : at + 4] == b"PK\x03\x04" and at + 30 <= len(data):
        method, size, name_size, extra_size = struct.unpack_from("<8xH8xI4xHH", data, at)[0:4]
        start = at + 30 + name_size + extra_size
        name = data[at + 30 : at + 30 + name_size].decode("latin-1")
        if method != 0 or start + size > len(data) or name in entries:
            return None
        entries[name] = data[start : start + size]
        at = start + size
    return entries if entries and data[at : at + 4] == b"PK\x01\x02" else None


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
    head = read_lines(entries["chain.jsonl"])[-1]
    return write_json(
        {
            "format": FORMAT,
            "run_id": run["run_id"],
            "workflow": run.get("workflow"),
            "state": run.get("state_code"),
            "with_payloads": run["with_payloads"],
            "contents_digest": contents_digest(entries),
            "head": {name: head[name] for name in ("block_no", "block_hash", "sealed_at")},
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


def refuse(text: str) -> Any:
    raise ValueError(text)


def loads(text: str) -> Any:
    """JSON of a payload or value: long integers are inexact, at most 500 levels. Raises ValueError."""
    if nesting(text) > SHAPE_NESTING_LIMIT:
        raise ValueError("too deep")

    def integer(text: str) -> float:
        return int(text) if len(text.lstrip("-")) <= DIGITS_LIMIT else float("inf")

    return json.loads(text, parse_constant=refuse, parse_int=integer)


def parse(text: str) -> Any:
    """Strict JSON: integers of at most 19 digits, no other numbers, at most 32 levels. Raises ValueError."""

    def integer(text: str) -> int:
        return int(text) if len(text.lstrip("-")) <= DIGITS_LIMIT else refuse(text)

    if nesting(text) > NESTING_LIMIT:
        raise ValueError("too deep")
    return json.loads(text, parse_float=refuse, parse_constant=refuse, parse_int=integer)


def nesting(text: str) -> int:
    """How deep the lists and objects of a JSON text are."""
    deepest = depth = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark, 0)
        deepest = max(deepest, depth)
    return deepest


def parse_file(name: str, data: bytes) -> list[Any] | None:
    """The records of a file, or its document as the only record; None if it is not in the canonical form."""
    try:
        if name.endswith(".json"):
            found = [parse(data.decode())]
            return found if write_json(found[0]) == data else None
        found = [parse(line) for line in data.decode().split("\n")[:-1]]
        return found if write_lines(found) == data else None
    except (ValueError, RecursionError):
        return None


PATTERNS = {
    "h": re.compile(r"[0-9a-f]{64}"),
    "g": re.compile(r"[0-9a-f]{128}"),
    "z": re.compile(r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"),
}


def has_type(value: Any, kind: str) -> bool:
    if kind.endswith("*"):
        return isinstance(value, list) and all(has_type(inner, kind[:-1]) for inner in value)
    if kind.endswith("?"):
        return value is None or has_type(value, kind[:-1])
    if kind == "s":
        return has_type(value, "t") or has_type(value, "i")
    if kind == "b":
        return isinstance(value, bool)
    if kind == "i":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return isinstance(value, str) and (kind == "t" or PATTERNS[kind].fullmatch(value) is not None)


def has_fields(value: Any, kind: str) -> bool:
    wanted = TYPES[kind]
    return (
        isinstance(value, dict)
        and set(value) == set(wanted)
        and all(has_type(value[name], wanted[name]) for name in wanted)
    )


def shape(text: str) -> list[str]:
    """The names in a JSON text with their types, but without the values: `$.items[].price: number`."""
    if nesting(text) > SHAPE_NESTING_LIMIT:
        return ["$: deep"]
    found: dict[str, None] = {}
    try:
        _walk(loads(text), "$", 0, found)
    except ValueError:
        return ["$: no JSON"]
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


# Documents: what the sealed events say


def payload_of(event: Record) -> dict[str, Any]:
    """The shown payload of an event; empty if it is not shown or no object."""
    try:
        found = loads(event["payload"] or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def typed(payload: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    """The named fields of a payload; null for those that are missing or have another type."""
    return {
        name: payload[name] if has_type(payload.get(name), kind) else None for name, kind in kinds.items()
    }


def value_digest(value: Any) -> dict[str, Any] | None:
    fits = (
        isinstance(value, dict)
        and set(value) == {"size", "commitment"}
        and has_type(value["size"], "i")
        and has_type(value["commitment"], "h")
    )
    return value if fits else None


APPROVAL = {
    "action": "t", "subject_unit_id": "i", "reason": "t", "tier": "i", "quorum": "i", "acting": "t",
    "approvers": "t*", "approver_role": "t", "expires_at": "z",
}  # fmt: skip
VERDICT = {
    "verdict_id": "i", "attempt": "i", "connector": "t", "operation": "t", "target": "t",
    "idempotency_key": "t", "action_hash": "t", "effect": "t", "reason_code": "t", "reason": "t",
    "policy_version": "i", "rules_hash": "t", "rule": "t", "tier": "t", "two_person": "b",
    "approval_id": "i", "receipt_id": "i",
}  # fmt: skip
INTENT = {"idempotency_key": "t", "unit_id": "i", "step_id": "t", "verdict_id": "i", "approval_id": "i"}
ACTION = {
    "connector": "t", "operation": "t", "target": "t", "action_hash": "t", "writes": "b",
    "reversible": "b", "requested_by": "t", "acting": "t", "reverses_receipt_id": "i",
}  # fmt: skip
OUTCOME = {
    "external_id": "t", "reversible": "b", "provider": "t", "model": "t", "input_tokens": "i",
    "output_tokens": "i", "cost_micros": "i", "currency": "t",
}  # fmt: skip
# What the input of a run says beside the input itself.
# What run.json says that no event proves; a bundle of a strict database has no mode.
RUN_CLAIMS = ("run_id", "streams", "with_payloads", "mode")
RUN_FACTS = (
    "workflow", "version_no", "graph_hash", "trigger_type", "trigger_ref", "trace_id", "correlation_id",
    "started_by", "parent_unit_id", "depth",
)  # fmt: skip


class Story:
    """What events say: receives them in any order, gives documents and digests of values.

    Events are told by `event_id`, the order in which they happened. The order of the log is another one: a
    transaction that began earlier may change a unit later.
    """

    def __init__(self, run_id: int, events: Iterable[Record]) -> None:
        self.run_id = run_id
        self.approvals: dict[int, dict[str, Any]] = {}
        self.decisions: list[dict[str, Any]] = []
        self.receipts: dict[int, dict[str, Any]] = {}
        self.attempts: dict[int, list[int | None]] = {}
        self.units: dict[int, dict[str, Any]] = {}
        # Streams of approvals and receipts that the run names.
        self.named: set[int] = set()
        # Label → unit, time, size and hash of a value of an approval or a receipt.
        self.digests: dict[str, dict[str, Any]] = {}
        for event in sorted(events, key=lambda event: (event["event_id"], event["tx"])):
            payload = payload_of(event)
            if event["stream_id"] == run_id:
                self._tell_run(event, payload)
            elif event["event_type"].startswith("approval."):
                self._tell_approval(event, payload)
            elif event["event_type"].startswith("receipt."):
                self._tell_receipt(event, payload)

    def _tell_run(self, event: Record, payload: dict[str, Any]) -> None:
        unit = self.units.setdefault(
            event["unit_id"],
            {"first": event, "state_code": "not_started", "started_at": None, "changed_at": None,
             "failure_count": 0, "actor": None},
        )  # fmt: skip
        if event["to_state"] is not None:
            unit["state_code"], unit["changed_at"] = event["to_state"], event["at"]
            if event["to_state"] == "in_progress" and unit["started_at"] is None:
                unit["started_at"] = event["at"]
            unit["failure_count"] += event["to_state"] == "failed"
            if event["actor_class"] not in ("mow_orchestrator", "system") and event["actor"] is not None:
                unit["actor"] = event["actor"]
        if not event["event_type"].startswith(("action.", "approval.")):
            return
        ids = typed(payload, {"approval_id": "i", "receipt_id": "i"})
        self.named |= {found >> 20 for found in ids.values() if found is not None}
        if event["event_type"] == "action.judged":
            verdict = typed(payload, VERDICT)
            self.decisions.append({**verdict, "unit_id": event["unit_id"], "decided_at": event["at"]})
            if ids["receipt_id"] is not None:
                self.attempts.setdefault(ids["receipt_id"], []).append(verdict["attempt"])

    def _tell_approval(self, event: Record, payload: dict[str, Any]) -> None:
        if event["event_type"] == "approval.requested":
            self.approvals[event["unit_id"]] = {
                **typed(payload, APPROVAL), "approval_id": event["unit_id"], "state_code": None,
                "requested_by": event["actor"], "requested_at": event["at"], "decided_at": None,
                "decided_by": None, "about": value_digest(payload.get("about")), "votes": [],
            }  # fmt: skip
            self._note(f"approval:{event['unit_id']}:about", event, payload.get("about"))
        approval = self.approvals.get(event["unit_id"])
        if approval is None:
            return
        if event["event_type"] == "approval.vote_recorded":
            vote = typed(payload, {"voter": "t", "decision": "t", "reason": "t"})
            others = [one for one in approval["votes"] if one["voter"] != vote["voter"]]
            approval["votes"] = [*others, {**vote, "voted_at": event["at"], "actor": event["actor"]}]
        if event["to_state"] is not None:
            approval["state_code"] = event["to_state"]
            is_open = event["to_state"] == "requested"
            approval["decided_at"] = None if is_open else event["at"]
            approval["decided_by"] = None if is_open else event["actor"]

    def _tell_receipt(self, event: Record, payload: dict[str, Any]) -> None:
        blank = dict.fromkeys(
            ("state_code", "settled_at", "settled_by", "reversed_by_receipt_id", *INTENT, *ACTION, *OUTCOME)
        )
        receipt = self.receipts.setdefault(
            event["unit_id"], {**blank, "receipt_id": event["unit_id"], "intended_at": event["at"]}
        )
        state = event["to_state"]
        if state is None:
            return
        label = f"receipt:{event['unit_id']}:"
        receipt["state_code"] = state
        if state == "intended":
            receipt.update(typed(payload, INTENT), settled_at=None, settled_by=None)
            self.digests.pop(label + "response", None)
            if "connector" in payload:
                receipt.update(typed(payload, ACTION))
                self._note(label + "request", event, payload.get("request"))
        elif state == "reversed":
            receipt.update(typed(payload, {"reversed_by_receipt_id": "i"}))
        elif "reversible" in payload:
            receipt.update(typed(payload, OUTCOME))
            for part in ("response", "prior", "reversal"):
                self.digests.pop(label + part, None)
                self._note(label + part, event, payload.get(part))
        if state in ("confirmed", "void"):
            receipt.update(settled_at=event["at"], settled_by=event["actor"])

    def _note(self, label: str, event: Record, told: Any) -> None:
        found = value_digest(told)
        if found is not None:
            self.digests[label] = {"unit_id": event["unit_id"], "at": event["at"], "facts": [], **found}

    def documents(self, claims: Record, tenant_id: int, facts: Record, graph: Any) -> dict[str, Any]:
        """The derived files. `claims` are RUN_CLAIMS; `facts` are RUN_FACTS."""
        receipts = [
            {
                **self.receipts[receipt_id],
                "attempt": (self.attempts.get(receipt_id) or [None])[-1],
                "try_count": len(self.attempts.get(receipt_id, ())),
                "values": {
                    part: {name: found[name] for name in ("size", "commitment")}
                    for part in ("prior", "request", "response", "reversal")
                    for found in [self.digests.get(f"receipt:{receipt_id}:{part}")]
                    if found is not None
                },
            }
            for receipt_id in sorted(self.receipts)
        ]
        return {
            "run.json": self._run(claims, tenant_id, facts, graph),
            "approvals.json": [self.approvals[approval_id] for approval_id in sorted(self.approvals)],
            "decisions.json": self.decisions,
            "receipts.json": receipts,
            "costs.json": costs(receipts),
        }

    def _run(self, claims: Record, tenant_id: int, facts: Record, graph: Any) -> dict[str, Any]:
        own = self.units.get(self.run_id << 20)
        made = {
            **claims, **facts, "tenant_id": tenant_id,
            "created_at": None, "finished_at": None, "state_code": None, "steps": self._steps(graph),
        }  # fmt: skip
        if own is not None:
            made |= {
                "created_at": own["first"]["at"], "finished_at": own["changed_at"],
                "state_code": own["state_code"],
            }  # fmt: skip
            if made["started_by"] is None:
                made["started_by"] = own["first"]["actor"]
        return made

    def _steps(self, graph: Any) -> list[dict[str, Any]]:
        defined = {}
        steps = graph.get("steps") if isinstance(graph, dict) else None
        for number, step in enumerate(steps if isinstance(steps, list) else [], 1):
            if isinstance(step, dict) and not step.get("scope"):
                known = typed(step, {"id": "t", "kind": "t", "operation": "t"})
                mandatory = step.get("mandatory", True) is not False
                defined[self.run_id << 20 | number] = {
                    "name": known["id"], "kind": known["kind"], "operation": known["operation"],
                    "mandatory": mandatory,
                }  # fmt: skip
        nothing = {"name": None, "kind": None, "operation": None, "mandatory": None}
        idle = {
            "state_code": "not_started", "started_at": None, "changed_at": None, "failure_count": 0,
            "actor": None,
        }  # fmt: skip
        return [
            {
                "unit_id": unit_id,
                **defined.get(unit_id, nothing),
                **{name: self.units.get(unit_id, idle)[name] for name in idle},
            }
            for unit_id in sorted({*defined, *self.units} - {self.run_id << 20})
        ]


def costs(receipts: Iterable[Record]) -> list[dict[str, Any]]:
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


def run_facts(run_id: int, values: Iterable[Record]) -> dict[str, Any]:
    """What the sealed input says about the run; null for each where no input is sealed."""
    given = next((value["facts"] for value in values if value["label"] == f"input:{run_id}"), None)
    if given is None or len(given) != len(RUN_FACTS):
        return dict.fromkeys(RUN_FACTS)
    return dict(zip(RUN_FACTS, given))  # noqa: B905 - Python 3.9


def must_show(event: Record, with_payloads: bool) -> bool:
    """Whether a bundle shows the payload of an event."""
    is_governed = event["event_type"].startswith(SHOWN_PREFIXES)
    return event["payload_commitment"] is not None and (with_payloads or is_governed)


def shows_payload(event: Record) -> bool:
    """Whether the shown payload is the payload that was sealed."""
    text = event["payload"]
    return bool(
        commitment(bytes.fromhex(event["salt"]), text) == event["payload_commitment"]
        and len(text.encode()) == event["payload_size"]
    )


# Checks, in the order of docs/evidence-format.md


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
        named = [
            payload_of(event).get("digest")
            for event in self.events
            if event["event_type"] == SEAL_EVENT
            and event["stream_id"] == self.run["run_id"]
            and self._block_of(event) == self.head["block_no"]
            and event["payload"] is not None
            and event["salt"] is not None
            and shows_payload(event)
        ]
        if not named:
            self.say("contents.unsealed", "the files of the bundle")
        elif contents_digest(self.entries) not in named:
            self.say("contents.differs", "the files of the bundle")

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


def believed_lines(
    lines: Sequence[Record], keys: Sequence[str] | None, needed: Iterable[int] | None = None
) -> tuple[list[Record], list[Finding]]:
    """The lines of one chain that count, and what is wrong with others; `needed`: only these blocks.

    A line with a header matches its own hash. With keys, oldest first, a line counts if one of them signed
    it. Lines without a signature are accepted only up to the first signature, and do not count. The lines of
    a replaced key end where those of the next key begin, and the newest key has signed at least one block.
    """
    wanted = None if needed is None else set(needed)
    ranks = {key: rank for rank, key in enumerate(keys or ())}
    first: dict[str, int] = {}
    for line in lines:
        key = key_of(line)
        if key in ranks:
            first[str(key)] = min(line["block_no"], first.get(str(key), line["block_no"]))
    begin = min(first.values(), default=-1)
    believed, findings = [], []
    for line in sorted(lines, key=lambda line: (line["block_no"], line["block_hash"])):
        key, number = key_of(line), line["block_no"]
        if wanted is not None and number not in wanted and number != first.get(str(key)):
            continue
        code = None
        if not fits_itself(line):
            code = "anchor.line"
        elif keys is not None and key is None and number <= begin:
            continue
        elif keys is not None and (key not in ranks or not signs(line)):
            code = "anchor.signature"
        elif any(first[other] < number for other in first if ranks[other] > ranks.get(str(key), 0)):
            code = "anchor.key"
        if code is None:
            believed.append(line)
        else:
            findings.append(Finding(code, f"block {number} in the anchor"))
    if keys and lines and keys[-1] not in first:
        findings.append(Finding("anchor.key", "the anchor"))
    return believed, findings


def key_of(line: Record) -> str | None:
    """The key that a line says has signed it; empty if it says something else."""
    found = line.get("public_key", "" if "signature" in line else None)
    return found if found is None or isinstance(found, str) else ""


def fits_itself(line: Record) -> bool:
    """Whether the header in a line has the hash that the line says. Earlier releases wrote no header."""
    if not any(name in line for name in ("event_root", "first_tx", "public_key", "signature")):
        return True
    return (
        all(has_type(line.get(name), kind) for name, kind in TYPES["header"].items())
        and has_type(line.get("tenant_id"), "i")
        and block_hash(line["chain_id"], line) == line["block_hash"]
    )


def signs(line: Record) -> bool:
    return (
        has_type(line.get("public_key"), "h")
        and has_type(line.get("signature"), "g")
        and is_signed(line["public_key"], line["signature"], anchor_message(line))
    )


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


def read_entries(data: bytes) -> tuple[dict[str, bytes], list[Finding]]:
    """The files, and what is wrong with their form; no files if they cannot be checked further."""
    entries = unpack(data)
    if entries is None:
        return {}, [Finding("zip.broken", "the bundle")]
    findings = [] if pack(entries) == data else [Finding("zip.bytes", "the bundle")]
    if "manifest.json" not in entries:
        return {}, [Finding("file.missing", "manifest.json"), *findings]
    told = parse_file("manifest.json", entries["manifest.json"])
    if told is None or not isinstance(told[0], dict):
        return {}, [Finding("json.form", "manifest.json"), *findings]
    if told[0].get("format") != FORMAT:
        code = "format.old" if told[0].get("format") in OLD_FORMATS else "format.unknown"
        return {}, [Finding(code, "manifest.json"), *findings]
    wrong = [Finding("file.missing", name) for name in FILES if name not in entries]
    wrong += [Finding("file.unknown", name) for name in sorted(set(entries) - set(FILES))]
    return ({}, wrong + findings) if wrong else (entries, findings)


def read_records(entries: Mapping[str, bytes]) -> tuple[dict[str, list[Any]], list[Finding]]:
    """The records of all files in the canonical form with the right fields, or what is wrong with them."""
    records: dict[str, list[Any]] = {}
    findings = []
    for name in FILES:
        if name.endswith((".json", ".jsonl")) and name != "graph.json":
            found = parse_file(name, entries[name])
            if found is None:
                findings.append(Finding("json.form", name))
            else:
                records[name] = found
    if findings:
        return {}, findings
    for name, kind in (
        ("chain.jsonl", "block"), ("events.jsonl", "event"), ("proofs.jsonl", "proof"),
        ("streams.jsonl", "entry"),
    ):  # fmt: skip
        for at, record in enumerate(records[name], 1):
            if not has_fields(record, "genesis" if (name, at) == ("chain.jsonl", 1) else kind):
                findings.append(Finding("json.fields", f"{name} line {at}"))
    if len(records["chain.jsonl"]) < 2:
        findings.append(Finding("json.fields", "chain.jsonl"))
    values, run = records["values.json"][0], records["run.json"][0]
    if not isinstance(values, list):
        findings.append(Finding("json.fields", "values.json"))
    for at, value in enumerate(values if isinstance(values, list) else []):
        if not has_fields(value, "value"):
            findings.append(Finding("json.fields", f"values.json[{at}]"))
    if not (
        isinstance(run, dict)
        and has_type(run.get("run_id"), "i")
        and has_type(run.get("with_payloads"), "b")
        and run.get("mode", "development") == "development"
        and isinstance(run.get("streams"), list)
        and all(has_fields(stream, "stream") for stream in run["streams"])
    ):
        findings.append(Finding("json.fields", "run.json"))
    return records, findings


def verify(
    data: bytes, head: str | None = None, anchored: Iterable[Record] | None = None, later: Any = None,
    keys: Sequence[str] | None = None,
) -> list[Finding]:  # fmt: skip
    """All findings; none if the bundle is intact, and the trusted block or the anchor vouches for it."""
    entries, form = read_entries(data)
    if not entries:
        return form
    records, wrong = read_records(entries)
    if wrong:
        return wrong + form
    bundle = Bundle(entries, records)
    bundle.check()
    bundle.check_trust(head, anchored, later, keys)
    return bundle.findings + form


def read_anchor(data: bytes) -> list[dict[str, Any]]:
    """Anchored headers. Other lines are ignored: after a crash a block is written again."""
    found = []
    for line in data.decode(errors="replace").split("\n"):
        try:
            header = parse(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(header, dict) and all(
            has_type(header.get(name), kind)
            for name, kind in (("chain_id", "t"), ("block_no", "i"), ("block_hash", "h"))
        ):
            found.append(header)
    return found


def read_keys(data: bytes) -> list[str]:
    """Public keys, one in each line, oldest first; the rest of a line after `#` is ignored."""
    keys = [line.split("#")[0].strip() for line in data.decode().split("\n")]
    found = [key for key in keys if key]
    if not found or not all(has_type(key, "h") for key in found) or len(set(found)) != len(found):
        raise ValueError("keys: one public key in each line is accepted, 64 hexadecimal digits, each once")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verify an evidence bundle of Stepwell, offline.")
    parser.add_argument("bundle", help="the file to verify")
    parser.add_argument(
        "--head", help="the hash of a trusted block: the head of the bundle, or a later block"
    )
    parser.add_argument("--anchor", help="a file of anchored block headers, one JSON object in each line")
    parser.add_argument("--later", help="a proof that a trusted or anchored block comes after the head")
    parser.add_argument("--keys", help="the public keys that sign the anchor, one in each line, oldest first")
    given = parser.parse_args(arguments)
    try:
        data, anchor, later, keys = (
            None if name is None else open(name, "rb").read()  # noqa: PTH123, SIM115 - one import less
            for name in (given.bundle, given.anchor, given.later, given.keys)
        )
        assert data is not None
        anchored = None if anchor is None else read_anchor(anchor)
        proof = None if later is None else parse(later.decode())
        known = None if keys is None else read_keys(keys)
        if known is not None and anchored is None:
            raise ValueError("--keys goes with --anchor")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"verify: {error}\n")
        return 2
    findings = verify(data, given.head, anchored, proof, known)
    for finding in findings[:PROBLEM_LIMIT]:
        sys.stdout.write(f"{finding}\n")
    sha256 = hashlib.sha256(data).hexdigest()
    if findings:
        sys.stdout.write(f"NOT verified: {len(findings)} findings, sha256 {sha256}\n")
        return 1
    entries, _ = read_entries(data)
    said = json.loads(entries["manifest.json"])
    sys.stdout.write(
        f"verified: run {said['run_id']} ({said['workflow']}, {said['state']}), "
        f"{len(read_lines(entries['events.jsonl']))} events, sealed in block {said['head']['block_no']}\n"
        f"  head   {said['head']['block_hash']}\n"
        f"  sha256 {sha256}\n"
    )
    sys.stdout.write(f"  {compared(given.head, anchored, known)}\n")
    return 0


def compared(head: str | None, anchored: Sequence[Record] | None, keys: Sequence[str] | None) -> str:
    """The sentence that says what vouches for the head."""
    if head is None and anchored is None:
        return "the head was compared with nothing: give --head or --anchor"
    if anchored is None:
        return "the head was compared with --head"
    what = "signatures were not checked: give --keys" if keys is None else f"signatures of {len(keys)} keys"
    return f"the head was compared with {'--head and ' if head else ''}the anchor; {what}"


if __name__ == "__main__":
    sys.exit(main())
