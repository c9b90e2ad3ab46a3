"""Read the files of a bundle: receives them by name, returns records, or what is wrong with their form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.govern.verify.files import has_fields, has_type, parse_file
from stepwell.govern.verify.words import FILES, FORMAT, OLD_FORMATS, Finding


def list_findings(entries: Mapping[str, bytes]) -> list[Finding]:
    """What is wrong with the list of files; such a bundle is not checked further."""
    if "manifest.json" not in entries:
        return [Finding("file.missing", "manifest.json")]
    told = parse_file("manifest.json", entries["manifest.json"])
    if told is None or not isinstance(told[0], dict):
        return [Finding("json.form", "manifest.json")]
    if told[0].get("format") != FORMAT:
        code = "format.old" if told[0].get("format") in OLD_FORMATS else "format.unknown"
        return [Finding(code, "manifest.json")]
    wrong = [Finding("file.missing", name) for name in FILES if name not in entries]
    return wrong + [Finding("file.unknown", name) for name in sorted(set(entries) - set(FILES))]


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
