"""How states are shown: returns the colours, icons and words that a page needs to draw them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, Field

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.machines.model import Machine, Registry
from stepwell.store.calls import registry as calls

router = Resource("registry")


class Words(BaseModel):
    en: str
    vi: str


class Pair(BaseModel):
    """Text on a surface, as #rrggbb."""

    fg: str = Field(examples=["#FFFFFF"])
    bg: str = Field(examples=["#04875E"])


class ColourToken(Pair):
    token: str = Field(examples=["ui.traffic_light.green"])
    shape: str = Field(description="what tells it apart without colour", examples=["triangle_filled"])
    high_contrast: Pair = Field(description="for dark and high-contrast themes")


class StateToken(BaseModel):
    scope: str = Field(examples=["step"])
    state_code: str = Field(examples=["in_progress"])
    color_token: str = Field(examples=["ui.traffic_light.green"])
    icon_token: str = Field(examples=["icon.play_filled"])
    semantic_class: str = Field(description="idle, active, wait or red")
    is_terminal: bool
    ordinal: int
    label: Words
    short: Words = Field(description="one line that explains the state")


class FacetToken(BaseModel):
    """Why a state lasts."""

    scope: str
    state_code: str
    facet_code: str = Field(examples=["waiting_human"])
    icon_token: str
    label: Words


class Tokens(BaseModel):
    colours: list[ColourToken]
    states: list[StateToken]
    facets: list[FacetToken]


@router.read("/registry/tokens", verb=None, summary="Colours, icons and words of all states", problems=())
async def read_tokens(caller: Caller) -> Tokens:
    document = await caller.perform(calls.whole())
    registry = Registry.from_document(document)
    active = [machine for machine in registry.machines if machine.active]
    return Tokens(
        colours=[
            ColourToken(
                token=token,
                fg=colour.fg,
                bg=colour.bg,
                shape=colour.shape_token,
                high_contrast=Pair(fg=colour.high_contrast["fg"], bg=colour.high_contrast["bg"]),
            )
            for token, colour in sorted(registry.colours.items())
        ],
        states=[state for machine in active for state in _states(registry, machine)],
        facets=[facet for machine in active for facet in _facets(registry, machine)],
    )


def _states(registry: Registry, machine: Machine) -> Iterator[StateToken]:
    for state in machine.states:
        yield StateToken(
            scope=machine.scope,
            state_code=state.state_code,
            color_token=state.ui_color_token,
            icon_token=state.ui_icon_token,
            semantic_class=state.semantic_class,
            is_terminal=state.is_terminal,
            ordinal=state.ordinal,
            label=_words(registry, state.ui_label_i18n_key),
            short=_words(registry, state.ui_short_message_key),
        )


def _facets(registry: Registry, machine: Machine) -> Iterator[FacetToken]:
    for facet in machine.facets:
        yield FacetToken(
            scope=machine.scope,
            state_code=facet.state_code,
            facet_code=facet.facet_code,
            icon_token=facet.ui_icon_token,
            label=_words(registry, facet.ui_label_i18n_key),
        )


def _words(registry: Registry, key: str) -> Words:
    return Words(en=registry.text(key, "en"), vi=registry.text(key, "vi"))
