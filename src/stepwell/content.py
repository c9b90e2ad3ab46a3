"""Write and read content units: receives Markdown and codes, returns versions and differences."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from stepwell.calls import Calls
from stepwell.client import Client
from stepwell.store.calls import content as calls
from stepwell.store.calls.content import ContentVersion, PinnedContent, Written

__all__ = ["Content", "ContentCalls", "ContentVersion", "PinnedContent", "Written", "difference"]


class ContentCalls(Calls):
    """All calls about content units."""

    async def content_write(
        self,
        code: str,
        body: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        items: Sequence[str] | None = None,
        note: str | None = None,
    ) -> Written:
        """Write a version, unless nothing changed. With `items`: a bundle of their current versions."""
        client = await self._connected()
        return await client.perform(
            calls.write(client.tenant_id, code, body, client.actor, labels or {}, items, note)
        )

    async def content_versions(self, code: str) -> list[ContentVersion]:
        client = await self._connected()
        found = await client.perform(calls.versions(client.tenant_id, code))
        if not found:
            raise await self._missing(f"content {code} does not exist", "content", code, field="code")
        return found

    async def content(self, code: str, version_no: int | None = None) -> ContentVersion:
        """One version; without a number the current one."""
        client = await self._connected()
        found = await client.perform(calls.versions(client.tenant_id, code, version_no))
        if not found:
            which = "" if version_no is None else f" version {version_no}"
            raise await self._missing(f"content {code}{which} does not exist", "content", code, field="code")
        return found[0]

    async def content_diff(self, code: str, old: int, new: int | None = None) -> str:
        """The lines that differ between two versions; without `new`, compared with the current one."""
        return difference(await self.content(code, old), await self.content(code, new))

    async def step_content(self, step_run_id: int) -> PinnedContent | None:
        """The content that a step shows: the version that was current when its run started."""
        client = await self._connected()
        return await client.perform(calls.pinned(client.tenant_id, step_run_id))


class Content(ContentCalls):
    """The same calls on a client, without an app."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _connected(self) -> Client:
        return self._client


def difference(old: ContentVersion, new: ContentVersion) -> str:
    """A unified diff; empty if the bodies are equal."""
    return "\n".join(
        difflib.unified_diff(
            old.body.splitlines(),
            new.body.splitlines(),
            f"{old.code} version {old.version_no}",
            f"{new.code} version {new.version_no}",
            lineterm="",
        )
    )
