"""Dead letters in a terminal: receives filters and numbers, prints letters, rehearsals and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from stepwell.cli.connect import JsonOption, LimitOption, answer, ask, print_json
from stepwell.cli.ids import JobArgument
from stepwell.cli.jobs import failure_table, print_traceback
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.render import console, moment, table
from stepwell.errors import NotFound
from stepwell.store.calls import dead_letters as calls
from stepwell.store.calls.dead_letters import DeadLetter, ReplayPlan
from stepwell.unit_numbers import read_unit, short

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

OperationOption = Annotated[str | None, typer.Option(help="Only letters of this operation.")]
WorkflowOption = Annotated[str | None, typer.Option(help="Only letters of this workflow.")]
ClassOption = Annotated[str | None, typer.Option("--class", help="Only letters of this class of failure.")]
CauseOption = Annotated[str | None, typer.Option(help="Only letters with this cause, as `causes` shows it.")]
LettersArgument = Annotated[
    list[int] | None,
    typer.Argument(help="Numbers of jobs or steps; none: all that the options choose.", parser=read_unit),
]
PlanArgument = Annotated[int, typer.Argument(help="Number of the plan.", metavar="PLAN", parser=read_unit)]


@app.command("list")
def list_letters(
    context: typer.Context,
    operation: OperationOption = None,
    workflow: WorkflowOption = None,
    failure_class: ClassOption = None,
    cause: CauseOption = None,
    all_letters: Annotated[bool, typer.Option("--all", help="Resolved dead letters too.")] = False,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List dead letters, the newest first: jobs and steps without attempts left."""
    chosen = _chosen(None, operation, workflow, failure_class, cause)
    found = ask(
        context,
        lambda client: client.perform(
            calls.dead_letters(client.tenant_id, with_resolved=all_letters, chosen=chosen, limit=limit)
        ),
    )
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no dead letters")
    screen = console()
    for letter in found:
        screen.print(_title(letter))
        screen.print(failure_table(letter.failures))
        screen.print()


@app.command("causes")
def list_causes(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what open dead letters died of, the most frequent cause first."""
    found = ask(context, lambda client: client.perform(calls.causes(client.tenant_id)))
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no dead letters")
    else:
        made = table("letters", "operation", "class", "cause", "oldest", right=("letters",))
        for one in found:
            made.add_row(
                str(one.letter_count), one.operation or "–", one.failure_class, Text(one.cause),
                moment(one.oldest_at),
            )  # fmt: skip
        console().print(made)


@app.command()
def show(context: typer.Context, job: JobArgument, as_json: JsonOption = False) -> None:
    """Show a dead letter: what it was given, every attempt, and its request to replay it."""

    async def read(client: Client) -> tuple[DeadLetter, Any]:
        found = await client.perform(calls.dead_letter(client.tenant_id, job))
        if found is None:
            raise NotFound(f"{short(job)} has no dead letter", hint="'stepwell dead-letters list' shows them")
        return found, await client.perform(calls.payload(client.tenant_id, job))

    letter, payload = ask(context, read)
    if as_json:
        print_json({"letter": letter, "payload": payload})
        return
    screen = console()
    screen.print(_title(letter))
    screen.print(failure_table(letter.failures))
    if letter.replay_state is not None:
        screen.print(Text(f"replay: {letter.replay_state}"))
    screen.print()
    screen.print_json(data=payload)
    print_traceback(screen, letter.error)


@app.command()
def rehearse(
    context: typer.Context,
    letters: LettersArgument = None,
    operation: OperationOption = None,
    workflow: WorkflowOption = None,
    failure_class: ClassOption = None,
    cause: CauseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a replay would do: which effects receipts answer, which are new. Nothing is sent."""
    chosen = _chosen(letters, operation, workflow, failure_class, cause)
    found = ask(context, lambda client: client.perform(calls.rehearse(client.tenant_id, chosen)))
    if as_json:
        print_json(found)
    else:
        _print_rehearsal(found)


@app.command()
def replay(
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="Why a replay helps now; it is stored in the log.")],
    letters: LettersArgument = None,
    operation: OperationOption = None,
    workflow: WorkflowOption = None,
    failure_class: ClassOption = None,
    cause: CauseOption = None,
    stage: Annotated[
        list[int] | None, typer.Option(help="Size of a first stage; may be repeated. Default: 1, then 10.")
    ] = None,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose to replay dead letters in stages; it stops by itself when a failure comes back."""
    chosen = _chosen(letters, operation, workflow, failure_class, cause)
    actor = person(context, who)

    async def propose(client: Client) -> dict[str, Any]:
        acting = client.acting_as(actor)
        return await acting.perform(calls.propose(acting.tenant_id, chosen, acting.actor, reason, stage))

    found = ask(context, propose)
    plan, approval = short(int(found["plan_id"])), short(int(found["approval_id"]))
    follows = (
        f"waits for approval {approval} ({found['quorum']} must agree)"
        if found["state"] == "submitted"
        else f"is {found['state']}"
    )
    answer(as_json, found, f"plan {plan} of {found['letters']} dead letters {follows}")


@app.command()
def plans(context: typer.Context, limit: LimitOption = 20, as_json: JsonOption = False) -> None:
    """List plans to replay dead letters, the newest first, and how far each is."""
    found = ask(context, lambda client: client.perform(calls.plans(client.tenant_id, limit=limit)))
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no plans")
    else:
        made = table("plan", "state", "letters", "done", "failed", "left out", "by", "since", "because")
        for one in found:
            made.add_row(
                short(one.plan_id), one.plan_state, str(one.letter_count), _sum(one, "completed"),
                _sum(one, "failed"), _sum(one, "left_out"), one.requested_by, moment(one.requested_at),
                Text(one.ended_because or ""),
            )  # fmt: skip
        console().print(made)


@app.command()
def stop(
    context: typer.Context,
    plan: PlanArgument,
    reason: Annotated[str, typer.Option(help="Why it stops; it is stored in the log.")],
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a plan: what it has begun goes on, the other letters stay dead."""
    actor = person(context, who)

    async def end(client: Client) -> None:
        acting = client.acting_as(actor)
        await acting.perform(calls.stop(acting.tenant_id, plan, acting.actor, reason))

    ask(context, end)
    answer(as_json, {"plan_id": plan, "state": "stopped"}, f"plan {short(plan)}: stopped")


def _chosen(
    letters: list[int] | None,
    operation: str | None,
    workflow: str | None,
    failure_class: str | None,
    cause: str | None,
) -> dict[str, Any]:
    given = {
        "operation": operation, "workflow": workflow, "failure_class": failure_class, "cause": cause,
        "units": [str(unit) for unit in letters] if letters else None,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def _sum(plan: ReplayPlan, name: str) -> str:
    return str(sum(stage[name] for stage in plan.progress))


def _title(letter: DeadLetter) -> Text:
    where = f" of {letter.workflow}, run {letter.run_id}" if letter.run_id is not None else ""
    name = letter.step_id or letter.operation or "unit"
    title = Text.assemble(("✕ ", "bold red"), (name, "bold"), where, (f"  job {short(letter.job_id)}", "dim"))
    title.append(f"  {letter.failure_class} at {moment(letter.died_at)}", style="dim")
    if letter.resolved_at is not None:
        title.append(f"  resolved: {letter.resolution}", style="green")
    return title


def _print_rehearsal(found: dict[str, Any]) -> None:
    screen, effects = console(), found["effects"]
    screen.print(
        Text(
            f"{found['letters']} dead letters in {found['runs']} runs; {found['steps_behind']} steps wait"
            f" behind them; {found['quorum']} must agree"
        )
    )
    if not found["rows"]:
        screen.print(Text("no effect on another system is known for them", style="dim"))
        return
    made = table("step", "effect", "answer", "count", "undo", "why", right=("count",))
    for row in found["rows"]:
        why = row["rule"] or (f"receipt {short(int(row['receipt_id']))}" if row["receipt_id"] else "")
        expected = " (expected)" if row["is_expected"] else ""
        made.add_row(
            row["step"] or "–", f"{row['connector']}.{row['operation']}", row["answer"].replace("_", " "),
            str(row["count"]), "yes" if row["reversible"] or not row["writes"] else "no",
            Text(f"{why}{expected}"),
        )  # fmt: skip
    screen.print(made)
    said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in effects.items() if count)
    screen.print(Text(said, style="dim"))
