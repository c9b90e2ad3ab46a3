"""The SQL files keep the SQL rules of CONTRIBUTING.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.tidy import sql_source
from tests.tidy.sources import files, read
from tests.tidy.sql_calls import CALLS_BY_NAME

MIGRATIONS = files(".sql", under="src/stepwell/sql/migrations")
ROUTINES = files(".sql", under="src/stepwell/sql/routines")
# Lines of the comment above a public function; its first line says what it does.
LABELS = ("Locks:", "Idempotency:", "Raises:")

# A public function without the fn_ prefix, and why.
NAMED_OTHERWISE = {
    "now": "it replaces now(), so it has the same name: stepwell.now()",
    "bound_tenant": "row level security compares with it as with current_user",
    "bound_principal": "the same",
    "read_tenant": "the same",
    "payload_tenant": "the same",
    "sees_all_steps": "the same",
    "hidden_steps": "the same",
    "hidden_contents": "the same",
    "unit_is_shown": "the same",
    "graph_is_shown": "the same",
    "version_graph": "a column that depends on who reads it",
    "version_hash": "the same",
}

# Functions without a search_path of their own: each caller sets it. The value is the reason.
HOT = "part of every claim or report: to set the search_path a second time makes a single call 5 % slower"
INLINED = "Postgres inlines it into the statement that calls it; a setting would prevent that"
CALLERS_SEARCH_PATH: dict[str, str] = {
    **dict.fromkeys(
        ("_transition_problems", "_run_of", "_run_unit", "_run_last", "_unit_no", "_has_ended"), INLINED
    ),
    **dict.fromkeys(("_run_has_ended", "_attempt_no", "_step_key"), INLINED),
    **dict.fromkeys(("_reads_at", "_bound_text", "_stamp_with"), INLINED),
    **dict.fromkeys(("_workspace_of", "_walked_count", "_walked_far", "_is_same_lane"), INLINED),
    **dict.fromkeys(("_sent_size", "_value_size", "_utc_text", "_json_text"), INLINED),
    **dict.fromkeys(
        ("_path_is_plain", "_path_way", "_path_reads_item_alone", "_inputs_join", "_chain_path"), INLINED
    ),
    **dict.fromkeys(("_chain_path", "_is_list", "_catches", "_way_is_shared"), INLINED),
    **dict.fromkeys(("_regex_fault", "_path_count", "_slice", "_site_extend", "_site_outside"), INLINED),
    **dict.fromkeys(("_sites_of",), INLINED),
    **dict.fromkeys(
        (
            "_transition_apply",
            "_report_completed",
            "_successors_release",
            "_queue_look",
            "_runs_lock",
            "_claim",
            "_leases_bound",
            "_leases_of_items",
            "_fresh_take",
            "_ready_take",
            "_turns_find",
            "_turns_take",
            "_turn_take",
            "_turn_take_free",
            "_shares_of",
            "_lanes_find",
            "_lanes_from",
            "_lane_is_served",
            "_lane_take",
            "_lane_skip",
            "_lane_next",
            "_place_next",
            "_gap_next",
            "_classes_are_empty",
            "_others_have_work",
        ),
        HOT,
    ),
}
# Helpers that Python calls after it has replaced the routines.
CALLED_BY_MIGRATE = {"_plans_apply", "_names_settled", "_development_enter"}
# Functions that use the planner settings of their caller: nested loops over indexes, also on empty tables.
CALLERS_PLANS = {
    "_transition_apply",
    "_report_completed",
    "_report_contracts",
    "_report_mixed",
    "_unit_change",
}


def ids(path: object) -> str:
    return str(path).removeprefix("src/stepwell/sql/")


def routine_names() -> set[str]:
    return {routine.name for path in ROUTINES for routine in sql_source.routines(read(path))}


@pytest.mark.parametrize("path", [*MIGRATIONS, *ROUTINES], ids=ids)
def test_words_outside_literals_are_lowercase(path):
    uppercase = [
        f"{path}:{token.line} {token.text}"
        for token in sql_source.code(read(path))
        if token.kind == "word" and token.text != token.text.lower()
    ]
    assert not uppercase


@pytest.mark.parametrize("path", [*MIGRATIONS, *ROUTINES], ids=ids)
def test_a_file_begins_with_a_comment(path):
    assert sql_source.header(read(path)), f"{path} does not begin with a comment"


@pytest.mark.parametrize("path", ROUTINES, ids=ids)
def test_a_routine_file_begins_with_a_short_comment_of_its_own(path):
    text = read(path)
    first = sql_source.definitions(text)[0]
    lines = sql_source.header(text).splitlines()
    assert len(lines) <= 12, f"{path} begins with a comment of {len(lines)} lines; at most 12"
    assert text.splitlines()[len(lines)] == "", f"{path}: an empty line must end the first comment"
    assert len(lines) < first.line - 1


@pytest.mark.parametrize("path", ROUTINES, ids=ids)
def test_every_routine_has_a_comment_with_the_required_labels(path):
    problems = []
    for found in sql_source.definitions(read(path)):
        if found.kind == "trigger":
            continue
        if not found.comment:
            problems.append(f"{path}:{found.line} {found.name}: no comment above it")
        if found.kind == "view":
            continue
        wanted = set(LABELS) if found.is_public else needed_labels(found)
        present = {label for label in LABELS if re.search(rf"^{label}\s*\S", found.comment, re.MULTILINE)}
        problems += [
            f"{path}:{found.line} {found.name}: no line `{label}`" for label in sorted(wanted - present)
        ]
    assert not problems


def needed_labels(found: sql_source.Definition) -> set[str]:
    """The labels that a helper must have: `Locks:` if it takes locks, `Raises:` if it raises errors."""
    texts = [token.text for token in found.code]
    raises = any(pair == ("raise", "exception") for pair in pairwise(texts))
    locks = any(
        pair in (("for", "update"), ("for", "share"), ("for", "no"), ("for", "key"), ("lock", "table"))
        for pair in pairwise(texts)
    ) or any(text.startswith("pg_advisory") for text in texts)
    return ({"Raises:"} if raises else set()) | ({"Locks:"} if locks else set())


def test_the_name_of_a_public_function_begins_with_fn():
    wrong = [
        routine.name
        for path in ROUTINES
        for routine in sql_source.routines(read(path))
        if routine.is_public and not routine.name.startswith("fn_") and routine.name not in NAMED_OTHERWISE
    ]
    assert not wrong, "a public function is named fn_<what>_<verb>"


@pytest.mark.parametrize("path", ROUTINES, ids=ids)
def test_routines_can_be_replaced_set_their_search_path_and_prefix_their_names(path):
    text = read(path)
    problems = []
    for routine in sql_source.routines(text):
        if not routine.fixes_search_path and routine.name not in CALLERS_SEARCH_PATH:
            problems.append(f"{path}:{routine.line} {routine.name}: no `set search_path`")
        problems += [
            f"{path}:{routine.line} {routine.name}: parameter {name} is not named p_…"
            for name in routine.parameters
            if not name.startswith("p_")
        ]
        problems += [
            f"{path}:{line} {routine.name}: variable {name} is not named v_…"
            for name, line in declared_variables(routine)
            if not name.startswith("v_")
        ]
    for statement in sql_source.statements(sql_source.tokens(text)):
        head = sql_source.words(statement)[:3]
        if head[0] == "create" and head[1:3] != ["or", "replace"]:
            problems.append(
                f"{path}:{statement[0].line} create without or replace: routines are applied again"
            )
    assert not problems


def test_expressions_of_users_are_evaluated_in_one_place():
    """Only routines in expression/ evaluate a path that is not a constant."""
    free = re.compile(r"jsonb_path_\w+\s*\((?!\s*[\w.]+\s*,\s*'[^']*'\s*[,)])")
    wrong = [
        f"{path}:{number} {line.strip()}"
        for path in ROUTINES
        if path.parent.name != "expression"
        for number, line in enumerate(read(path).splitlines(), start=1)
        if free.search(line.partition("--")[0])
    ]
    assert not wrong, "call _path_evaluate (ARCHITECTURE.md, Expressions)"


def planned_functions() -> set[str]:
    """The functions whose planner settings base/plans.sql sets."""
    text = read(Path("src/stepwell/sql/routines/base/plans.sql"))
    return {
        token.text.strip("'") for token in sql_source.code(text) if re.fullmatch(r"'(fn)?_\w+'", token.text)
    }


def test_every_function_with_planner_settings_exists():
    assert planned_functions()
    assert planned_functions() <= routine_names()


def unset(left_to_callers: set[str], is_set: Callable[[sql_source.Definition], bool]) -> list[str]:
    """Callers of these functions that neither set the setting nor leave it to their own callers."""
    return [
        f"{path}: {found.name} calls {sorted(called)}"
        for path in ROUTINES
        for found in sql_source.definitions(read(path))
        if (called := found.words & left_to_callers - {found.name})
        and not is_set(found)
        and found.name not in left_to_callers
    ]


def test_a_search_path_left_to_the_caller_is_set_by_every_caller():
    # A function that Postgres inlines into the statement of its caller needs no search path.
    needed = {name for name, why in CALLERS_SEARCH_PATH.items() if why is not INLINED}
    assert not unset(needed, lambda found: "search_path" in found.words)
    assert all(name.startswith("_") for name in CALLERS_SEARCH_PATH)


def test_planner_settings_left_to_the_caller_are_set_by_every_caller():
    planned = planned_functions()
    assert not unset(CALLERS_PLANS, lambda found: found.name in planned)
    assert all(name.startswith("_") for name in CALLERS_PLANS)


def declared_variables(routine: sql_source.Routine) -> list[tuple[str, int]]:
    """First word of every declaration between `declare` and `begin`."""
    found = []
    in_declare = at_start = False
    for token in routine.body:
        if token.kind == "comment":
            continue
        if token.text == "declare":
            in_declare = at_start = True
        elif token.text == "begin":
            in_declare = False
        elif in_declare:
            if at_start and token.kind == "word":
                found.append((token.text, token.line))
            at_start = token.text == ";"
    return found


@pytest.mark.parametrize("path", MIGRATIONS, ids=ids)
def test_every_constraint_has_a_name(path):
    unnamed = []
    for statement in sql_source.statements(sql_source.tokens(read(path))):
        texts = sql_source.words(statement)
        if texts[:2] not in (["create", "table"], ["alter", "table"]):
            continue
        for at, word in enumerate(texts):
            named = at >= 2 and texts[at - 2] == "constraint"
            starts = word in ("check", "unique", "references", "exclude") or texts[at : at + 2] in (
                ["primary", "key"],
                ["foreign", "key"],
            )
            if starts and not named and not (word == "references" and closes_foreign_key(texts, at)):
                unnamed.append(f"{path}:{statement[at].line} {word}")
    assert not unnamed, (
        "write `constraint <what must be true> …`, so that the error names the rule that was broken"
    )


def closes_foreign_key(texts: list[str], at: int) -> bool:
    """Whether this `references` belongs to a `foreign key (…)` or a named column constraint."""
    opening = at - 1
    while opening >= 0 and texts[opening] != "(":
        opening -= 1
    return texts[at - 1] == ")" and texts[opening - 2 : opening] == ["foreign", "key"]


@pytest.mark.parametrize("path", MIGRATIONS, ids=ids)
def test_migrations_define_and_call_no_routine(path):
    text = read(path)
    assert not sql_source.routines(text), f"{path} defines a routine; routines belong into routines/"
    ours = routine_names()
    found = sql_source.code(text)
    calls = []
    for name, mark in pairwise(found):
        if name.kind == "word" and mark.text == "(" and name.text in ours - {"now"}:
            calls.append(f"{path}:{name.line} {name.text}")
    pairs = zip(found, found[1:], found[2:], strict=False)
    calls += [
        f"{path}:{a.line} stepwell.now"
        for a, b, c in pairs
        if (a.text, b.text, c.text) == ("stepwell", ".", "now")
    ]
    assert not calls, "a migration must do the same after the routine has changed"


def test_migrations_are_numbered_without_gaps():
    names = [path.name for path in MIGRATIONS]
    assert all(re.fullmatch(r"\d{4}_[a-z0-9_]+\.sql", name) for name in names)
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_a_routine_is_defined_once():
    homes: dict[str, set[str]] = {}
    for path in ROUTINES:
        for routine in sql_source.routines(read(path)):
            homes.setdefault(routine.name, set()).add(str(path))
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert not twice


def test_only_the_transition_core_writes_a_state():
    """No routine outside transition/ sets state_code."""
    found_outside = []
    for path in ROUTINES:
        if "transition" in path.parts:
            continue
        found = sql_source.code(read(path))
        found_outside += [
            f"{path}:{name.line}"
            for before, name, mark in zip(found, found[1:], found[2:], strict=False)
            if name.text == "state_code" and mark.text == "=" and before.text in ("set", ",")
        ]
    assert not found_outside


def test_no_routine_updates_a_row_of_the_queue():
    """A row that moved would keep the number of the transaction that put it, and a gap could hide it."""
    updates = [
        str(path)
        for path in ROUTINES
        for found in sql_source.definitions(read(path))
        if found.kind == "function"
        and "update stepwell . job_ready" in " ".join(token.text for token in found.code)
    ]
    assert not updates


def test_every_helper_is_called():
    uses: dict[str, int] = {}
    for path in ROUTINES:
        found = sql_source.code(read(path))
        texts = [token.text for token in found]
        for at, token in enumerate(found):
            if token.kind == "word" or texts[max(at - 2, 0) : at] == [CALLS_BY_NAME, "("]:
                name = token.text.strip("'")
                uses[name] = uses.get(name, 0) + 1
    helpers = {name for name in routine_names() if name.startswith("_")} - CALLED_BY_MIGRATE
    assert not {name for name in helpers if uses[name] == 1}, "nothing calls this helper: remove it"


def test_only_the_two_routines_that_claim_at_once_replace_the_wake_up_trigger():
    """A new row in the queue wakes workers by a trigger; a routine that turns it off calls _workers_wake."""
    definitions = [found for path in ROUTINES for found in sql_source.definitions(read(path))]
    setting = {
        found.name: {token.text for token in found.code}
        for found in definitions
        if found.kind == "function" and ("stepwell", ".", "notifies") in triples(found)
    }
    assert sorted(setting) == ["fn_job_report", "fn_run_start_here"]
    assert all("_workers_wake" in texts for texts in setting.values())


def triples(found: sql_source.Definition) -> set[tuple[str, ...]]:
    texts = [token.text for token in found.code]
    return set(zip(texts, texts[1:], texts[2:], strict=False))


# How a number of a unit is made, and which states are the end, is written once: in base/units.sql.
WRITTEN_ONCE = {
    "the run of a unit: _run_of, _run_unit, _run_last, _unit_no": re.compile(
        r"(unit_id|run_id|request_id|replaced_by)\)? *(>>|<<) 20\b|unit_id & 1048575|\+ 1\)+ << 20"
    ),
    "has ended: _has_ended, _run_has_ended": re.compile(
        r"\('completed', 'skipped', 'cancelled', 'cannot_complete'\)"
        r"|\('(completed|cancelled|failed)', '(completed|cancelled|failed)', '(completed|cancelled|failed)'\)"
    ),
}


@pytest.mark.parametrize("what", WRITTEN_ONCE)
def test_what_has_one_home_is_written_there_only(what):
    home = Path("src/stepwell/sql/routines/base/units.sql")
    assert WRITTEN_ONCE[what].search(read(home)), "the home says it in other words now: change the pattern"
    assert [str(path) for path in ROUTINES if path != home and WRITTEN_ONCE[what].search(read(path))] == []
