"""Operations and connectors keep their types; inside a handler the context has a type."""

from collections.abc import Mapping
from typing import reveal_type

import stepwell as sw
from stepwell.connectors import Action, Effect, HttpConnector, OperationSpec

app = sw.App()


@app.operation
async def charge(order_id: str, amount: float = 1.0) -> dict[str, str]:
    return {"receipt": order_id}


@app.operation(retry=sw.Retry(max_attempts=5), timeout="30s", executor="process")
def crunch(n: int) -> int:
    return n * n


@app.operation
async def long(ctx: sw.Context, names: list[str]) -> sw.Completed | sw.Waiting:
    reveal_type(ctx.attempt)  # int
    reveal_type(ctx.step_id)  # str | None
    reveal_type(await ctx.step("charge", charge, "A"))  # dict[str, str]
    await ctx.sleep("1h")
    return sw.Waiting("paid", timeout="2d")


class Ledger:
    """A connector of one's own: no base class, only these names."""

    name = "ledger"
    operations: Mapping[str, OperationSpec] = {
        "put": OperationSpec(writes=True, idempotent=True, reversible=False, confirmable=False)
    }

    def canonical(self, operation: str, target: str) -> str:
        return target

    async def perform(self, action: Action) -> Effect:
        return Effect({"entry": action.target})

    async def confirm(self, action: Action) -> Effect | None:
        return None


class Wrong:
    name = "wrong"


reveal_type(charge)  # def (order_id: str, amount: float =) -> Coroutine[Any, Any, dict[str, str]]
reveal_type(crunch)  # def (n: int) -> int
reveal_type(app.connector(Ledger()))  # Ledger
reveal_type(app.connector(HttpConnector("tickets", "https://tickets.example.com")))  # HttpConnector
app.connector(Wrong())  # error: type-var
reveal_type(app.operation(crunch, name="crunched"))  # def (n: int) -> int
app.operation(retry=3)  # error: call-overload
