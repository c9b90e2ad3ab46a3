"""A secret that a handler or a connector uses is in no table, log line, error or trace."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import psycopg
import pytest

import stepwell as sw
from stepwell.connectors.base import Action, Effect, EffectRefused, EffectUnavailable, OperationSpec, Reversal
from stepwell.connectors.secrets import SecretRef, opened_secrets
from tests.support.wait import until_async
from tests.worker.acting import open_approval, put_in_force, rule

CANARY = "canary-7f3e9a51c2"


class Leaky:
    """Does everything a careless connector does with a secret."""

    name = "leaky"
    operations: ClassVar = {
        "do": OperationSpec(writes=True, idempotent=True, reversible=True, confirmable=False)
    }

    def canonical(self, operation: str, target: str) -> str:
        return target

    async def perform(self, action: Action) -> Effect:
        with opened_secrets() as secrets:
            value = secrets.open(SecretRef("env:PLANTED_CANARY")).reveal()
            logging.getLogger("leaky").warning("calling with %s", value)
            match action.fields.get("how"):
                case "refuse":
                    raise EffectRefused(f"the other system echoed {value} and {action.fields['password']}")
                case "unavailable":
                    raise EffectUnavailable(f"no route for {value}")
                case "surprise":
                    raise RuntimeError(f"unforeseen {value}")
            return secrets.clean(
                Effect(
                    {"echo": value, "session_token": CANARY, "note": f"Bearer {CANARY}"},
                    external_id="x",
                    prior={"api_key": CANARY},
                    reversal=Reversal("do", "t", {"api_key": CANARY}),
                )
            )

    async def confirm(self, action: Action) -> Effect | None:
        return None


class Rough(Leaky):
    """A connector that does not use `opened_secrets` and puts the secret into its errors."""

    name = "rough"

    async def perform(self, action: Action) -> Effect:
        if action.fields["how"] == "surprise":
            raise RuntimeError(f"unforeseen {CANARY}")
        raise EffectRefused(f"refused for {action.fields['password']}")


def everything(db: psycopg.Connection[Any]) -> dict[str, str]:
    """Every table of the schema as one text."""
    names = [
        name
        for (name,) in db.execute(
            """select relname from pg_class where relnamespace = 'stepwell'::regnamespace
               and relkind in ('r', 'm') order by relname"""
        )
    ]
    return {
        name: db.execute(
            f"select coalesce(jsonb_agg(to_jsonb(t))::text, '') from stepwell.\"{name}\" as t"
        ).fetchone()[0]  # type: ignore[index]
        for name in names
    }


@pytest.mark.requirement("RT-12")
@pytest.mark.parametrize("connector", ["leaky", "rough"])
def test_the_secret_is_in_no_table_and_no_log(app, play, db, monkeypatch, caplog, capfd, connector):
    monkeypatch.setenv("PLANTED_CANARY", CANARY)
    app.connector(Leaky())
    app.connector(Rough())
    put_in_force(
        db, rule("ask", "needs_approval", '$.fields.how == "ask"'), rule("all", "allow", priority=20)
    )

    @app.operation(retry=sw.Retry(max_attempts=2, initial="1s"))
    async def leak(ctx: sw.Context, how: str, via: str):
        return await ctx.act(
            via, "do", f"https://user:{CANARY}@host/path?api_key={CANARY}&page=2",
            {"how": how, "password": CANARY, "nested": [{"Authorization": f"Basic {CANARY}"}]},
        )  # fmt: skip

    app.publish(sw.Workflow("one", sw.Operation("leak")))
    words = (
        ("refuse", "surprise", "fine", "ask", "unavailable")
        if connector == "leaky"
        else ("refuse", "surprise")
    )

    async def scenario():
        async with sw.Worker(app):
            runs = [await app.start("one", {"how": how, "via": connector}) for how in words]
            settled = "select count(*) from step_run where state_code in ('ready', 'in_progress')"
            await until_async(lambda: db.execute(settled).fetchone() == (0,))
            for run in runs:
                if await run.state() == "in_progress":
                    await run.cancel()

    play(scenario)
    leaks = [name for name, text in everything(db).items() if CANARY in text]
    assert leaks == []
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err
    assert CANARY not in caplog.text
    kept = db.execute("select count(*) from action_receipt").fetchone()
    assert kept == (4 if connector == "leaky" else 2,)
    if connector == "leaky":
        row = db.execute(
            """select response_metadata, prior, reversible, reversal, request_metadata, target
               from v_action_receipt where state_code = 'confirmed'"""
        ).fetchone()
        assert row == (
            {"result": {"echo": "***", "session_token": "[redacted]", "note": "Bearer ***"}},
            {"api_key": "[redacted]"}, False, None,
            {"fields": {"how": "fine", "password": "[redacted]",
                "nested": [{"Authorization": "[redacted]"}]}},
            "https://user:[redacted]@host/path?api_key=[redacted]&page=2",
        )  # fmt: skip


@pytest.mark.requirement("RT-12")
def test_secrets_in_errors_of_handlers_reasons_and_shown_fields_are_removed(
    app, play, db, monkeypatch, caplog
):
    """A handler is careless: its errors, its reasons and the fields of its actions contain secrets."""
    monkeypatch.setenv("PLANTED_CANARY", CANARY)
    app.connector(Leaky())
    shaped = "eyJcanaryc4n4ry.c4n4ryc4n4ry.c4n4ry"
    put_in_force(
        db, rule("ask", "needs_approval", '$.fields.how == "ask"'), rule("all", "allow", priority=20)
    )

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def careless(ctx: sw.Context, how: str):
        match how:
            case "raise":
                # This process has read the secret before: its value is known.
                raise ValueError(f"row {CANARY}; header 'X-Api-Key': 'c4n4ryc4n4ry'; {shaped}")
            case "dead":
                return sw.Dead(f"the answer was pwd=c4n4ryc4n4ry and {shaped}")
            case "log":
                logging.getLogger("of.the.user").error("passphrase: c4n4ryc4n4ry %s", shaped)
                return None
        return await ctx.act(
            "leaky",
            "do",
            "/x",
            {"how": how, "headers": [{"name": "Cookie", "value": "c4n4ryc4n4ry"}], "note": shaped},
        )

    app.publish(sw.Workflow("one", sw.Operation("careless")))

    async def scenario():
        async with sw.Worker(app):
            await (await app.start("one", {"how": "fine"})).wait()
            for how in ("raise", "dead", "log"):
                await (await app.start("one", {"how": how})).wait()
            run = await app.start("one", {"how": "ask"})
            await until_async(lambda: open_approval(db))
            await app.acting_as("ben").approval_decide(
                await app.approval(open_approval(db)), "reject", "ben", reason="my token: c4n4ryc4n4ry"
            )
            await run.wait()

    play(scenario)
    leaks = [name for name, text in everything(db).items() if CANARY in text or "c4n4ry" in text]
    assert leaks == []
    assert CANARY not in caplog.text
    assert "c4n4ry" not in caplog.text
