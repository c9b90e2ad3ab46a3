"""The link that `up` prints for whoever has no password yet: receives the mode, returns a link or None."""

from __future__ import annotations

from stepwell.client import Client
from stepwell.config import user_name
from stepwell.errors import Conflict, PermissionDenied
from stepwell.store.calls import principals
from stepwell.store.calls.mode import Mode

LINK_SECONDS = 86_400


async def sign_in_link(conninfo: str, mode: Mode) -> str | None:
    """In development mode it signs in its person; else it makes the first administrator, while there is none.

    Everybody on this machine can open the port of the server, so the port proves nothing. Only the owner
    of the schema can make these links.
    """
    client = await Client.connect(conninfo, is_command=True)
    try:
        if mode.person is not None:
            name, purpose, kind = mode.person, "sign_in", "once"
        else:
            name, purpose, kind = user_name(), "first_administrator", "link"
        link, _ = await client.perform(principals.create_link(client.tenant_id, name, purpose, LINK_SECONDS))
    except (Conflict, PermissionDenied):
        # An administrator has a password, or this role may not make links.
        return None
    finally:
        await client.close()
    return f"/sign-in#{kind}={link}"
