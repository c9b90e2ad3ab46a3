"""Read and write the files of a bundle, each in its one canonical form."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from stepwell.govern.verify.words import (
    DIGITS_LIMIT,
    FORMAT,
    NESTING_LIMIT,
    PROOF_FILES,
    SHAPE_NESTING_LIMIT,
    TYPES,
)


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
    """How deep the lists and objects of a JSON text are.

    A pattern with a choice for each character of a string needs a hundred bytes for each of them; so escapes
    and strings are taken out first.
    """
    if "\\" in text:
        text = re.sub(r"\\.", "", text, flags=re.DOTALL)
    deepest = depth = 0
    for mark in re.findall(r"[\[\]{}]", re.sub(r'"[^"]*"', "", text)):
        depth += 1 if mark in "[{" else -1
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
