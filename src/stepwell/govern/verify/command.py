"""Verify a bundle: receives its bytes, or the arguments of the command line, returns findings."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stepwell.govern.verify.anchors import compared, read_anchor, read_keys
from stepwell.govern.verify.checks import Bundle
from stepwell.govern.verify.files import pack, parse, read_lines, unpack
from stepwell.govern.verify.reading import list_findings, read_records
from stepwell.govern.verify.words import PROBLEM_LIMIT, Finding, Record


def verify(
    data: bytes, head: str | None = None, anchored: Iterable[Record] | None = None, later: Any = None,
    keys: Sequence[str] | None = None,
) -> list[Finding]:  # fmt: skip
    """All findings; none if the bundle is intact, and the trusted block or the anchor vouches for it."""
    entries = unpack(data)
    if entries is None:
        return [Finding("zip.broken", "the bundle")]
    form = [] if pack(entries) == data else [Finding("zip.bytes", "the bundle")]
    return verify_files(entries, head, anchored, later, keys) + form


def verify_files(
    entries: Mapping[str, bytes], head: str | None = None, anchored: Iterable[Record] | None = None,
    later: Any = None, keys: Sequence[str] | None = None,
) -> list[Finding]:  # fmt: skip
    """The findings of the files of a bundle, by name."""
    listed = list_findings(entries)
    if listed:
        return listed
    records, wrong = read_records(entries)
    if wrong:
        return wrong
    bundle = Bundle(entries, records)
    bundle.check()
    bundle.check_trust(head, anchored, later, keys)
    return bundle.findings


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
    entries = unpack(data) or {}
    said = json.loads(entries["manifest.json"])
    sys.stdout.write(
        f"verified: run {said['run_id']} ({said['workflow']}, {said['state']}), "
        f"{len(read_lines(entries['events.jsonl']))} events, sealed in block {said['head']['block_no']}\n"
        f"  head   {said['head']['block_hash']}\n"
        f"  sha256 {sha256}\n"
    )
    sys.stdout.write(f"  {compared(given.head, anchored, known)}\n")
    return 0
