"""Secrets: read when used, never printed, removed from effects, errors and log lines."""

from __future__ import annotations

import base64
import copy
import logging
import pickle

import pytest

from stepwell.connectors.base import Effect, EffectRefused, EffectUnknown, Reversal
from stepwell.connectors.secrets import Secret, SecretMissing, SecretRef, opened_secrets
from stepwell.errors import UsageError


def test_a_secret_never_prints():
    secret = Secret("open sesame")
    shown = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret!r:>10}",
        f"{secret}",
        repr([secret]),
        repr({1: secret}),
    ]
    assert not any("sesame" in text for text in shown)
    assert secret.reveal() == "open sesame"
    assert not hasattr(secret, "__dict__")
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            copied(secret)


def test_a_secret_is_read_when_it_is_used(monkeypatch, tmp_path):
    in_env, in_file = SecretRef("env:SOME_TOKEN"), SecretRef(f"file:{tmp_path / 'token'}")
    monkeypatch.setenv("SOME_TOKEN", "first")
    (tmp_path / "token").write_text("from a file\n")
    assert (in_env.resolve().reveal(), in_file.resolve().reveal()) == ("first", "from a file")
    monkeypatch.setenv("SOME_TOKEN", "second")
    (tmp_path / "token").write_text("rotated")
    assert (in_env.resolve().reveal(), in_file.resolve().reveal()) == ("second", "rotated")


@pytest.mark.parametrize("reference", ["sk-live-123", "env:", "env:A B", "file:", "vault:x", "", "ENV:X"])
def test_an_invalid_reference_is_refused_and_not_repeated(reference):
    with pytest.raises(UsageError) as caught:
        SecretRef(reference)
    assert "env:NAME or file:PATH" in caught.value.sentence()
    assert reference in ("", "env:", "file:") or reference not in caught.value.sentence()


def test_the_error_names_the_reference_of_a_missing_secret(monkeypatch, tmp_path):
    monkeypatch.delenv("NO_SUCH_TOKEN", raising=False)
    with pytest.raises(SecretMissing, match="env:NO_SUCH_TOKEN is not set"):
        SecretRef("env:NO_SUCH_TOKEN").resolve()
    with pytest.raises(SecretMissing, match="cannot be read: No such file"):
        SecretRef(f"file:{tmp_path / 'none'}").resolve()
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(SecretMissing, match="is not set"):
        SecretRef(f"file:{tmp_path / 'empty'}").resolve()
    (tmp_path / "large").write_bytes(b"x" * 70_000)
    with pytest.raises(SecretMissing, match="larger than"):
        SecretRef(f"file:{tmp_path / 'large'}").resolve()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfa\xfb")
    with pytest.raises(SecretMissing, match="not UTF-8"):
        SecretRef(f"file:{tmp_path / 'binary'}").resolve()
    monkeypatch.setenv("SHORT", "abc")
    with pytest.raises(SecretMissing, match="shorter than 4"):
        SecretRef("env:SHORT").resolve()
    assert issubclass(SecretMissing, EffectRefused), (
        "a missing secret must be refused before anything is sent"
    )


def test_every_form_of_the_secret_is_removed(secret):
    with opened_secrets() as opened:
        opened.open(SecretRef("env:PLANTED_TOKEN"), user="ada")
        forms = [
            secret, "x?token=canary-7f3a%2B%2F%26%3Dtok%22en&y", 'a "canary-7f3a+/&=tok\\"en" b',
            base64.b64encode(f"ada:{secret}".encode()).decode(),
        ]  # fmt: skip
        effect = Effect(
            {"a": forms, secret: 1}, secret, {"p": secret}, Reversal("x", secret, {"q": [secret]})
        )
        cleaned = opened.clean(effect)
    assert "7f3a" not in repr(cleaned)
    assert base64.b64encode(f"ada:{secret}".encode()).decode() not in repr(cleaned)
    assert cleaned.result["a"][1] == "x?token=***&y"
    assert cleaned.reversal == Reversal("x", "***", {"q": ["***"]})


def refuse(secret: str) -> None:
    with opened_secrets() as opened:
        opened.open(SecretRef("env:PLANTED_TOKEN"))
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise EffectRefused(f"no: {secret}", detail=secret, hint=secret) from error


def fail(secret: str) -> None:
    with opened_secrets() as opened:
        opened.open(SecretRef("env:PLANTED_TOKEN"))
        raise ValueError(secret)


def test_errors_do_not_hold_the_secret(secret):
    with pytest.raises(EffectRefused) as caught:
        refuse(secret)
    error = caught.value
    assert (str(error), error.args, error.detail, error.hint) == ("no: ***", ("no: ***",), "***", "***")
    assert (error.__cause__, error.__context__) == (None, None)
    with pytest.raises(EffectUnknown, match=r"ValueError: \*\*\*") as unforeseen:
        fail(secret)
    assert unforeseen.value.__suppress_context__


def test_log_lines_during_a_call_do_not_hold_the_secret(secret, caplog):
    log = logging.getLogger("some.library")
    with caplog.at_level(logging.DEBUG), opened_secrets() as opened:
        opened.open(SecretRef("env:PLANTED_TOKEN"))
        log.debug("received %r from %s", [secret], "there")
        log.info(f"plain {secret}")
        try:
            raise ValueError(secret)
        except ValueError:
            log.exception("failed")
        log.warning("nothing %s here", "secret")
    assert secret not in caplog.text
    assert "received ['***'] from there" in caplog.text
    assert "ValueError: ***" in caplog.text
    assert "nothing secret here" in caplog.text
