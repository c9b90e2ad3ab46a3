"""The registry in memory: receives the document of `fn_registry_read`, returns frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

from stepwell.translations import Lang

Document = Mapping[str, Any]
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class State:
    state_code: str
    semantic_class: str
    is_terminal: bool
    is_initial: bool
    ordinal: int
    ui_color_token: str
    ui_icon_token: str
    ui_icon_glyph: str
    ui_label_i18n_key: str
    ui_short_message_key: str
    is_derived: bool
    floor_equivalent: str | None
    justification: str | None


@dataclass(frozen=True, slots=True)
class Transition:
    from_state: str
    to_state: str
    actor_class: str
    transition_code: str
    trigger_kind: str
    trigger_ref: str | None
    guard_kind: str
    guard_ref: str | None
    emitted_event_type: str | None
    audit_required: bool
    rollback_to: str | None
    proposed: bool
    is_extension: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Facet:
    state_code: str
    facet_code: str
    ui_icon_token: str
    ui_icon_glyph: str
    ui_label_i18n_key: str
    primary_ordinal: int


@dataclass(frozen=True, slots=True)
class Machine:
    state_machine_id: str
    scope: str
    version: str
    active: bool
    description: str
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    facets: tuple[Facet, ...]

    def state(self, state_code: str) -> State:
        return next(state for state in self.states if state.state_code == state_code)


@dataclass(frozen=True, slots=True)
class Colour:
    """A pair of colours: text `fg` on background `bg`."""

    fg: str
    bg: str
    contrast_ratio: float
    shape_token: str
    description: str
    high_contrast: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventField:
    field_name: str
    json_type: str
    is_required: bool
    allowed_values: Sequence[str] | None
    description: str


@dataclass(frozen=True, slots=True)
class EventType:
    event_type: str
    description: str
    is_registered: bool
    fields: tuple[EventField, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    predicate_name: str
    description: str
    is_builtin: bool


@dataclass(frozen=True, slots=True)
class DialectWord:
    dialect: str
    scope: str
    state_code: str
    qualifier: str
    dialect_code: str
    note: str | None


@dataclass(frozen=True, slots=True)
class RollupPolicy:
    policy_code: str
    policy_config_jsonb: Mapping[str, Any]
    active: bool
    description: str


@dataclass(frozen=True, slots=True)
class FailureClass:
    failure_class: str
    classification: str
    description: str
    exception_names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Registry:
    machines: tuple[Machine, ...]
    colours: Mapping[str, Colour]
    texts: Mapping[str, Mapping[str, str]]
    guards: tuple[Guard, ...]
    events: tuple[EventType, ...]
    dialects: tuple[DialectWord, ...]
    rollup_policies: tuple[RollupPolicy, ...]
    failure_classes: tuple[FailureClass, ...]

    def active(self, scope: str) -> Machine | None:
        return next((machine for machine in self.machines if machine.scope == scope and machine.active), None)

    def text(self, key: str, lang: Lang) -> str:
        """The text; if it is missing, its key, so that the error is visible."""
        return self.texts.get(lang, {}).get(key, key)

    @classmethod
    def from_document(cls, document: Document) -> Self:
        return cls(
            machines=tuple(_machine(row) for row in document["machines"]),
            colours={token: _row(Colour, row) for token, row in document["colours"].items()},
            texts=document["texts"],
            guards=_rows(Guard, document["guards"]),
            events=tuple(
                _row(EventType, row, fields=_rows(EventField, row["fields"])) for row in document["events"]
            ),
            dialects=_rows(DialectWord, document["dialects"]),
            rollup_policies=_rows(RollupPolicy, document["rollup_policies"]),
            failure_classes=_rows(FailureClass, document["failure_classes"]),
        )


def _machine(row: Document) -> Machine:
    return _row(
        Machine,
        row,
        states=_rows(State, row["states"]),
        transitions=_rows(Transition, row["transitions"]),
        facets=_rows(Facet, row["facets"]),
    )


def _rows(kind: type[_Row], rows: Sequence[Document]) -> tuple[_Row, ...]:
    return tuple(_row(kind, row) for row in rows)


def _row(kind: type[_Row], row: Document, **replaced: Any) -> _Row:
    """Columns of a later schema that this release does not know are left out."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in row.items() if name in known} | replaced)
