"""Work on human steps and tasks in a terminal: receives a step and a person, prints the new state."""

from __future__ import annotations

from typing import Annotated

import typer

from stepwell.cli.connect import JsonOption, KeyOption, LanguageOption, ReasonOption, json_object, print_json
from stepwell.cli.ids import ApprovalOption
from stepwell.cli.people_screen import correction_table, step_card
from stepwell.cli.people_words import (
    AsOption,
    StepArgument,
    act,
    act_as,
    look_at,
    moment,
    step_name,
)
from stepwell.cli.render import console
from stepwell.people import HumanStep, People
from stepwell.store.calls import views
from stepwell.store.calls.people import Checkpoint, Comment
from stepwell.unit_numbers import read_unit

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def show(
    context: typer.Context, step: StepArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show one step: its state and the reason, the fields of its form, its tasks.

    Example: stepwell step show 7/sign-off --lang vi
    """

    async def read(people: People) -> tuple[HumanStep, list[HumanStep], views.Why]:
        found = await people.step(step_name(step))
        return found, await people.tasks(found.step_run_id), await people.why(found.step_run_id)

    (found, tasks, why), look = look_at(context, read, lang, as_json)
    if look is None:
        print_json({"step": found, "tasks": tasks, "why": why})
    else:
        console().print(step_card(look, found, tasks, why.sentence_vi if lang == "vi" else why.sentence_en))


@app.command()
def claim(
    context: typer.Context,
    step: StepArgument,
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Claim a ready step: you become the person in charge."""
    act_as(context, who, lambda people, name: people.step_claim(step_name(step), name, key=key), as_json)


@app.command()
def assign(
    context: typer.Context,
    step: StepArgument,
    to: Annotated[str, typer.Argument(help="The new person in charge.", metavar="PERSON")],
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the person in charge of an open step."""
    act_as(
        context,
        who,
        lambda people, name: people.step_assign(step_name(step), to, name, reason=reason, key=key),
        as_json,
    )


@app.command()
def release(
    context: typer.Context,
    step: StepArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give up a step that you claimed; any candidate may claim it."""
    act_as(
        context,
        who,
        lambda people, name: people.step_release(step_name(step), name, reason=reason, key=key),
        as_json,
    )


@app.command()
def comment(
    context: typer.Context,
    step: StepArgument,
    text: Annotated[str, typer.Argument(help="What to write.", metavar="TEXT")],
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a comment on a step or task, also after it has ended."""
    act_as(
        context, who, lambda people, name: people.step_comment(step_name(step), name, text, key=key), as_json
    )


@app.command()
def notes(context: typer.Context, step: StepArgument, as_json: JsonOption = False) -> None:
    """Show the comments on a step or task, and what its handler has saved."""

    async def read(people: People) -> tuple[list[Comment], list[Checkpoint]]:
        return await people.step_comments(step_name(step)), await people.step_checkpoints(step_name(step))

    comments, checkpoints = act(context, read)
    if as_json:
        print_json({"comments": comments, "checkpoints": checkpoints})
        return
    for found in comments:
        typer.echo(f"{found.written_at:%Y-%m-%d %H:%M} {found.written_by}: {found.body}")
    for saved in checkpoints:
        typer.echo(f"{saved.saved_at:%Y-%m-%d %H:%M} saved {saved.name}: {saved.value}")
    if not comments and not checkpoints:
        typer.echo("no comments, nothing saved")


@app.command()
def delegate(
    context: typer.Context,
    step: StepArgument,
    to: Annotated[str, typer.Argument(help="The new person in charge.", metavar="PERSON")],
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give your step to another candidate."""
    act_as(
        context,
        who,
        lambda people, name: people.step_delegate(step_name(step), name, to, reason=reason, key=key),
        as_json,
    )


@app.command()
def wait(
    context: typer.Context,
    step: StepArgument,
    facet: Annotated[
        list[str],
        typer.Argument(
            help="Why it waits: waiting_dependency, waiting_human, waiting_external or waiting_time_gate.",
            metavar="FACET",
        ),
    ],
    event: Annotated[str | None, typer.Option(help="An event of the run that ends the wait.")] = None,
    until: Annotated[str | None, typer.Option(help="A time, or +4h, at which the wait ends.")] = None,
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a step to waiting, for one or several reasons."""
    resume_at = None if until is None else moment(until, "--until")
    act_as(
        context,
        who,
        lambda people, name: people.step_wait(
            step_name(step), name, facet, event_type=event, resume_at=resume_at, key=key
        ),
        as_json,
    )


@app.command()
def resume(
    context: typer.Context,
    step: StepArgument,
    proof: Annotated[str, typer.Option(help="A reference to what ended the wait, such as mail:7.")],
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a waiting step: the wait has ended."""
    act_as(
        context, who, lambda people, name: people.step_resume(step_name(step), name, proof, key=key), as_json
    )


@app.command()
def block(
    context: typer.Context,
    step: StepArgument,
    reason: Annotated[str, typer.Option(help="A value of vocab.block_reason, such as missing_approval.")],
    detail: Annotated[str | None, typer.Option(help="A description of what is missing.")] = None,
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Block a step: something is missing and the step cannot continue."""
    act_as(
        context,
        who,
        lambda people, name: people.step_block(step_name(step), name, reason, detail=detail, key=key),
        as_json,
    )


@app.command()
def unblock(
    context: typer.Context,
    step: StepArgument,
    proof: Annotated[str, typer.Option(help="A reference to what removed the blocker, such as ticket:9.")],
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue a blocked step: what was missing is there."""
    act_as(
        context, who, lambda people, name: people.step_unblock(step_name(step), name, proof, key=key), as_json
    )


@app.command("escalate-block")
def escalate_block(
    context: typer.Context,
    step: StepArgument,
    approval: ApprovalOption = None,
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark a blocked step as urgent: it is shown and counted as red."""
    act_as(
        context,
        who,
        lambda people, name: people.step_block_escalate(
            step_name(step), name, reason=reason, approval_id=approval, key=key
        ),
        as_json,
    )


@app.command()
def escalate(
    context: typer.Context,
    step: StepArgument,
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Notify the next level of the escalation chain now; a failed step becomes cannot_complete."""
    act_as(
        context,
        who,
        lambda people, name: people.escalate(step_name(step), name, reason=reason, key=key),
        as_json,
    )


@app.command()
def complete(
    context: typer.Context,
    step: StepArgument,
    output: Annotated[
        str, typer.Option(help="A JSON object; @file reads it from a file, - from stdin.")
    ] = "{}",
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Complete a step with its output; the form checks the output."""
    given = json_object(output, "--output")
    act_as(
        context,
        who,
        lambda people, name: people.step_complete(step_name(step), name, given, key=key),
        as_json,
    )


@app.command("cannot-complete")
def cannot_complete(
    context: typer.Context,
    step: StepArgument,
    evidence: Annotated[str, typer.Option(help="A reference to the declaration, such as note:3.")],
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Declare that a step cannot be completed."""
    act_as(
        context,
        who,
        lambda people, name: people.declare_cannot_complete(
            step_name(step), name, evidence, reason=reason, key=key
        ),
        as_json,
    )


@app.command()
def deadline(
    context: typer.Context,
    step: StepArgument,
    at: Annotated[
        str, typer.Argument(help="A time with its zone, or a duration from now such as +4h.", metavar="TIME")
    ],
    who: AsOption = None,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a deadline; an overdue step whose new deadline is in the future continues."""
    due = moment(at, "TIME")
    act_as(
        context,
        who,
        lambda people, name: people.step_deadline_change(step_name(step), name, due, reason=reason, key=key),
        as_json,
    )


@app.command()
def effect(
    context: typer.Context, step: StepArgument, lang: LanguageOption = "en", as_json: JsonOption = False
) -> None:
    """Show what reopening a step would affect: the steps around it and the steps that depend on it.

    Example: stepwell step effect 7/sign-off
    """
    found, look = look_at(context, lambda people: people.correction_preview(step_name(step)), lang, as_json)
    if look is None:
        print_json(found)
    else:
        console().print(correction_table(look, found))


@app.command()
def reopen(
    context: typer.Context,
    step: StepArgument,
    reason: Annotated[str, typer.Option(help="A value of vocab.correction_reason, such as data_error.")],
    approval: Annotated[
        int, typer.Option(help="The granted approval of the action reopen, such as 7.3.", parser=read_unit)
    ],
    downstream: Annotated[
        str, typer.Option(help="Steps that depend on it: leave, or reopen (they wait for this step again).")
    ] = "leave",
    give_to: Annotated[str | None, typer.Option(help="Who corrects it; default: who completed it.")] = None,
    who: AsOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open an ended step again for correction; the log keeps its first result."""
    answer = act_as(
        context,
        who,
        lambda people, name: people.step_reopen_for_correction(
            step_name(step), name, reason, approval, downstream=downstream, give_to=give_to, key=key
        ),
        as_json,
    )
    for after in () if as_json else answer["downstream"]:
        ending = "reopened" if after["reopened"] else "left as it is"
        typer.echo(f"  {after['run_id']}/{after['step_id']}: {ending}")
