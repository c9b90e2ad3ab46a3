"""Combine transitions for display: receives one row for each actor, returns one row for each transition."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.machines.model import Machine, Transition


@dataclass(frozen=True, slots=True)
class Fold:
    """Transitions with one code that differ only in their first state and their actor."""

    transition: Transition
    from_states: tuple[str, ...]
    actor_classes: tuple[str, ...]

    @property
    def trigger(self) -> str:
        name = self.transition.trigger_ref
        return f"{self.transition.trigger_kind} {name}" if name else self.transition.trigger_kind


def fold(machine: Machine) -> list[Fold]:
    """First combine the actors of each edge, then the first states of each code with the same actors."""
    by_edge: dict[tuple[object, ...], list[Transition]] = {}
    for transition in machine.transitions:
        by_edge.setdefault((transition.from_state, *_likeness(transition)), []).append(transition)
    by_code: dict[tuple[object, ...], list[list[Transition]]] = {}
    for alike in by_edge.values():
        actors = tuple(transition.actor_class for transition in alike)
        by_code.setdefault((actors, *_likeness(alike[0])), []).append(alike)
    return [
        Fold(
            transition=starts[0][0],
            from_states=tuple(alike[0].from_state for alike in starts),
            actor_classes=tuple(transition.actor_class for transition in starts[0]),
        )
        for starts in by_code.values()
    ]


def _likeness(row: Transition) -> tuple[object, ...]:
    return (
        row.transition_code, row.to_state, row.trigger_kind, row.trigger_ref, row.guard_ref,
        row.emitted_event_type, row.audit_required, row.rollback_to, row.proposed, row.reason,
    )  # fmt: skip
