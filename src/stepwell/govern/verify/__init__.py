"""Verify an evidence bundle offline: receives a file, returns its findings.

Every bundle carries this verifier as one file, which `single_file` makes of these modules. They import only
each other and the standard library of Python 3.9.
"""

from stepwell.govern.verify.anchors import believed_lines, compared, read_anchor, read_keys
from stepwell.govern.verify.command import verify, verify_files
from stepwell.govern.verify.files import (
    contents_digest,
    manifest,
    pack,
    parse,
    read_lines,
    unpack,
    write_json,
    write_lines,
)
from stepwell.govern.verify.hashes import (
    block_hash,
    commitment,
    digest,
    event_leaf,
    genesis_hash,
    levels,
    path,
    path_root,
    root,
    salt_of,
    stream_entry,
    value_hash,
)
from stepwell.govern.verify.reading import list_findings
from stepwell.govern.verify.shapes import shape
from stepwell.govern.verify.signatures import (
    BASE,
    ORDER,
    anchor_message,
    challenge,
    is_signed,
    point_bytes,
    point_times,
)
from stepwell.govern.verify.story import (
    VERDICT,
    Story,
    costs,
    must_show,
    payload_of,
    run_facts,
    typed,
    value_digest,
)
from stepwell.govern.verify.words import (
    CODES,
    DERIVED_FILES,
    EVENT_FIELDS,
    FILES,
    PROBLEM_LIMIT,
    SEAL_EVENT,
    VALUE_FIELDS,
    Finding,
    Problem,
)

__all__ = [
    "BASE",
    "CODES",
    "DERIVED_FILES",
    "EVENT_FIELDS",
    "FILES",
    "ORDER",
    "PROBLEM_LIMIT",
    "SEAL_EVENT",
    "VALUE_FIELDS",
    "VERDICT",
    "Finding",
    "Problem",
    "Story",
    "anchor_message",
    "believed_lines",
    "block_hash",
    "challenge",
    "commitment",
    "compared",
    "contents_digest",
    "costs",
    "digest",
    "event_leaf",
    "genesis_hash",
    "is_signed",
    "levels",
    "list_findings",
    "manifest",
    "must_show",
    "pack",
    "parse",
    "path",
    "path_root",
    "payload_of",
    "point_bytes",
    "point_times",
    "read_anchor",
    "read_keys",
    "read_lines",
    "root",
    "run_facts",
    "salt_of",
    "shape",
    "stream_entry",
    "typed",
    "unpack",
    "value_digest",
    "value_hash",
    "verify",
    "verify_files",
    "write_json",
    "write_lines",
]
