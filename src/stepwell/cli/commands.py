"""The table of all commands: section of the help, module and one line of text. Imports no command.

`stepwell --help` reads only this table, so it imports neither the database driver nor a command module. Each
module has `app`, a Typer; it is imported when one of its commands is used.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    module: str
    summary: str


def _entry(name: str, summary: str) -> Entry:
    return Entry(f"stepwell.cli.{name}", summary)


SECTIONS: Final[dict[str, dict[str, Entry]]] = {
    "Begin": {
        "dev": _entry("dev", "Run an app with database and server; restart the worker when a file changes."),
        "up": _entry("up", "Start database, server, worker and keeper in one process tree."),
        "demo": _entry("demo", "Turn off the demo that `stepwell up --demo` has begun."),
        "doctor": _entry("doctor", "Check the installation and show how to fix each problem."),
    },
    "Workflows and runs": {
        "publish": _entry("publish", "Publish workflows from YAML files or from an app."),
        "workflows": _entry("workflows", "List and show published workflows and their versions."),
        "simulate": _entry("simulate", "Show what a workflow would do, without a database."),
        "start": _entry("start", "Start a run of a published workflow."),
        "runs": _entry("runs", "List, show and watch runs; cancel, pause, resume or retry them."),
        "why": _entry("why", "Show why something does not run, down to the root, and what helps."),
        "signal": _entry("signal", "Send an event to a run."),
        "schedule": _entry("schedule", "Start runs at fixed times: set, show, pause and delete schedules."),
        "jobs": _entry("jobs", "List, show, cancel and retry jobs."),
        "graphs": _entry("graphs", "Emit graphs of jobs from templates; show and retry them; route events."),
    },
    "People": {
        "inbox": _entry("inbox", "Show the open work of a person."),
        "step": _entry("step", "Claim, delegate, block, complete or correct a step as a person."),
        "approvals": _entry("approvals", "Request, list, grant and reject approvals."),
        "people": _entry("people", "Set the calendars of working hours."),
        "content": _entry("content", "Write, show and compare the texts that steps show to people."),
        "slack": _entry("slack", "Set up approvals in Slack: which account belongs to which person."),
    },
    "Governance": {
        "problems": _entry("governance_problems", "List, show and close what is wrong and needs a person."),
        "lag": _entry("lag", "Show how far consumers are behind their producers, with thresholds and trend."),
        "dead-letters": _entry("dead_letters", "List, show, rehearse and replay what has no attempts left."),
        "workers": _entry("workers", "List and show workers; freeze them, let them drain."),
        "hold": _entry("holds", "Stop matching work at once; release it by shares; prove how long it was."),
        "policy": _entry("policy", "Show, check, test, explain and propose the rules for actions."),
        "receipts": _entry(
            "receipts", "List and show receipts of actions on other systems; settle unconfirmed ones."
        ),
        "reverse": _entry("reverse", "Undo an action on another system by its receipt."),
        "audit": _entry("audit", "Read the newest events, seal the log and verify its seals."),
        "evidence": _entry(
            "evidence", "Export a run as one file that can be verified offline, and verify it."
        ),
    },
    "Accounts": {
        "user": _entry("user", "Add people, services and agents; change their roles."),
        "token": _entry("token", "Create, list and revoke the tokens of accounts."),
    },
    "Operation": {
        "serve": _entry("serve", "Serve the API and the web interface."),
        "worker": _entry("worker", "Run the operations of an app."),
        "keeper": _entry("keeper", "Fire timers and schedules, recover expired leases, seal the log."),
        "tenants": _entry("tenants", "Set the weights and caps of tenants and workflows."),
        "db": _entry("db", "Migrate, inspect and verify the schema of the database."),
        "machine": _entry("machine", "List, show and draw the state machines."),
    },
}

COMMANDS: Final[dict[str, Entry]] = {
    name: entry for section in SECTIONS.values() for name, entry in section.items()
}
