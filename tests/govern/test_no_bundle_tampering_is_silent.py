"""No change of a bundle is silent, and both verifiers say the same about each.

The cases come from the bundle itself. `make test` takes a seeded sample, `make chaos` all of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.govern import verify as verifier
from tests.govern.both_verifiers import SCRIPT, Both, both_verifiers
from tests.govern.bundle_tamper import Case, cases
from tests.govern.conftest import Sample

SAMPLE = 120
SEED = int(os.environ.get("STEPWELL_TAMPER_SEED", "18"))
IS_WHOLE = os.environ.get("STEPWELL_TAMPER") == "all"


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with both_verifiers() as found:
        yield found


def chosen(data: bytes) -> list[Case]:
    every = list(cases(data))
    return every if IS_WHOLE else random.Random(SEED).sample(every, SAMPLE)


@pytest.mark.requirement("RT-10")
@pytest.mark.parametrize("kind", ["metadata", "values"])
def test_no_change_is_silent(sample: Sample, both: Both, kind: str, record_property):
    """With the head that the owner trusts, every change of any field has a finding of both verifiers."""
    data, head = (
        (sample.data, sample.exported.head_hash)
        if kind == "metadata"
        else (sample.data_with_payloads, sample.exported_with_payloads.head_hash)
    )
    assert both.verify(data, head=head) == []
    picked = chosen(data)
    silent, same = [], 0
    for case in picked:
        made = case.make()
        if made == data:
            same += 1
        elif not both.verify(made, head=head):
            silent.append(case.name)
    record_property("cases", len(picked) - same)
    assert silent == []
    assert len(picked) - same > len(picked) // 2


def test_every_byte_counts(sample: Sample, both: Both):
    """One changed byte, anywhere in the file, and every length of a cut."""
    draw = random.Random(SEED)
    for _ in range(60):
        forged = bytearray(sample.data)
        forged[draw.randrange(len(forged))] ^= draw.randrange(1, 256)
        assert both.verify(bytes(forged)) != []
        assert both.verify(sample.data[: draw.randrange(len(sample.data))]) != []


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip", verifier.pack({}), verifier.pack({"manifest.json": b"{}\n"})]
)
def test_what_is_no_bundle_is_refused(both: Both, data: bytes):
    assert both.verify(data) != []


def test_an_older_format_is_named(sample: Sample, both: Both):
    entries = verifier.unpack(sample.data)
    assert entries is not None
    for told, code in (("stepwell.evidence.1", "format.old"), ("stepwell.evidence.9", "format.unknown")):
        entries["manifest.json"] = verifier.write_json({"format": told, "run_id": 1})
        (found,) = both.verify(verifier.pack(entries))
        assert (found.code, found.kind) == (code, "unproven")


def test_the_codes_are_those_of_the_document():
    """The document lists every code with its kind; the JavaScript file has the same table."""
    text = Path("docs/evidence-format.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    kinds = {kind for kind, _ in verifier.CODES.values()}
    listed = {row[0].strip("`"): row[1] for row in rows if len(row) == 3 and row[1] in kinds}
    assert listed == {code: kind for code, (kind, _) in verifier.CODES.items()}
    script = SCRIPT.read_text(encoding="utf-8")
    for code, (kind, sentence) in verifier.CODES.items():
        assert f"'{code}': ['{kind}', '{sentence}']" in script
