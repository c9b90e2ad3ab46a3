"""Content that steps show: receives a code and a text, returns versions that never change."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, Number
from stepwell.api.calls import calls_of
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown

router = Resource("content")

Code = Annotated[str, Path(min_length=1, max_length=200)]
VersionNo = Annotated[int, Path(ge=1, lt=2**31)]


class ContentView(Shown):
    """One version of a content unit."""

    code: str
    version_no: int
    body: str
    content_hash: str
    written_at: datetime
    written_by: str
    note: str | None
    labels: dict[str, str] = Field(description="language → label")


class ContentText(Body):
    body: str = Field(max_length=1_000_000, examples=["Seal the parcel with tape."])
    labels: dict[str, str] = Field(default_factory=dict, max_length=10, examples=[{"en": "Seal guide"}])
    items: list[str] | None = Field(
        default=None,
        max_length=1_000,
        description="the codes of a bundle",
        examples=[["guide.seal", "guide.label"]],
    )
    note: str | None = Field(default=None, max_length=2000, examples=["shorter"])


class Written(Shown):
    version_no: int
    is_new: bool = Field(description="false: the newest version is the same")


class CutView(Shown):
    """A request to cut content. One that failed changed nothing, and waits for somebody."""

    cut_request_id: Id
    op: str = Field(description="split, merge or restage")
    state_code: str
    sources: list[str] = Field(description="codes of what is cut")
    targets: list[str] = Field(description="codes of what is made")
    attempt_count: int
    reason: str | None = Field(description="why it failed")
    error_code: str | None
    requested_by: str
    requested_at: datetime
    finished_at: datetime | None


class GivingUp(Body):
    reason: str = Field(min_length=1, max_length=2000, examples=["the parts were a slip"])


@router.write(
    "/cuts/{cut_request_id}/retry",
    verb="workflow.publish",
    summary="Carry out a failed cut of content again",
    problems=("not_found", "conflict"),
)
async def retry_cut(cut_request_id: Number, caller: Caller) -> CutView:
    return CutView.model_validate(await calls_of(caller).content_cut_retry(cut_request_id))


@router.write(
    "/cuts/{cut_request_id}/cancel",
    verb="workflow.publish",
    summary="Give up a failed cut of content",
    problems=("not_found", "conflict"),
)
async def cancel_cut(cut_request_id: Number, wish: GivingUp, caller: Caller) -> CutView:
    return CutView.model_validate(await calls_of(caller).content_cut_cancel(cut_request_id, wish.reason))


@router.read("/content/{code}/versions", summary="The versions of a content unit, the newest first")
async def list_content_versions(code: Code, caller: Caller) -> list[ContentView]:
    return [ContentView.model_validate(one) for one in await calls_of(caller).content_versions(code)]


@router.read("/content/{code}", summary="The newest version of a content unit")
async def show_content(code: Code, caller: Caller) -> ContentView:
    return ContentView.model_validate(await calls_of(caller).content(code))


@router.read("/content/{code}/versions/{version_no}", summary="One version of a content unit")
async def show_content_version(code: Code, version_no: VersionNo, caller: Caller) -> ContentView:
    return ContentView.model_validate(await calls_of(caller).content(code, version_no))


@router.write(
    "/content/{code}",
    method="PUT",
    verb="workflow.publish",
    summary="Write a version of a content unit",
    problems=("not_found", "conflict"),
)
async def write_content(code: Code, content: ContentText, caller: Caller) -> Written:
    made = await calls_of(caller).content_write(
        code, content.body, labels=content.labels, items=content.items, note=content.note
    )
    return Written.model_validate(made)
