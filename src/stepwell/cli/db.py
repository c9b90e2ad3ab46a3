"""Migrate, show and verify the schema in a terminal: receives a database, prints changes or differences."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from stepwell.config import Settings
from stepwell.store.calls import mode
from stepwell.store.connection.target import database
from stepwell.store.embedded import roles
from stepwell.store.embedded.roles import connecting
from stepwell.store.schema import migrate as migrating
from stepwell.store.schema import verify as verifying

app = typer.Typer(no_args_is_help=True, add_completion=False)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command()
def migrate(context: typer.Context, as_json: JsonOption = False) -> None:
    """Migrate the database to the schema of this release; safe to repeat and to run several times at once."""
    settings: Settings = context.obj
    with database(settings) as conninfo:
        report = migrating.migrate(conninfo)
    if as_json:
        typer.echo(json.dumps(asdict(report)))
        return
    for name in report.applied:
        typer.echo(f"applied {name}")
    for name in report.dropped:
        typer.echo(f"dropped {name}")
    for found in report.refused:
        typer.echo(str(found), err=True)
    typer.echo(
        "routines are installed" if report.routines_applied else "nothing to do, the schema is current"
    )


@app.command("roles")
def make_roles(
    context: typer.Context,
    prints: Annotated[bool, typer.Option("--print", help="Print the SQL and change nothing.")] = False,
    passwords: Annotated[
        bool, typer.Option("--passwords", help="Give each role a new password and print it once.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create the login role of each process, and grant each role what its process needs; safe to repeat.

    Without --passwords the roles log in as pg_hba.conf allows: over a socket, with a certificate, or with a
    password that you set yourself.
    """
    settings: Settings = context.obj
    chosen = roles.new_passwords() if passwords else {}
    sql, granted = None, False
    with database(settings) as conninfo, connecting(conninfo) as connection:
        if prints:
            sql = [f"{part.as_string(connection)};" for part in roles.statements(connection, chosen)]
        else:
            roles.let_log_in(connection, chosen)
            granted = roles.apply_rights(connection)
    if as_json:
        made = [{"role": role, "password": chosen.get(role)} for role in roles.ROLES]
        typer.echo(json.dumps({"roles": made, "rights_granted": granted, "sql": sql}))
        return
    if sql is None:
        typer.echo(f"{len(roles.ROLES)} roles can log in: {', '.join(roles.ROLES)}")
        typer.echo(
            "their rights are granted" if granted else "run 'stepwell db migrate' to grant their rights"
        )
    else:
        for line in (*sql, "-- Then grant what they may do: stepwell db migrate"):
            typer.echo(line)
    for role, password in chosen.items():
        typer.echo(f"{role} {password}")


@app.command()
def status(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show which migrations are applied and which are missing; exit code 1 if any is missing."""
    settings: Settings = context.obj
    with database(settings) as conninfo:
        state = migrating.status(conninfo)
    if as_json:
        typer.echo(json.dumps({**asdict(state), "is_current": state.is_current}))
    else:
        typer.echo(f"PostgreSQL {state.server_version}")
        for name in state.applied:
            typer.echo(f"applied  {name}")
        for name in state.pending:
            typer.echo(f"missing  {name}")
        typer.echo(f"routines {'are current' if state.routines_are_current else 'are missing or outdated'}")
    if not state.is_current:
        raise typer.Exit(1)


@app.command()
def verify(context: typer.Context, as_json: JsonOption = False) -> None:
    """List every object that differs from the schema of this release; exit code 1 if there is one."""
    settings: Settings = context.obj
    with database(settings) as conninfo:
        verdict = verifying.verify(conninfo)
    if as_json:
        typer.echo(json.dumps(asdict(verdict)))
    elif not verdict.drifts:
        typer.echo(f"no drift (compared with {verdict.measure})")
    else:
        for drift in verdict.drifts:
            typer.echo(str(drift))
            for label, text in (("expected", drift.expected), ("found", drift.found)):
                if text is not None:
                    typer.echo(f"  {label}: " + text.replace("\n", "\n  "))
    if verdict.drifts:
        raise typer.Exit(1)


@app.command("leave-development")
def leave_development(context: typer.Context, as_json: JsonOption = False) -> None:
    """Leave development mode for good: nobody acts unnamed, cancels and replays require an approval."""
    from stepwell.cli.connect import ask

    has_left = ask(
        context, lambda client: client.perform(mode.leave_development(client.actor)), as_owner=True
    )
    if as_json:
        typer.echo(json.dumps({"mode": "strict", "has_changed": has_left}))
    elif has_left:
        typer.echo("development mode is left; the strict rules hold, and the mode cannot be entered again")
    else:
        typer.echo("nothing to do, the database is in strict mode")


@app.command()
def dump(
    context: typer.Context,
    fresh: Annotated[
        bool,
        typer.Option(help="Dump the schema of this release from a scratch database, not the database given."),
    ] = False,
) -> None:
    """Print the schema as text that is the same on every server; for review, not for restoring."""
    settings: Settings = context.obj
    with database(settings) as conninfo:
        if not fresh:
            text = verifying.dump(conninfo)
        else:
            with verifying.scratch_database(conninfo) as scratch:
                migrating.migrate(scratch)
                text = verifying.dump(scratch)
    typer.echo(text, nl=False)
