"""Make the demo: receives an empty database, returns the passwords of its people."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Final

import stepwell as sw
from stepwell.api.passwords import Hasher
from stepwell.client import Client
from stepwell.demo import plant, triage
from stepwell.demo.app import make as make_app
from stepwell.demo.history import History
from stepwell.demo.people import PEOPLE, ROLES_OF_THE_LINK, SERVICE
from stepwell.store.calls import mode, principals, sealing, sign_in
from stepwell.store.connection.pool import not_waiting

WORDS: Final = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
    "maple",
    "north",
    "onyx",
    "pearl",
    "quartz",
    "river",
    "slate",
    "tulip",
    "umber",
    "violet",
    "willow",
    "zinc",
)
WORDS_OF_PASSWORD: Final = 4


async def make(dsn: str, folder: Path, ends: datetime, days: int) -> dict[str, str]:
    """Let the engine work through the days before `ends`. Returns name → password."""
    app = make_app(folder)
    # A demo that a power cut interrupts is made again: nothing waits for the disk.
    async with History(app, not_waiting(dsn), ends - timedelta(days=days)) as history:
        passwords = await _prepare(app)
        await history.client.perform(mode.begin_demo(history.client.tenant_id))
        await history.work_until(ends)
        await _seal(history.client)
    return passwords


async def _seal(client: Client) -> None:
    """Seal the past, so that the first seal of the keeper is not days late."""
    while await client.perform(sealing.seal(client.tenant_id)) is not None:
        pass


async def _prepare(app: sw.App) -> dict[str, str]:
    client = await app.client()
    # Nobody decides about what they published: the workflows of the demo come from a service.
    await client.perform(
        principals.set_principal(client.tenant_id, "service", SERVICE, ["publisher", "operator"], None)
    )
    for member in PEOPLE:
        await app.person_set(member.name, list(member.roles), display_name=member.title)
    if (person := (await client.perform(mode.read())).person) is not None:
        (known,) = await client.perform(principals.principals(client.tenant_id, person))
        roles = sorted({*known.roles, *ROLES_OF_THE_LINK})
        await app.person_set(known.name, roles, display_name=known.title)
    author = app.acting_as("lan")
    await author.content_write(
        "triage.guide", triage.GUIDE, labels={"en": "Mitigate an incident", "vi": "Xử lý sự cố"}
    )
    await author.content_write(
        "plant.permit", plant.PERMIT, labels={"en": "Entry permit", "vi": "Giấy phép vào"}
    )
    policy = files("stepwell.demo").joinpath("policy.yaml").read_text()
    proposed = await app.policy_propose(policy, file="policy.yaml", reason="the rules of the demo")
    await app.policy_activate(int(proposed["version_no"]))
    return {member.name: await _password(app, member.name) for member in PEOPLE if member.signs_in}


async def _password(app: sw.App, name: str) -> str:
    client = await app.client()
    text = "-".join(secrets.choice(WORDS) for _ in range(WORDS_OF_PASSWORD))
    hashed = await Hasher().hash(await client.perform(sign_in.parameters()), text)
    await client.perform(sign_in.set_password(client.tenant_id, name, hashed))
    return text
