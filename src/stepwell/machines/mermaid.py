"""Draw a machine as Mermaid text: receives a machine, returns a `stateDiagram-v2`."""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.machines.model import Machine, Registry
from stepwell.translations import Lang


def mermaid(registry: Registry, machine: Machine, lang: Lang) -> str:
    return "\n".join(_lines(registry, machine, lang)) + "\n"


def _lines(registry: Registry, machine: Machine, lang: Lang) -> Iterator[str]:
    # A state without transitions exists only because the floor requires it; leave it out.
    edges: dict[tuple[str, str], list[str]] = {}
    for row in machine.transitions:
        codes = edges.setdefault((row.from_state, row.to_state), [])
        if row.transition_code not in codes:
            codes.append(row.transition_code)
    used = {code for edge in edges for code in edge}
    states = [state for state in machine.states if state.state_code in used]
    yield "stateDiagram-v2"
    yield "    direction LR"
    for state in states:
        label = f"{state.ui_icon_glyph} {registry.text(state.ui_label_i18n_key, lang)}"
        yield f'    state "{label}" as {state.state_code}'
    for state in states:
        if state.is_initial:
            yield f"    [*] --> {state.state_code}"
    for (from_state, to_state), codes in edges.items():
        yield f"    {from_state} --> {to_state}: {', '.join(codes)}"
    for state in states:
        if state.is_terminal:
            yield f"    {state.state_code} --> [*]"
    for token in sorted({state.ui_color_token for state in states}):
        colour = registry.colours[token]
        yield f"    classDef {_name(token)} fill:{colour.bg},color:{colour.fg},stroke:{colour.fg}"
    for state in states:
        yield f"    class {state.state_code} {_name(state.ui_color_token)}"


def _name(token: str) -> str:
    return token.rpartition(".")[2]
