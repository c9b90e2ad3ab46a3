"""Read anchors and keys: receives lines, returns those that count and what is wrong with others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stepwell.govern.verify.files import has_type, parse
from stepwell.govern.verify.hashes import block_hash
from stepwell.govern.verify.signatures import anchor_message, is_signed
from stepwell.govern.verify.words import TYPES, Finding, Record


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
    keys = [line.split("#")[0].strip(" \t\r") for line in data.decode().split("\n")]
    found = [key for key in keys if key]
    if not found or not all(has_type(key, "h") for key in found) or len(set(found)) != len(found):
        raise ValueError("keys: one public key in each line is accepted, 64 hexadecimal digits, each once")
    return found


def compared(head: str | None, anchored: Sequence[Record] | None, keys: Sequence[str] | None) -> str:
    """The sentence that says what vouches for the head."""
    if head is None and anchored is None:
        return "the head was compared with nothing: give --head or --anchor"
    if anchored is None:
        return "the head was compared with --head"
    what = "signatures were not checked: give --keys" if keys is None else f"signatures of {len(keys)} keys"
    return f"the head was compared with {'--head and ' if head else ''}the anchor; {what}"
