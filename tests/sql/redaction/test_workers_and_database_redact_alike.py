"""One redactor: workers and the database remove the same secrets, by name and by shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from stepwell import redaction
from tests.sql.drive import Engine
from tests.support.sample import sample

CANARY = "c4n4ryc4n4ryc4n4ryc4n4ryc4n4ry"
JWT = f"eyJ{CANARY}.{CANARY}.{CANARY}"
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"
NAMES = (
    "password",
    "user_pwd",
    "auth",
    "session",
    "sessionId",
    "secret_key",
    "passphrase",
    "accessToken",
    "client-secret",
    "API_KEY",
    "Authorization",
    "Set-Cookie",
    "private_key",
    "aws_access_key",
    "credentials",
    "jwt",
    "passwords",
    "client_secrets",
    "api-keys",
    "db_pass",
    "pw",
    "otp",
    "passcode",
    "password2",
    "new_password_value",
    "token_raw",
    "auth_header",
    "access_tokens",
)
PGP = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{CANARY}\n-----END PGP PRIVATE KEY BLOCK-----"
SECRETS: list[Any] = [
    *({name: CANARY} for name in NAMES),
    *({"headers": [{"name": name, "value": CANARY}]} for name in NAMES),
    *([[name, CANARY], "x"] for name in NAMES),
    *({"Key": name, "Value": CANARY, "x": 1} for name in NAMES),
    *({"k": name, "V": [CANARY]} for name in NAMES),
    *(["run", f"--{name}", CANARY, "x"] for name in NAMES if "_" not in name),
    {f"ghp_{CANARY}": 1, "a": 2},
    {f"password={CANARY}": {"b": f"Bearer {CANARY}"}},
    f"curl --data x --password {CANARY} --verbose",
    f"tool -token '{CANARY}'",
    f"tool --api-key {CANARY}",
    f'"{{\\"password\\": \\"two words {CANARY}\\", \\"a\\": 1}}"',
    f"{{\\'auth\\': \\'{CANARY}\\'}}",
    f'{{\\"Authorization\\": \\"Digest {CANARY}\\"}}',
    PGP,
    f"AccountName=x;AccountKey={CANARY}==",
    f"https://hooks.slack.com/services/T0000/B0000/{CANARY}",
    f"SG.{CANARY}.{CANARY}",
    f"ya29.{CANARY}",
    f"whsec_{CANARY}",
    f"glrt-{CANARY}",
    f"xoxe.xoxp-1-{CANARY}",
    f"{JWT}.{CANARY}.{CANARY}",
    f"eyJ{CANARY}..{CANARY}.{CANARY}.{CANARY}",
    *(f"sw{kind}_{b'c4n4ry'.hex()}" + "0" * 52 for kind in "slt"),
    *(
        f"calling with {name}={CANARY} failed"
        for name in ("password", "pwd", "api_key", "token", "session_id")
    ),
    f'{{"passphrase": "{CANARY}", "a": 1}}',
    f'{{"passphrase": "correct horse {CANARY} staple", "a": 1}}',
    f'password="a b\\" {CANARY}"',
    f"pwd: 'x, {CANARY}; y'",
    f"passwords: {CANARY}",
    f"sw_{b'c4n4ry'.hex()}" + "0" * 52,
    "said sw_" + "0a" * 32 + " aloud",
    f"'secret_key': '{CANARY}'",
    f"Authorization: Digest {CANARY}",
    f"Set-Cookie: sid={CANARY}; Path=/",
    f"https://user:{CANARY}@host/x",
    f"https://host/x?sig={CANARY}&a=1",
    f"Bearer {CANARY}",
    f"token: Bearer {CANARY}",
    f"auth = basic {CANARY}",
    JWT,
    f"text {JWT} text",
    "AKIA" + "C4N4RYC4N4RYC4N4",
    f"xoxb-{CANARY}",
    f"xapp-{CANARY}",
    f"ghp_{CANARY}",
    f"github_pat_{CANARY}",
    f"glpat-{CANARY}",
    f"sk-{CANARY}",
    f"sk_live_{CANARY}",
    f"AIza{CANARY}xxxx",
    f"npm_{CANARY}xxxx",
    f"pypi-{CANARY}",
    KEY,
    f"x {KEY} y",
    KEY.partition("-----END")[0],
    {"password": {"value": CANARY}},
    {"nested": [{"deep": {"token": [CANARY]}}]},
]
PLAIN: list[Any] = [
    {"input_tokens": 3, "sessions": 2, "bypass": "yes", "compass": "north"},
    {"author": "ada", "token_count": 7, "max_tokens": 5, "keyboard": "qwerty", "passenger": "ben"},
    {"password": None, "has_secret": True, "secret": "env:TOKEN"},
    "the design is done",
    "order 7: amount=20, item=A",
    ["a", "b"],
    [{"name": "colour", "value": "red"}],
    7,
    None,
    "https://host/x?page=2",
    "password=[redacted]",
    "password=***",
    ["password", "email", "name"],
    ["--verbose", "ok", "token"],
    {"token_id": 3, "session_seconds": 4, "secret_count": 1, "key": "colour", "value": "red"},
    "a pre-auth request, and the option --token",
]


def in_database(engine: Engine, value: Any) -> Any:
    return engine.one("select _redact(%s, _redaction_pattern())", (Jsonb(value),))


def test_both_have_the_same_names_of_secrets(engine: Engine):
    assert engine.one("select _redaction_pattern()") == redaction.KEY_PATTERN


@pytest.mark.requirement("RT-12")
def test_no_secret_remains_and_both_agree(engine: Engine):
    for value in SECRETS:
        found = redaction.value(value)
        assert "c4n4ry" not in str(found).lower(), (value, found)
        assert in_database(engine, value) == found, value
        assert redaction.value(found) == found, "a second time changes nothing"


def test_what_is_no_secret_stays(engine: Engine):
    for value in PLAIN:
        assert redaction.value(value) == value
        assert in_database(engine, value) == value


PIECES = st.sampled_from(
    [
        "password",
        "token",
        "auth",
        "sig",
        "cookie",
        "\\",
        "s",
        ": ",
        "=",
        '"',
        "'",
        " ",
        "&",
        ";",
        "\n",
        "[redacted]",
        "***",
        "env:X",
        "://",
        "@",
        "user",
        CANARY,
        "Bearer ",
        "eyJ",
        ".",
        "xoxb-",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "PRIVATE KEY-----",
        "ok",
        "7",
        " --",
        "KEY BLOCK-----",
        "SG.",
        "sws_" + "0a" * 32,
    ]
)


@sample(80)
@given(st.lists(PIECES, max_size=10).map("".join))
def test_they_agree_about_any_text(engine: Engine, text: str):
    assert engine.one("select _redact_text(%s)", (text,)) == redaction.text(text)
