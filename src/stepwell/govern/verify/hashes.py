"""The hashes of the seal and the tree of RFC 6962: receives fields, returns bytes or hexadecimal digits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from stepwell.govern.verify.words import BLOCK_FIELDS, EVENT_FIELDS, Record


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
