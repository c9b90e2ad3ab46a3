"""Run a keeper in a terminal: receives settings, runs until a signal."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from stepwell import logs
from stepwell.config import Settings
from stepwell.up.signals import signals_awaited, signals_interrupt

app = typer.Typer(add_completion=False)


@app.command()
def keeper(
    context: typer.Context,
    poll_seconds: Annotated[
        float, typer.Option(help="Longest time between two passes.", min=0.01, max=60)
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Make one pass and exit.")] = False,
) -> None:
    """Run a keeper until Ctrl-C; if several keepers run, one acts and the others wait."""
    from stepwell.govern.slack.notifier import notify_once, notifying
    from stepwell.keeper import BackgroundKeeper, Keeper
    from stepwell.store.connection.target import Process, databases

    settings: Settings = context.obj
    logs.configure(settings.log_level, settings.log_format, is_service=not once)
    anchor, key_file, evidence = settings.audit_anchor, settings.audit_key, settings.evidence_store
    with suppress(KeyboardInterrupt), signals_interrupt(), databases(settings) as place:
        conninfo, slack_conninfo = place.address(Process.KEEPER), place.address(Process.SLACK)
        if not once:
            with signals_awaited() as stop_signal, notifying(slack_conninfo):
                keeping = BackgroundKeeper(
                    conninfo, poll_seconds=poll_seconds, anchor=anchor, key_file=key_file, evidence=evidence
                )
                try:
                    stop_signal()
                finally:
                    keeping.close()
            return
        shown_count = notify_once(slack_conninfo)
        tick = Keeper(conninfo, anchor=anchor, key_file=key_file, evidence=evidence).run_once()
        if not tick.acted:
            typer.echo("another keeper is active")
            return
        typer.echo(
            f"{tick.recovered_count} leases recovered, {tick.fired_count} timers fired, "
            f"{tick.started_count} runs started, {tick.sealed_count} blocks sealed"
            + ("" if shown_count is None else f", {shown_count} approvals shown in Slack")
        )
