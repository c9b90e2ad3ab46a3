"""The rooms of sql/routines: which room may call which, and which file a helper belongs to."""

from __future__ import annotations

import re

import pytest

from tests.tidy import sql_source
from tests.tidy.sources import ROOT, files, read
from tests.tidy.sql_calls import FOLDER, cycles, graph

# Room → the rooms it calls. A room calls only rooms on lines above its own.
MAY_CALL: dict[str, set[str]] = {
    "base": set(),
    "expression": {"base"},
    "registry": {"expression"},
    "lock": {"base"},
    "tenancy": {"base"},
    "guard": {"base", "expression", "tenancy"},
    "content": {"base", "tenancy"},
    "deadline": {"base", "tenancy"},
    "log": {"base", "tenancy"},
    "hold": {"base", "deadline", "log"},
    "label": {"base", "log", "tenancy"},
    "problem": {"base", "log", "tenancy"},
    "rollup": {"base", "tenancy"},
    "publish": {"base", "expression", "log", "tenancy"},
    "seal": {"base", "guard", "log", "problem", "tenancy"},
    "transition": {"base", "deadline", "guard", "log", "rollup"},
    "claim": {"base", "expression", "hold", "log", "problem", "tenancy", "transition"},
    "advance": {
        "base",
        "claim",
        "content",
        "deadline",
        "expression",
        "hold",
        "lock",
        "log",
        "publish",
        "seal",
        "tenancy",
        "transition",
    },
    "report": {
        "advance",
        "base",
        "claim",
        "expression",
        "label",
        "lock",
        "log",
        "problem",
        "tenancy",
        "transition",
    },
    "start": {"advance", "base", "claim", "label", "log", "publish", "tenancy", "transition"},
    "people": {
        "advance",
        "base",
        "deadline",
        "expression",
        "guard",
        "hold",
        "lock",
        "log",
        "publish",
        "rollup",
        "seal",
        "start",
        "tenancy",
        "transition",
    },
    "govern": {
        "advance",
        "base",
        "expression",
        "guard",
        "hold",
        "lock",
        "log",
        "registry",
        "seal",
        "start",
        "tenancy",
        "transition",
    },
    "control": {
        "advance",
        "base",
        "claim",
        "govern",
        "hold",
        "lock",
        "log",
        "problem",
        "rollup",
        "tenancy",
        "transition",
    },
    "keep": {
        "advance",
        "base",
        "deadline",
        "govern",
        "hold",
        "lock",
        "log",
        "people",
        "problem",
        "publish",
        "seal",
        "start",
        "tenancy",
        "transition",
    },
    "cut": {"base", "content", "log", "problem", "tenancy", "transition"},
    "slack": {"base", "govern", "log", "people", "tenancy"},
    "project": {
        "advance",
        "base",
        "claim",
        "content",
        "control",
        "expression",
        "govern",
        "guard",
        "hold",
        "keep",
        "label",
        "log",
        "people",
        "problem",
        "publish",
        "rollup",
        "seal",
        "tenancy",
        "transition",
    },
}

# Routines that call each other outside advance/, and why.
RECURSIONS = {
    frozenset(
        {"_subrun_states_show", "_blocks_weigh"}
    ): "a block may turn its run red, and the run above it with it",
    frozenset(
        {
            "_schema_problem",
            "_schema_object_problem",
            "_schema_array_problem",
            "_schema_alternatives_problem",
        }
    ): "a schema holds schemas, as deep as the value it describes",
}

# A helper that has one caller and is in another file than its caller, and why.
_KIND = "each kind of step has its file; advance/steps.sql decides the kind and calls that file"
_CAP = "tenancy/ holds every place where a cap or a limit is enforced"
_GRAPH = "what a job graph has beside other runs is in one file"
_LANE = "everything about the lanes of a tenant is in one file"
_RECEIPT = "all state changes of a receipt are in one file"
_HOLD = "everything about what a hold stops is in one room"
_REMOVAL = "what retention removes with all its rows is in one file"
IN_ANOTHER_FILE: dict[str, str] = {
    "_path_has_many": "only expression/ evaluates a path of users",
    "_rollup_policy_problem": "which rules of the roll-up are accepted is a subject of its own",
    "_audit_values": "the canonical form of a value is a subject of its own",
    **dict.fromkeys(("_holds_end", "_clocks_move", "_hold_of_action", "_held_park"), _HOLD),
    **dict.fromkeys(("_held_forget", "_held_take", "_hold_evidences_make"), _HOLD),
    "_retention_months": "what the log says of its months is a subject of its own",
    "_retention_runs": _REMOVAL,
    "_retention_jobs": _REMOVAL,
    "_retention_receipts": _REMOVAL,
    "_retention_replays": _REMOVAL,
    "_leases_bound": "what a claim sends beside a small input is a subject of its own",
    "_graph_names_refusal": "which names are accepted is a subject of its own",
    "_graph_milestones_refusal": "which milestones are accepted is a subject of its own",
    "_graph_times_problem": "which times are accepted is a subject of its own",
    "_conditionals_decide": _KIND,
    "_conditionals_hold": _KIND,
    "_conditionals_resume": _KIND,
    "_maps_open": _KIND,
    "_maps_settle": _KIND,
    "_waits_open": _KIND,
    "_subruns_start": _KIND,
    "_humans_open": _KIND,
    "_why_not_claimed": "what limits, queue and workers do to a ready unit is a subject of its own",
    "_invariant_leftovers": "what is left of what has ended is a subject of its own",
    "_invariant_effects": "effects and their receipts are a subject of their own",
    "_invariant_explained": "what an open unit waits for is a subject of its own",
    "_tenant_room": _CAP,
    "_start_rate_check": _CAP,
    "_writes_take": _CAP,
    "_slots_pass": _CAP,
    "_rates_return": _CAP,
    "_receipt_found": _RECEIPT,
    "_receipt_open": _RECEIPT,
    "_receipt_take_over": _RECEIPT,
    "_lanes_find": _LANE,
    "_lane_take": _LANE,
    "_gap_next": "everything about the gaps of the queue is in one file",
    "_content_pin": "everything about content is in one file",
    "_guard_expression": "everything about guards is in one file",
    "_steps_defer": "everything about a costly expression of a step is in one file",
    "_steps_resume": "everything about a costly expression of a step is in one file",
    "_people_behind": "everything about the line of a run is in one file",
    "_people_of": "everything about the line of a run is in one file",
    "_policy_decided": "every change of a policy is in one file",
    "_graph_upgrade": "earlier formats of graphs are a subject of their own",
    "_graphs_begin": _GRAPH,
    "_delays_end": _GRAPH,
    "_graph_is_no_template": "what only templates say is in the file of templates",
    "_pending_first": "what only templates say is in the file of templates",
}


def test_every_folder_is_a_declared_room():
    folders = {path.relative_to(FOLDER).parts[0] for path in files(".sql", under=str(FOLDER))}
    assert folders == set(MAY_CALL)


@pytest.mark.parametrize("room", MAY_CALL)
def test_a_room_calls_only_the_rooms_that_the_table_allows(room):
    found = {called: calls for (caller, called), calls in graph().room_calls().items() if caller == room}
    forbidden = {called: calls for called, calls in found.items() if called not in MAY_CALL[room]}
    assert not forbidden
    assert MAY_CALL[room] <= set(found), "a permission that nothing uses"


def test_no_room_depends_on_itself_through_other_rooms():
    assert cycles(MAY_CALL) == []
    rooms = list(MAY_CALL)
    upwards = [
        (room, called)
        for room in rooms
        for called in MAY_CALL[room]
        if rooms.index(called) > rooms.index(room)
    ]
    assert not upwards, "a room may call only rooms on lines above its own"


def test_routines_call_each_other_only_in_advance():
    found = {group for group in graph().recursions() if {graph().room(name) for name in group} != {"advance"}}
    assert found == set(RECURSIONS)


def test_a_helper_with_one_caller_is_in_the_file_of_its_caller():
    homes = graph().homes
    elsewhere = {}
    for name in homes:
        callers = graph().callers(name)
        if name.startswith("_") and len(callers) == 1:
            (caller,) = callers
            if homes[name] != homes[caller]:
                elsewhere[name] = caller
    without_reason = {
        f"{name} in {homes[name]}": caller
        for name, caller in elsewhere.items()
        if name not in IN_ANOTHER_FILE
    }
    assert not without_reason, "move it to the file of its caller"
    assert set(IN_ANOTHER_FILE) <= set(elsewhere), "an exception that is no longer needed"


def test_comments_name_routines_and_files_that_exist():
    unknown = []
    for path in files(".sql", under=str(FOLDER)):
        for comment in sql_source.comments(read(path)):
            names = set(re.findall(r"(?<![\w.])(?:_[a-z]+_[a-z_]+|fn_[a-z_]+)\b", comment.text))
            unknown += [f"{path}:{comment.line} {name}" for name in names - set(graph().homes)]
            places = re.findall(r"\b[a-z]+/[a-z_]+\.sql\b", comment.text)
            unknown += [
                f"{path}:{comment.line} {name}" for name in places if not (ROOT / FOLDER / name).is_file()
            ]
    assert not unknown


def test_the_architecture_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = [room for room in MAY_CALL if f"`{room}/`" not in text]
    assert not missing
