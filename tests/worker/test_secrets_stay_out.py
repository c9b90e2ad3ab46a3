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
from tests.worker.acting import put_in_force, rule

CANARY = "canary-7f3e9a51c2"


class Leaky:
    """Does everything a careless connector does with a secret."""

    name = "leaky"
    operations: ClassVar = {
        "do": OperationSpec(writes=True, idempotent=True, reversible=True, confirmable=False)
    }

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
