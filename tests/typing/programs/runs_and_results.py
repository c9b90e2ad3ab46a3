"""A handle has the type of its result: the workflow declares it, or the call gives it."""

from typing import reveal_type

from pydantic import BaseModel

import stepwell as sw


class Order(BaseModel):
    id: str
    amount: float


class Invoice(BaseModel):
    number: int


app = sw.App()
plain = sw.Workflow("plain", sw.Operation("bill"))
typed = sw.Workflow("typed", sw.Operation("bill"), output=Invoice)
lists = sw.Workflow("lists", sw.Operation("bill"), output=list[int])


async def main() -> None:
    reveal_type(plain)  # Workflow[Any]
    reveal_type(typed)  # Workflow[Invoice]
    reveal_type(await app.start("plain"))  # RunHandle[Any]
    reveal_type(await app.start(plain, {"id": "A"}))  # RunHandle[Any]
    reveal_type(await app.start(typed, Order(id="A", amount=1.5), key="A"))  # RunHandle[Invoice]
    reveal_type(await app.start("typed", result_type=Invoice))  # RunHandle[Invoice]
    run = await app.start(typed)
    reveal_type(await run.result())  # Invoice
    reveal_type((await run.result()).number)  # int
    reveal_type(await run.wait(5))  # RunOutcome[Invoice]
    reveal_type((await run.outcome()).result)  # Invoice | None
    reveal_type(await run.steps())  # list[RunStep]
    reveal_type(await app.run(lists))  # list[int]
    reveal_type(await app.start_many(lists, [{}, {}]))  # list[RunHandle[list[int]]]
    reveal_type(await app.find_run(7))  # RunHandle[Any]
    reveal_type(await app.find_run(typed, "A"))  # RunHandle[Invoice]
    reveal_type(await app.find_run("typed", key="A", result_type=Invoice))  # RunHandle[Invoice]
    reveal_type(await app.runs(workflow="typed", state="failed", limit=10))  # list[Run]
    reveal_type(await app.runs(workflow=typed))  # list[Run]
    reveal_type(await app.run_count(colour="red"))  # int
    reveal_type(await app.run_count(workflow=plain))  # int
    await app.runs(workflow=7)  # error: arg-type
    job = await app.enqueue("bill", {"id": "A"}, result_type=Invoice, max_attempts=3)
    reveal_type(job)  # JobHandle[Invoice]
    reveal_type(await job.result())  # Invoice
    await app.runs(state="faild")  # error: arg-type
    await app.start("plain", keyy="A")  # error: call-arg
    await app.start("plain", 7)  # error: arg-type
    await app.run_count(limit=3)  # error: call-arg
    async for event in run.events(follow=True):
        reveal_type(event)  # RunEvent
    reveal_type(await app.wait([run], until="first"))  # Waited[Invoice]
    await app.wait([run], until="last")  # error: arg-type
