"""Write the reference of every machine: receives the registry, returns one Markdown page.

The page is committed as `docs/state-machines.md`; a test compares it with a newly migrated database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from stepwell.machines.fold import fold
from stepwell.machines.mermaid import mermaid
from stepwell.machines.model import Machine, Registry

HEADER = """\
# State machines

Written by `stepwell machine reference` from the registry of a fresh database; do not edit by hand.
The rows are in `src/stepwell/sql/migrations/`; `fn_registry_check` checks the rules between them.

Every unit of work — a run, a step, a task, a free-standing job, an approval, a proposal — has one state,
and one machine that defines what may happen to it. A transition is done only if its row exists for the
actor, its trigger is the declared one, its guard holds, its audit reference is given if one is required,
and its event is registered. Nothing else changes a state.

`stepwell machine show step` prints a machine with one line for each transition;
`stepwell machine draw step` prints it as a Mermaid diagram.
"""

DIALECTS = ("linear", "runtime", "node", "job")


def page(registry: Registry) -> str:
    parts = [HEADER, *(_machine(registry, machine) for machine in registry.machines if machine.active)]
    parts += [_guards(registry), _events(registry), _dialects(registry), _rollup(registry)]
    parts += [_failure_classes(registry), _colours(registry)]
    return "\n".join(parts)


def _machine(registry: Registry, machine: Machine) -> str:
    lines = [f"## {machine.scope}", "", f"{machine.description}. Machine `{machine.state_machine_id}`, "]
    lines[-1] += f"version {machine.version}."
    lines += ["", "```mermaid", mermaid(registry, machine, "en").rstrip(), "```", ""]
    lines += [*_states(registry, machine), "", *_transitions(machine), ""]
    if machine.facets:
        lines += [*_facets(registry, machine), ""]
    extensions = list(_reasons(machine))
    if extensions:
        lines += ["Extensions, and why they exist:", "", *extensions, ""]
    return "\n".join(lines)


def _states(registry: Registry, machine: Machine) -> Iterator[str]:
    yield from _head("state", "", "English", "Tiếng Việt", "class", "colour", "notes")
    for state in machine.states:
        notes = []
        if state.is_initial:
            notes.append("first")
        if state.is_terminal:
            notes.append("final")
        if state.is_derived:
            notes.append(f"derived, shown as `{state.floor_equivalent}` where unknown: {state.justification}")
        yield _row(
            f"`{state.state_code}`",
            state.ui_icon_glyph,
            registry.text(state.ui_label_i18n_key, "en"),
            registry.text(state.ui_label_i18n_key, "vi"),
            state.semantic_class,
            state.ui_color_token.rpartition(".")[2],
            "; ".join(notes),
        )


def _transitions(machine: Machine) -> Iterator[str]:
    yield from _head("code", "from", "to", "by", "trigger", "guard", "event", "audit", "back to")
    for rung in fold(machine):
        row = rung.transition
        yield _row(
            f"**{row.transition_code}**",
            _codes(rung.from_states),
            f"`{row.to_state}`",
            _codes(rung.actor_classes),
            rung.trigger,
            f"`{row.guard_ref}`" if row.guard_ref else "",
            f"`{row.emitted_event_type}`" if row.emitted_event_type else "",
            "yes" if row.audit_required else "",
            f"`{row.rollback_to}`" if row.rollback_to else "",
        )


def _reasons(machine: Machine) -> Iterator[str]:
    seen: dict[tuple[str, str | None], None] = {}
    for row in machine.transitions:
        if row.is_extension:
            seen[row.transition_code, row.reason] = None
    for code, reason in seen:
        yield f"- **{code}** {reason}."


def _facets(registry: Registry, machine: Machine) -> Iterator[str]:
    yield from _head("facet of", "facet", "", "English", "Tiếng Việt", "order")
    for facet in machine.facets:
        yield _row(
            f"`{facet.state_code}`",
            f"`{facet.facet_code}`",
            facet.ui_icon_glyph,
            registry.text(facet.ui_label_i18n_key, "en"),
            registry.text(facet.ui_label_i18n_key, "vi"),
            str(facet.primary_ordinal),
        )


def _guards(registry: Registry) -> str:
    rows = [
        _row(
            f"`{guard.predicate_name}`",
            guard.description,
            registry.text(f"guard.{guard.predicate_name}", "en"),
        )
        for guard in registry.guards
    ]
    return _section("Guards", [*_head("guard", "holds when", "else"), *rows])


def _events(registry: Registry) -> str:
    rows = list(_head("event", "meaning", "payload"))
    for event in registry.events:
        payload = [
            f"`{field.field_name}` {field.json_type}{'' if field.is_required else '?'}"
            + (f" ({', '.join(field.allowed_values)})" if field.allowed_values else "")
            for field in event.fields
        ]
        rows.append(_row(f"`{event.event_type}`", event.description, "<br>".join(payload)))
    note = (
        "A `?` marks an optional field; further fields are allowed. `fn_event_type_schema` gives JSON Schema."
    )
    return _section("Events", [note, "", *rows])


def _dialects(registry: Registry) -> str:
    """One row for each state and qualifier; for an empty cell use the row without a qualifier."""
    rows = list(_head("scope", "state", "when", *DIALECTS, "note"))
    words: dict[tuple[str, str, str], dict[str, str]] = {}
    notes: dict[tuple[str, str, str], str] = {}
    for word in registry.dialects:
        key = (word.scope, word.state_code, word.qualifier)
        words.setdefault(key, {})[word.dialect] = word.dialect_code
        notes[key] = word.note or ""
    for key, by_dialect in words.items():
        cells = (f"`{by_dialect[name]}`" if name in by_dialect else "" for name in DIALECTS)
        rows.append(_row(key[0], f"`{key[1]}`", key[2], *cells, notes[key]))
    note = "Read-only names of the same states in other vocabularies. The engine does not use them."
    return _section("Dialects", [note, "", *rows])


def _rollup(registry: Registry) -> str:
    rows = list(_head("rule", "policy", "meaning", "configuration"))
    for policy in registry.rollup_policies:
        config = dict(policy.policy_config_jsonb)
        rule = config.pop("rule", "")
        text = json.dumps(config, ensure_ascii=False, sort_keys=True)
        rows.append(_row(str(rule), f"`{policy.policy_code}`", policy.description, f"`{text}`"))
    return _section("Roll-up", rows)


def _failure_classes(registry: Registry) -> str:
    rows = list(_head("class", "retried", "meaning", "exceptions"))
    for found in registry.failure_classes:
        retried = "yes" if found.classification == "transient" else "no"
        rows.append(
            _row(f"`{found.failure_class}`", retried, found.description, _codes(found.exception_names))
        )
    return _section("Failure classes", rows)


def _colours(registry: Registry) -> str:
    rows = list(
        _head("colour", "meaning", "text on ground", "contrast", "high contrast", "contrast", "shape")
    )
    for token, colour in sorted(registry.colours.items()):
        high = colour.high_contrast
        rows.append(
            _row(
                f"`{token}`",
                colour.description,
                f"`{colour.fg}` on `{colour.bg}`",
                f"{colour.contrast_ratio:.2f}",
                f"`{high['fg']}` on `{high['bg']}`",
                f"{high['contrast_ratio']:.2f}",
                colour.shape_token,
            )
        )
    note = "Contrast by the WCAG 2.1 formula; text needs 4.5, the high-contrast pair 7."
    return _section("Colours", [note, "", *rows])


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *lines, ""])


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
