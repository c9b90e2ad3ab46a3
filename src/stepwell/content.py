"""Write and read content units: receives Markdown and codes, returns versions and differences."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from stepwell.calls import Calls
from stepwell.client import Client
from stepwell.store.calls import content as calls
from stepwell.store.calls import cuts
from stepwell.store.calls.content import ContentVersion, PinnedContent, Written
from stepwell.store.calls.cuts import Cut, LifeLine

__all__ = [
    "Content",
    "ContentCalls",
    "ContentVersion",
    "Cut",
    "LifeLine",
    "PinnedContent",
    "Written",
    "difference",
]


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
        """All versions of a content unit."""
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

    async def content_split(
        self,
        code: str,
        parts: Mapping[str, str],
        *,
        version_no: int | None = None,
        key: str | None = None,
    ) -> Cut:
        """Split a content unit: its text becomes these parts (code to text), in this order, which replace it.

        The parts together must be exactly its text. A cut that cannot be done is returned with the state
        `failed` and its reason; nothing has changed then. `version_no` is the version that was cut."""
        client = await self._connected()
        listed = [{"code": part, "body": body} for part, body in parts.items()]
        return await self._cut(
            await client.perform(cuts.split(client.tenant_id, code, listed, client.actor, version_no, key))
        )

    async def content_merge(
        self,
        codes: Sequence[str],
        into: str,
        *,
        separator: str = "\n\n",
        labels: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Cut:
        """Merge content units, in this order, into a new one, which replaces them."""
        client = await self._connected()
        call = cuts.merge(client.tenant_id, codes, into, client.actor, separator, labels or {}, key)
        return await self._cut(await client.perform(call))

    async def content_restage(self, code: str, version_no: int, *, key: str | None = None) -> Cut:
        """Make an earlier version current again, as a new version."""
        client = await self._connected()
        call = cuts.restage(client.tenant_id, code, version_no, client.actor, key)
        return await self._cut(await client.perform(call))

    async def content_cuts(self, *, state: str | None = None, limit: int = 100) -> list[Cut]:
        """Cuts, the newest first; `state="failed"` for those that wait for somebody."""
        client = await self._connected()
        return await client.perform(cuts.read(client.tenant_id, None, state, min(limit, 1000)))

    async def content_cut_retry(self, cut_request_id: int) -> Cut:
        """Carry out a failed cut again."""
        client = await self._connected()
        return await self._cut(
            await client.perform(cuts.retry(client.tenant_id, cut_request_id, client.actor))
        )

    async def content_cut_cancel(self, cut_request_id: int, reason: str | None = None) -> Cut:
        """Give up a failed cut."""
        client = await self._connected()
        call = cuts.cancel(client.tenant_id, cut_request_id, client.actor, reason)
        return await self._cut(await client.perform(call))

    async def content_life(self, code: str, *, limit: int = 100) -> list[LifeLine]:
        """What happened to a content unit, the newest first: versions, cuts, failed cuts, warnings."""
        client = await self._connected()
        return await client.perform(cuts.life(client.tenant_id, code, min(limit, 1000)))

    async def _cut(self, cut_request_id: int) -> Cut:
        client = await self._connected()
        (found,) = await client.perform(cuts.read(client.tenant_id, cut_request_id, None, 1))
        return found


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
