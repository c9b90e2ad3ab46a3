"""Show approvals in Slack: receives a conninfo, posts missing messages and updates outdated ones.

The state of the approvals is the outbox: nothing is sent in a transaction. After a crash or a failure of
Slack the next pass finds what is missing. A message is posted twice only if Slack cannot tell whether it was
posted.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stepwell.client import Client
from stepwell.connectors.base import Action, Effect, EffectUnavailable, EffectUnknown
from stepwell.connectors.secrets import opened_secrets
from stepwell.connectors.slack import SlackConnector, message_metadata
from stepwell.connectors.slack_api import SlackApi, SlackRefused
from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.govern.slack import card, settings
from stepwell.govern.slack.settings import SlackSettings
from stepwell.store.calls import slack
from stepwell.store.calls.slack import DueCard

# Few enough to finish before HOLD_SECONDS, even if each needs two slow calls.
CARDS_PER_LOOK: Final = 5
HOLD_SECONDS: Final = 300
POLL_SECONDS: Final = 1.0
RECONNECT_MAX_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0
CONNECTOR: Final = "slack"

_log = logging.getLogger(__name__)


class SlackNotifier:
    """Several notifiers may run: each card is reserved for one of them at a time."""

    def __init__(self, conninfo: str, given: SlackSettings, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._conninfo = conninfo
        self._settings = given
        self._poll_seconds = poll_seconds
        self._connector = SlackConnector(
            CONNECTOR, secret=given.token, api_url=given.api_url, limit_seconds=given.limit_seconds
        )
        self._api = SlackApi(api_url=given.api_url, limit_seconds=given.limit_seconds)

    def run(self, stop: threading.Event) -> None:
        """Run until stopped; wait for the database if it is unavailable."""
        delay_seconds = self._poll_seconds
        while not stop.is_set():
            try:
                asyncio.run(self._keep_looking(stop))
            except DatabaseUnavailable as error:
                _log.warning("the Slack notifier lost its database: %s", error)
                stop.wait(delay_seconds)
                delay_seconds = min(delay_seconds * 2, RECONNECT_MAX_SECONDS)
            except StepwellError as error:
                _log.error("the Slack notifier cannot work: %s", error.sentence())
                stop.wait(RECONNECT_MAX_SECONDS)
            except Exception:
                # One card with an error must not stop all others for ever.
                _log.exception("the Slack notifier failed")
                stop.wait(RECONNECT_MAX_SECONDS)

    def run_once(self) -> int:
        """Make one pass on a new connection; return how many messages were sent or updated."""

        async def look() -> int:
            client = await self._connect()
            try:
                return await self.look(client)
            finally:
                await client.close()

        return asyncio.run(look())

    async def _keep_looking(self, stop: threading.Event) -> None:
        client = await self._connect()
        try:
            while not stop.is_set():
                if await self.look(client) < CARDS_PER_LOOK:
                    await asyncio.to_thread(stop.wait, self._poll_seconds)
        finally:
            await client.close()

    async def _connect(self) -> Client:
        return await Client.connect(
            self._conninfo, tenant=self._settings.tenant, actor="slack", pool_max_size=1
        )

    async def look(self, client: Client) -> int:
        """Send or update the messages that are due now."""
        take = slack.take_cards(client.tenant_id, self._settings.channel, CARDS_PER_LOOK, HOLD_SECONDS)
        shown_count = 0
        for due in await client.perform(take):
            shown_count += await self._show(client, due)
        return shown_count

    async def _show(self, client: Client, due: DueCard) -> bool:
        tenant, approval_id = client.tenant_id, due.approval_id
        is_final = due.approval["state_code"] != "requested"
        try:
            message_ts = await self._brought_up_to_date(tenant, due)
        except SlackRefused as error:
            # The message was deleted in Slack: the approval continues without it.
            is_gone = error.error == "message_not_found"
            note = slack.note_card(tenant, approval_id, error=error.sentence(), is_final=is_gone)
            await client.perform(note)
            _log.warning("approval %s is not shown in Slack: %s", approval_id, error.sentence())
            return False
        except StepwellError as error:
            retry = error.retry_after_seconds if isinstance(error, EffectUnavailable) else None
            seconds = None if retry is None else round(retry) + 1
            note = slack.note_card(tenant, approval_id, error=error.sentence(), retry_seconds=seconds)
            await client.perform(note)
            _log.warning("approval %s is not shown in Slack yet: %s", approval_id, error.sentence())
            return False
        await client.perform(
            slack.note_card(tenant, approval_id, message_ts=message_ts, face=due.face, is_final=is_final)
        )
        return message_ts is not None

    async def _brought_up_to_date(self, tenant: int, due: DueCard) -> str | None:
        """Post or update the message and return its id; None if there is none and none is needed any more."""
        text, blocks = card.draw(tenant, due.approval, has_buttons=self._settings.signing_secret is not None)
        action = Action(
            tenant, CONNECTOR, "post", due.channel, {"text": text, "blocks": blocks},
            idempotency_key=f"approval-card:{due.approval_id}",
        )  # fmt: skip
        message_ts = due.message_ts
        if message_ts is None:
            # An earlier attempt may have posted the message although its answer was lost.
            found = await self._found(action) if due.try_count > 1 else None
            if found is None:
                if due.approval["state_code"] != "requested":
                    return None
                return str((await self._connector.perform(action)).result["ts"])
            message_ts = str(found.result["ts"])
        with opened_secrets() as opened:
            await self._api.call(
                opened.open(self._settings.token), "chat.update", channel=due.channel, ts=message_ts,
                text=text, blocks=blocks, metadata=message_metadata(action),
            )  # fmt: skip
        return message_ts

    async def _found(self, action: Action) -> Effect | None:
        try:
            return await self._connector.confirm(action)
        except (SlackRefused, EffectUnknown) as error:
            # Without the right to read the channel it is unknown; post it again rather than never.
            _log.warning("Slack does not tell whether a message was posted: %s", error.sentence())
            return None


def notify_once(conninfo: str) -> int | None:
    """Make one pass; None if Slack is not set up."""
    given = settings.load()
    return None if given is None else SlackNotifier(conninfo, given).run_once()


@contextmanager
def notifying(conninfo: str) -> Iterator[SlackNotifier | None]:
    """A notifier in a separate thread during the block; None if Slack is not set up."""
    given = settings.load()
    if given is None:
        yield None
        return
    notifier = SlackNotifier(conninfo, given)
    stop = threading.Event()
    thread = threading.Thread(target=notifier.run, args=(stop,), name="slack-notifier", daemon=True)
    thread.start()
    try:
        yield notifier
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
