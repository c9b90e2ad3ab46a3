"""The end of each attempt is one log line that says what follows; lines of a handler name run and step."""

from __future__ import annotations

import asyncio
import http.server
import io
import json
import logging
import threading
from datetime import datetime

import httpx
import pytest

import stepwell as sw
from stepwell import logs
from tests.support.wait import until_async
from tests.worker.crunching import logs_a_line


@pytest.fixture
def lines(caplog):
    """Returns the lines of the JSON log with a given event."""
    caplog.set_level(logging.INFO)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonFormatter())
    logging.getLogger().addHandler(handler)

    def found(event: str) -> list[dict]:
        made = [json.loads(line) for line in stream.getvalue().splitlines()]
        return [line for line in made if line["event"] == event]

    yield found
    logging.getLogger().removeHandler(handler)


def test_the_line_of_a_failed_attempt_says_what_follows(app, play, lines, caplog):
    @app.operation(retry=sw.Retry(max_attempts=2, initial="20ms", max="20ms"))
    async def charge(ctx: sw.Context):
        raise ConnectionError(f"attempt {ctx.attempt} was\nrefused")

    app.publish(sw.Workflow("pay", sw.Operation("charge")))

    async def scenario():
        async with sw.Worker(app, name="till"):
            run = await app.start("pay")
            with pytest.raises(sw.Conflict):
                await run.result()
            await until_async(lambda: lines("run ended"))
            return run.id

    run_id = play(scenario)
    first, last = lines("attempt failed")
    assert first == {
        "event": "attempt failed", "level": "warning", "logger": "stepwell.worker",
        "timestamp": first["timestamp"], "worker": "till", "run": run_id, "step": "charge",
        "operation": "charge",
        "attempt": 1, "max_attempts": 2, "failure_class": "connection",
        "error": "ConnectionError: attempt 1 was\nrefused", "next": "retry", "next_at": first["next_at"],
    }  # fmt: skip
    assert datetime.fromisoformat(first["next_at"]).tzinfo is not None
    assert (last["level"], last["attempt"], last["next"]) == ("error", 2, "none")
    assert "next_at" not in last
    (ended,) = lines("run ended")
    assert (ended["level"], ended["run"], ended["workflow"], ended["state"]) == (
        "error", run_id, "pay", "failed",
    )  # fmt: skip
    # The text form is one line too: a program without configured logging shows it.
    shown = next(record.getMessage() for record in caplog.records if "attempt failed" in record.getMessage())
    assert f"run={run_id} step=charge" in shown
    assert '"ConnectionError: attempt 1 was\\nrefused"' in shown
    assert "Traceback" not in caplog.text


def test_the_traceback_is_logged_at_debug(app, play, lines, caplog):
    caplog.set_level(logging.DEBUG, "stepwell")

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def breaks():
        raise ValueError("broken")

    app.publish(sw.Workflow("one", sw.Operation("breaks")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("one")).result()
            await until_async(lambda: lines("traceback"))

    play(scenario)
    (found,) = lines("traceback")
    assert found["level"] == "debug"
    assert "in breaks" in found["traceback"]
    assert found["step"] == "breaks"


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG], ids=["info", "debug"])
def test_a_completed_attempt_is_logged_at_debug_and_the_run_at_info(app, play, lines, caplog, level):
    caplog.set_level(level, "stepwell")

    @app.operation
    async def act():
        return 1

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app):
            # The end is logged although nobody waits for it.
            run = await app.start("one")
            await until_async(lambda: lines("run ended"))
            return run.id

    run_id = play(scenario)
    (ended,) = lines("run ended")
    assert (ended["level"], ended["run"], ended["state"]) == ("info", run_id, "completed")
    assert ended["seconds"] >= 0
    attempts = lines("attempt ended")
    assert len(attempts) == (1 if level == logging.DEBUG else 0)
    for line in attempts:
        assert (line["level"], line["run"], line["step"], line["outcome"]) == (
            "debug", run_id, "act", "completed",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "level", "next_step"),
    [(sw.RetryLater(after="1h", reason="not yet"), "warning", "retry"), (sw.Dead("gone"), "error", "none")],
    ids=["retry", "dead"],
)
def test_an_attempt_that_returns_a_failure_is_logged(app, play, lines, outcome, level, next_step):
    @app.operation
    async def decides():
        return outcome

    app.publish(sw.Workflow("one", sw.Operation("decides")))

    async def scenario():
        async with sw.Worker(app):
            await app.start("one")
            await until_async(lambda: lines("attempt failed"))

    play(scenario)
    (line,) = lines("attempt failed")
    assert (line["level"], line["next"]) == (level, next_step)
    assert ("not yet" in line["error"]) is (next_step == "retry")


def test_the_line_of_a_caught_failure_says_that_it_is_caught(app, play, lines):
    @app.operation
    async def dies():
        return sw.Dead("gone")

    @app.operation
    async def other():
        return 1

    caught = sw.Conditional("dies", sw.Operation("other", id="never"), sw.Operation("other"))
    app.publish(sw.Workflow("one", sw.Sequential(sw.Operation("dies"), caught)))

    async def scenario():
        async with sw.Worker(app):
            await (await app.start("one")).result()
            await until_async(lambda: lines("attempt failed"))

    play(scenario)
    (line,) = lines("attempt failed")
    assert (line["level"], line["next"]) == ("warning", "caught")


def test_log_lines_of_a_handler_have_its_run_and_step(app, play, lines):
    log = logging.getLogger("shop")

    @app.operation
    async def here(ctx: sw.Context):
        log.info("by the library")
        ctx.log.info("by the context", amount=3)

    @app.operation
    def in_thread(ctx: sw.Context):
        log.info("by the library")
        ctx.log.info("by the context", amount=3)

    steps = sw.Sequential(sw.Operation("here"), sw.Operation("in_thread"))
    app.publish(sw.Workflow("one", steps))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await run.result()
            return run.id

    run_id = play(scenario)
    for event, logger in (("by the library", "shop"), ("by the context", "stepwell.handler")):
        found = [(line["run"], line["step"], line["attempt"], line["logger"]) for line in lines(event)]
        assert found == [(run_id, step, 1, logger) for step in ("here", "in_thread")]
    assert [line["amount"] for line in lines("by the context")] == [3, 3]


def test_a_handler_in_another_process_logs_like_the_worker(app, play, capfd):
    app.operation(logs_a_line, executor="process")
    app.publish(sw.Workflow("one", sw.Operation("logs_a_line")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await run.result()
            return run.id

    with logs.configured("info", "json"):
        run_id = play(scenario)
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "from a process" in line]
    assert [(line["run"], line["step"], line["logger"]) for line in said] == [
        (run_id, "logs_a_line", "tests.worker.crunching")
    ]


def test_a_filter_gives_any_formatter_the_run_and_step(app, play, caplog):
    caplog.handler.addFilter(sw.LogFilter())
    caplog.set_level(logging.INFO)

    @app.operation
    async def act():
        logging.getLogger("shop").info("inside")

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await run.result()
            logging.getLogger("shop").info("outside")
            return run.id

    run_id = play(scenario)
    found = {
        record.getMessage(): (record.run, record.step) for record in caplog.records if record.name == "shop"
    }
    assert found == {"inside": (run_id, "act"), "outside": (None, None)}


def test_a_report_that_comes_too_late_is_logged(app, play, db, turn, lines):
    began, may_end = asyncio.Event(), asyncio.Event()

    @app.operation
    async def act():
        began.set()
        await may_end.wait()

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await began.wait()
            await run.cancel()
            may_end.set()
            await until_async(lambda: lines("a report came too late"))

    play(scenario)
    (line,) = lines("a report came too late")
    assert (line["level"], line["run"]) == ("warning", 1)


def test_a_log_record_names_the_file_that_logged_it(caplog):
    caplog.set_level(logging.INFO)
    log = logs.get_logger("stepwell.worker")
    log.info("here")
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("there")
    assert [record.filename for record in caplog.records] == ["test_what_is_logged.py"] * 2
    shown = json.loads(logs.JsonFormatter().format(caplog.records[1]))
    assert shown["level"] == "error"
    assert "ValueError: broken" in shown["exception"]


@pytest.mark.parametrize(
    "value",
    [float("nan"), object(), {"deep": {1, 2}}, "two\nlines", {1: 2}, b"bytes"],
    ids=lambda value: type(value).__name__,
)
def test_any_field_value_becomes_one_line_of_json(value):
    record = logging.makeLogRecord(
        {"msg": logs.Line("odd", {"value": value, "level": 7}), "levelname": "INFO"}
    )
    line = logs.JsonFormatter().format(record)
    assert len(line.splitlines()) == 1
    shown = json.loads(line, parse_constant=pytest.fail)
    assert (shown["event"], shown["level"]) == ("odd", "info")
    assert len(record.getMessage().splitlines()) == 1


def test_an_app_warns_of_an_operation_that_nobody_has_registered(app, play, lines):
    @app.operation
    async def charge(): ...

    app.publish(sw.Workflow("pay", sw.Sequential(sw.Operation("charge"), sw.Operation("chrage"))))

    async def scenario():
        await app.prepare()

    play(scenario)
    (line,) = lines("no app has registered the operation; its step waits")
    assert (line["level"], line["workflow"], line["operation"]) == ("warning", "pay", "chrage")


@pytest.mark.requirement("RX-06")
def test_an_app_warns_of_a_branch_that_only_a_failure_opens(app, play, lines):
    @app.operation
    async def charge(): ...

    test = sw.Conditional(
        "charge", then=sw.Operation("charge", id="again"), otherwise=sw.Operation("charge", id="tell")
    )
    app.publish(sw.Workflow("pay", sw.Sequential(sw.Operation("charge"), test)))

    async def scenario():
        await app.prepare()

    play(scenario)
    event = (
        "the branch 'otherwise' of if.again runs only if charge fails; "
        "the failure is then caught, and the run can complete"
    )
    (line,) = lines(event)
    assert (line["level"], line["workflow"]) == ("warning", "pay")


@pytest.fixture
def fetched():
    """Returns what a local server answered to an HTTP client, whose loggers have their first levels."""
    before = {name: logging.getLogger(name).level for name in logs.HTTP_CLIENTS}
    for name in before:
        logging.getLogger(name).setLevel(logging.NOTSET)
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield lambda: httpx.get(f"http://127.0.0.1:{server.server_port}/orders?customer=4711").status_code
    server.shutdown()
    serving.join()
    server.server_close()
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def test_an_http_client_logs_no_address_unless_the_program_asks_for_it(fetched, capsys):
    with logs.configured("info", "json"):
        assert fetched() == 501
        assert "4711" not in "".join(line for line in capsys.readouterr().err.splitlines() if line[:1] == "{")
        logging.getLogger("httpx").setLevel(logging.INFO)
        assert fetched() == 501
        (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{")
    assert (line["logger"], line["level"]) == ("httpx", "info")
    assert "customer=4711" in line["event"]
