"""Generates changed bundles from the bundle itself: receives its files, returns cases by name.

Every field of every JSON file is edited, set to null, removed, added and doubled; every list loses, doubles
and swaps its items; every file is removed, cut, extended. Each case exists three times: as it is, with a new
manifest, and with all hashes that an attacker without the database can compute.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from stepwell.govern import verify as v

Entries = dict[str, bytes]
Change = Callable[[Entries], None]


class Case(NamedTuple):
    """`files` makes the changed files."""

    name: str
    files: Callable[[], Entries]


def cases(data: bytes) -> Iterator[Case]:
    """All cases of one bundle."""
    entries = v.unpack(data)
    assert entries is not None
    for name, change in _changes(entries):
        for effort in (_as_it_is, _with_manifest, _with_hashes):
            yield Case(f"{name}, {effort.__name__[1:]}", _maker(entries, change, effort))


def _maker(entries: Entries, change: Change, effort: Change) -> Callable[[], Entries]:
    def make() -> Entries:
        mine = dict(entries)
        change(mine)
        effort(mine)
        return mine

    return make


def _as_it_is(entries: Entries) -> None:
    pass


def _with_manifest(entries: Entries) -> None:
    with suppress(KeyError, ValueError, TypeError, IndexError, AttributeError):
        entries["manifest.json"] = v.manifest(entries)


def _with_hashes(entries: Entries) -> None:
    """What an attacker can compute: leaves, roots of whole blocks, headers, links, the manifest."""
    with suppress(KeyError, ValueError, TypeError, IndexError, AttributeError):
        forge(entries)
    _with_manifest(entries)


def forge(entries: Entries, **other: Any) -> None:
    """Make the changed files the sealed ones: blocks of the shown events alone, with headers that fit."""
    chain, *blocks = v.read_lines(entries["chain.jsonl"])
    events, proofs = v.read_lines(entries["events.jsonl"]), v.read_lines(entries["proofs.jsonl"])
    chain |= other
    chain["genesis_hash"] = v.genesis_hash(chain)
    for event in reversed(events):
        if event["event_type"] == v.SEAL_EVENT:
            payload = json.loads(event["payload"]) | {"digest": v.contents_digest(entries)}
            event["payload"] = json.dumps(payload, ensure_ascii=False)
            event["payload_size"] = len(event["payload"].encode())
            event["payload_commitment"] = v.commitment(bytes.fromhex(event["salt"]), event["payload"])
            break
    by_position = {(event["tx"], event["event_id"]): event for event in events}
    for block in blocks:
        mine = [
            by_position[proof["tx"], proof["event_id"]]
            for proof in sorted(proofs, key=lambda proof: proof["leaf_no"])
            if proof["block_no"] == block["block_no"] and (proof["tx"], proof["event_id"]) in by_position
        ]
        _forge_block(chain, block, mine, proofs, entries)
        before = next((one for one in blocks if one["block_no"] == block["block_no"] - 1), None)
        if before is not None or block["block_no"] == 1:
            block["previous_hash"] = chain["genesis_hash"] if before is None else before["block_hash"]
        if block is blocks[-1]:
            _forge_history(blocks)
        block["block_hash"] = v.block_hash(chain["chain_id"], block)
    entries["events.jsonl"], entries["proofs.jsonl"] = v.write_lines(events), v.write_lines(proofs)
    entries["chain.jsonl"] = v.write_lines([chain, *blocks])


def _forge_block(chain: Any, block: Any, mine: list[Any], proofs: list[Any], entries: Entries) -> None:
    """A block of only the shown events, as if the attacker had sealed them."""
    leaves = [v.event_leaf(chain["tenant_id"], event) for event in mine]
    tree = v.levels(leaves)
    places = {(event["tx"], event["event_id"]): at for at, event in enumerate(mine)}
    for proof in proofs:
        at = places.get((proof["tx"], proof["event_id"]))
        if at is not None and proof["block_no"] == block["block_no"]:
            proof["leaf_no"], proof["path"] = at, v.path(tree, at)
    streams = v.read_lines(entries["streams.jsonl"])
    held = sorted({event["stream_id"] for event in mine})
    own = [entry for entry in streams if entry["block_no"] == block["block_no"]]
    hashes = []
    for stream_id in held:
        (entry,) = [entry for entry in own if entry["stream_id"] == stream_id]
        picked = [leaf for leaf, event in zip(leaves, mine, strict=True) if event["stream_id"] == stream_id]
        entry["event_count"] = len(picked)
        hashes.append(v.stream_entry(stream_id, entry["previous_block_no"], picked))
    stream_tree = v.levels(hashes)
    for at, stream_id in enumerate(held):
        (entry,) = [entry for entry in own if entry["stream_id"] == stream_id]
        entry["entry_no"], entry["path"] = at, v.path(stream_tree, at)
    entries["streams.jsonl"] = v.write_lines(streams)
    block |= {
        "event_count": len(leaves), "event_root": v.root(leaves).hex(),
        "stream_count": len(held), "stream_root": v.root(hashes).hex(),
    }  # fmt: skip


def _forge_history(blocks: list[Any]) -> None:
    """A history of the shown headers; hashes of others are invented."""
    head = blocks[-1]
    known = {block["block_no"]: bytes.fromhex(block["block_hash"]) for block in blocks[:-1]}
    hashes = [known.get(number, bytes(32)) for number in range(1, head["block_no"])]
    tree = v.levels(hashes)
    head["history_root"] = v.root(hashes).hex()
    for block in blocks[:-1]:
        block["history_path"] = v.path(tree, block["block_no"] - 1)


def _changes(entries: Entries) -> Iterator[tuple[str, Change]]:
    for name in v.FILES:
        yield f"{name} removed", lambda mine, name=name: mine.pop(name)  # type: ignore[misc]
        yield f"{name} empty", _bytes(name, lambda data: b"")
        yield f"{name} cut", _bytes(name, lambda data: data[:-1])
        yield f"{name} longer", _bytes(name, lambda data: data + b"\n")
        yield f"{name} with blanks", _bytes(name, lambda data: data.replace(b": ", b":  ", 1))
        yield f"{name} with another byte", _bytes(name, lambda data: data[:-2] + b"#" + data[-1:])
        if name.endswith((".json", ".jsonl")) and name != "graph.json":
            yield from _document_changes(name, entries[name])
    yield "a file more", lambda mine: mine.update({"more.json": b"[]\n"})


def _bytes(name: str, act: Callable[[bytes], bytes]) -> Change:
    def change(entries: Entries) -> None:
        entries[name] = act(entries[name])

    return change


def _document_changes(name: str, data: bytes) -> Iterator[tuple[str, Change]]:
    is_lines = name.endswith(".jsonl")
    document = v.read_lines(data) if is_lines else json.loads(data)
    write = v.write_lines if is_lines else v.write_json

    def changed(path: tuple[Any, ...], act: Callable[[Any, Any], None]) -> Change:
        def change(entries: Entries) -> None:
            mine = copy.deepcopy(document)
            found = mine
            for step in path[:-1]:
                found = found[step]
            act(found, path[-1])
            entries[name] = write(mine)

        return change

    for path, value in _fields(document, ()):
        place = f"{name}{''.join(f'[{step!r}]' for step in path)}"
        for how, act in _acts(value):
            yield f"{place} {how}", changed(path, act)
        if isinstance(path[-1], str):
            yield f"{place} doubled name", _bytes(name, _double(path, value, is_lines))


def _fields(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place of a document with its value."""
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, found in inner:
        yield from _fields(found, (*path, step))


def _acts(value: Any) -> Iterator[tuple[str, Callable[[Any, Any], None]]]:
    def put(new: Any) -> Callable[[Any, Any], None]:
        return lambda holder, step: holder.__setitem__(step, new)

    if value is not None:
        yield "null", put(None)
    yield "removed", lambda holder, step: holder.__delitem__(step)
    yield "edited", put(_edited(value))
    if isinstance(value, int) and not isinstance(value, bool):
        yield "as a fraction", put(float(value))
    if isinstance(value, dict):
        yield "with a field more", put({**value, "forged": True})
    if isinstance(value, list):
        yield "with an item more", put([*value, "forged"])
        if value:
            yield "with the last item doubled", put([*value, value[-1]])
        if len(value) > 1:
            yield "in reverse", put(value[::-1])

    def doubled(holder: Any, step: Any) -> None:
        if isinstance(holder, list):
            holder.insert(step, copy.deepcopy(value))
        else:
            holder[f"{step}2"] = value

    yield "doubled", doubled

    def moved(holder: Any, step: Any) -> None:
        if isinstance(holder, list):
            holder.append(holder.pop(step)) if step + 1 < len(holder) else holder.insert(0, holder.pop(step))
        else:
            holder[f"{step}_"] = holder.pop(step)

    yield "moved", moved


def _edited(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        if len(value) == 64 and set(value) <= set("0123456789abcdef"):
            return ("1" if value[0] == "0" else "0") + value[1:]
        if value[:4].isdigit() and value.endswith("Z"):
            return "2001" + value[4:]
        return value + "x"
    if isinstance(value, list):
        return value[:-1] if value else ["forged"]
    if isinstance(value, dict):
        return {}
    return "forged"


def _double(path: tuple[Any, ...], value: Any, is_lines: bool) -> Callable[[bytes], bytes]:
    """The same name twice in one object: most readers take the last."""

    def act(data: bytes) -> bytes:
        text = data.decode()
        name = json.dumps(path[-1])
        lines = text.split("\n")
        at = path[0] if is_lines else next(at for at, line in enumerate(lines) if f"{name}: " in line)
        lines[at] = lines[at].replace(f"{name}: ", f"{name}: null, {name}: ", 1)
        return "\n".join(lines).encode()

    return act
