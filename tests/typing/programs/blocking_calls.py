"""The calls of `app.sync` have the same types as those of the app."""

from typing import reveal_type

import stepwell as sw

app = sw.App()
typed = sw.Workflow("typed", sw.Operation("bill"), output=dict[str, int])

with app.sync as calls:
    reveal_type(calls)  # SyncApp
    run = calls.start(typed, {"id": "A"}, key="A")
    reveal_type(run)  # SyncRunHandle[dict[str, int]]
    reveal_type(run.result())  # dict[str, int]
    reveal_type(run.state())  # str
    reveal_type(calls.run(typed))  # dict[str, int]
    reveal_type(calls.run("other"))  # Any
    reveal_type(calls.start_many("other", [{}], result_type=int))  # list[SyncRunHandle[int]]
    reveal_type(calls.find_run("other", "A"))  # SyncRunHandle[Any]
    reveal_type(calls.runs(state="failed"))  # list[Run]
    reveal_type(calls.run_count())  # int
    reveal_type(calls.enqueue("bill", result_type=int).result())  # int
    reveal_type(calls.acting_as("ada").step((7, "sign-off")))  # HumanStep
    reveal_type(calls.inbox("ada", role="finance"))  # list[HumanStep]
    reveal_type(calls.schedule_set("nightly", "typed", "0 3 * * *", misfire="all"))  # Schedule
    reveal_type(calls.tenant_set("acme", weight=3, max_concurrency=None))  # Tenant
    reveal_type(calls.workflows())  # list[PublishedWorkflow]
    calls.schedule_set("nightly", "typed", "0 3 * * *", misfire="never")  # error: arg-type
    calls.inbox(rolle="finance")  # error: call-arg
    calls.runs(stat="failed")  # error: call-arg
    run.results()  # error: attr-defined
    for event in run.events(after=7):
        reveal_type(event.payload)  # Any
    reveal_type(calls.wait([run]).ended)  # list[RunOutcome[dict[str, int]]]
