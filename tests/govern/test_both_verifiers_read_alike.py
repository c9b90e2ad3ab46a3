"""Both verifiers read the same lines of an anchor and the same keys from any bytes."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from stepwell.govern import verify as verifier
from stepwell.govern.bundle import SCRIPT
from tests.govern.both_verifiers import NODE

HASH, KEY, OTHER = "ab" * 32, "cd" * 32, "ef" * 32
LINE = json.dumps({"chain_id": "c", "block_no": 7, "block_hash": HASH})
LINES = {
    "as it is": LINE,
    "a byte order mark": "\ufeff" + LINE,
    "carriage returns": LINE + "\r\n" + LINE + "\r\n",
    "only carriage returns": LINE + "\r" + LINE,
    "another separator of lines": LINE + "\u2028" + LINE,
    "blanks around": f" \t{LINE} \t",
    "another blank": "\u00a0" + LINE,
    "a zero byte": LINE + "\0",
    "no UTF-8 before it": b"\xff\n" + LINE.encode(),
    "no UTF-8 inside": LINE.replace('"c"', '"c?"').encode().replace(b"?", b"\xff"),
    "half of a character": LINE.replace('"c"', '"\\ud800"'),
    "a name twice": LINE[:-1] + ', "block_no": 8}',
    "an escaped name": LINE.replace("block_no", "block\\u005fno"),
    "a number with a point": LINE.replace("7", "7.0"),
    "a number with an exponent": LINE.replace("7", "7e0"),
    "a leading zero": LINE.replace("7", "07"),
    "less than nothing": LINE.replace("7", "-7"),
    "minus zero": LINE[:-1] + ', "z": -0}',
    "no number": LINE[:-1] + ', "z": NaN}',
    "19 digits": LINE.replace("7", "9" * 19),
    "20 digits": LINE[:-1] + f', "z": {"9" * 20}}}',
    "the largest integer": LINE.replace("7", str(2**63 - 1)),
    "32 levels": LINE[:-1] + f', "z": {"[" * 31}{"]" * 31}}}',
    "33 levels": LINE[:-1] + f', "z": {"[" * 32}{"]" * 32}}}',
    "a control character": LINE[:-1] + ', "z": "\x01"}',
    "a prototype": LINE[:-1] + ', "__proto__": {"block_no": 9}}',
    "a list": f"[{LINE}]",
    "an upper-case hash": LINE.replace("ab", "AB"),
    "nothing": "",
}
KEYS = {
    "as it is": f"{KEY}\n{OTHER}\n",
    "a byte order mark": f"\ufeff{KEY}\n",
    "carriage returns": f"{KEY}\r\n{OTHER}\r\n",
    "blanks and remarks": f"# two\n\n \t{KEY} \t# mine\n{OTHER}#\n",
    "another blank": f"\u00a0{KEY}\n",
    "a separator of files": f"{KEY}\x1c\n",
    "a vertical tab": f"\x0b{KEY}\n",
    "another separator of lines": f"{KEY}\u2028{OTHER}\n",
    "upper case": KEY.upper(),
    "twice": f"{KEY}\n{KEY}\n",
    "too short": KEY[1:],
    "no UTF-8": b"\xff" + KEY.encode(),
    "only a remark": "# none",
    "nothing": "",
}
ASK = f"""
const {{ readAnchor, readKeys }} = await import({json.dumps(SCRIPT.as_uri())})
const [what, data] = JSON.parse(process.argv[1])
const plain = (_, value) => typeof value === 'bigint' ? String(value) : value
try {{
  const found = (what === 'keys' ? readKeys : readAnchor)(Uint8Array.from(Buffer.from(data, 'hex')))
  console.log(JSON.stringify(found, plain))
}} catch {{
  console.log('"refused"')
}}
"""


def in_javascript(what: str, data: bytes) -> Any:
    given = json.dumps([what, data.hex()])
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", ASK, given], check=True, capture_output=True
    )  # fmt: skip
    return json.loads(done.stdout)


def plain(value: Any) -> Any:
    """Integers as texts: those of JavaScript are not exact."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return str(value) if type(value) is int else value


def encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


@pytest.mark.parametrize("text", LINES.values(), ids=LINES)
def test_lines_of_an_anchor(text: str | bytes):
    data = encoded(text)
    found = [
        {name: line[name] for name in ("chain_id", "block_no", "block_hash")}
        for line in verifier.read_anchor(data)
    ]
    said = [
        {name: line[name] for name in ("chain_id", "block_no", "block_hash")}
        for line in in_javascript("anchor", data)
    ]
    assert plain(said) == plain(found)


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS)
def test_keys(text: str | bytes):
    data = encoded(text)
    try:
        found: Any = verifier.read_keys(data)
    except ValueError:
        found = "refused"
    assert in_javascript("keys", data) == found
