"""The registry as a whole: state machines with their texts, and the vocabularies of reasons."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.store.calls import registry

router = Resource("registry")


class WordView(Shown):
    """One word of a vocabulary, in two languages."""

    code: str = Field(examples=["missing_material"])
    label_en: str | None
    label_vi: str | None


class VocabularyView(Shown):
    name: str = Field(examples=["block_reason"])
    words: list[WordView]


@router.read(
    "/registry/machines", summary="State machines, transitions, event types, dialects, texts", problems=()
)
async def read_registry(caller: Caller) -> dict[str, Any]:
    return await caller.perform(registry.whole())


@router.read("/registry/vocabularies", summary="The vocabularies of reasons", problems=())
async def list_vocabularies(caller: Caller) -> list[VocabularyView]:
    return [VocabularyView.model_validate(one) for one in await caller.perform(registry.vocabularies())]
