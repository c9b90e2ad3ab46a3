"""What a template or an emit refuses: each case with the error, and nothing is written."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import emit, generator, job, register, template

DATA = "this names data, and only signals are accepted"
KINDS = "known are customer_inbound, mark_cut_pipeline, mot_template_v1"
PATHS = "cannot be read; $.input.<param> and $.steps.<parent>.output are accepted"
REF = "cannot be read; $.input.<param> is accepted"

TEMPLATES: dict[str, tuple[Any, str]] = {
    "no object": ([], "an object with template_id and jobs is required"),
    "unknown field": (template("t", job("a"), steps=[]), "steps: is unknown"),
    "no id": ({"jobs": [job("a")]}, "template_id: 1 to 100 of a-z"),
    "bad id": (template("T 1", job("a")), "template_id: 1 to 100 of a-z"),
    "unknown kind": (template("t", job("a"), workflow_kind="x"), f"workflow_kind: x is unknown; {KINDS}"),
    "long description": (template("t", job("a"), description="x" * 2001), "description: at most 2000"),
    "params are no object": (template("t", job("a"), params=[]), "params: an object of names"),
    "a bad name of a param": (template("t", job("a"), params={"1a": {}}), "params.1a: 1 to 63 letters"),
    "a param that names data": (template("t", job("a"), params={"Body": {}}), f"params.Body: {DATA}"),
    "a default that names data": (
        template("t", job("a"), params={"p": {"default": {"deep": [{"Raw": 1}]}}}),
        f"params.p.deep[0].Raw: {DATA}",
    ),
    "a default that is too long": (
        template("t", job("a"), params={"p": {"default": "x" * 1025}}),
        "params.p: 1025 bytes; at most 1024 bytes are accepted",
    ),
    "too many params": (
        template("t", job("a"), params={f"p{at}": {} for at in range(201)}),
        "params: at most 200",
    ),
    "a secret": (template("t", job("a"), description="password=hunter22"), "what looks like a secret"),
    "a secret in a reference": (
        template("t", job("a", source_ref="https://ada:hunter22@files.example/1")),
        "what looks like a secret",
    ),
    "no jobs": (template("t"), "jobs: at least one job is required"),
    "jobs are no list": ({"template_id": "t", "jobs": {}}, "jobs: at least one job is required"),
    "no local_id": (template("t", {"job_kind": "a"}), "jobs[0], local_id: 1 to 63 letters"),
    "a bad local_id": (template("t", job("a"), job("b-c")), "jobs[1], local_id: 1 to 63 letters"),
    "a local_id twice": (template("t", job("a"), job("a")), "job a, local_id: is used twice"),
    "parents are no list": (
        template("t", job("a"), {**job("b"), "parents": "a"}),
        "job b, parents: a list of local_ids is required",
    ),
    "a parent is no text": (
        template("t", job("a"), {**job("b"), "parents": [1]}),
        "job b, parents: a list of local_ids is required",
    ),
    "an unknown parent": (template("t", job("a", "x")), "job a, parents: x is no job of this template"),
    "itself": (template("t", job("a", "a")), "job a, parents: a is the job itself"),
    "a parent twice": (template("t", job("a"), job("b", "a", "a")), "job b, parents: a is named twice"),
    "a cycle": (template("t", job("a", "c"), job("b", "a"), job("c", "b")), "jobs: cycle a → b → c → a"),
    "a parent that comes later": (
        template("t", job("a", "b"), job("b")),
        "job a, parents: b comes later; list parents before",
    ),
    "an unknown field of a job": (template("t", job("a", body="x")), "job a, body: is not accepted here"),
    "an unknown join": (
        template("t", job("a"), job("b", "a", join="some")),
        "job b, join: all or any is accepted, not some",
    ),
    "any of nothing": (template("t", job("a", join="any")), "job a, join: any requires parents"),
    "a negative delay": (
        template("t", job("a", delay_seconds=-1)),
        "job a, delay_seconds: 0 to 31622400 is accepted",
    ),
    "a delay as text": (
        template("t", job("a", delay_seconds="1")),
        "job a, delay_seconds: 0 to 31622400 is accepted",
    ),
    "a priority": (template("t", job("a", priority=1001)), "job a, priority: -1000 to 1000 is accepted"),
    "half a priority": (template("t", job("a", priority=0.5)), "job a, priority: -1000 to 1000 is accepted"),
    "a priority that is no whole number": (
        template("t", job("a", priority=5.0)),
        "job a, priority: -1000 to 1000 is accepted",
    ),
    "attempts that are no whole number": (
        template("t", job("a", max_attempts=2.0)),
        "job a, max_attempts: 1 to 1000 is accepted",
    ),
    "two executors": (
        template(
            "t", job("a", job_kind="new", executor="default"), job("b", job_kind="new", executor="process")
        ),
        "job a, executor: new has 2 executors; one is accepted",
    ),
    "no attempts": (template("t", job("a", max_attempts=0)), "job a, max_attempts: 1 to 1000 is accepted"),
    "no time": (
        template("t", job("a", timeout_seconds=0)),
        "job a, timeout_seconds: 1 to 31622400 is accepted",
    ),
    "a reference that is no text": (
        template("t", job("a", source_ref=5)),
        "job a, source_ref: a text of 1 to 500",
    ),
    "a long reference": (
        template("t", job("a", payload_ref="x" * 501)),
        "job a, payload_ref: a text of 1 to 500",
    ),
    "a reference to no param": (
        template("t", job("a", target_ref="$.input.x")),
        f"job a, target_ref: $.input.x {REF}",
    ),
    "a reference to an output": (
        template("t", job("a"), job("b", "a", source_ref="$.steps.a.output")),
        f"job b, source_ref: $.steps.a.output {REF}",
    ),
    "no operation": (
        template("t", {"local_id": "a"}),
        "job a, job_kind: the name of an operation is required",
    ),
    "an operation of the engine": (
        template("t", job("a", job_kind="stepwell.evaluate")),
        "job a, job_kind: names that begin with stepwell.",
    ),
    "an unknown executor": (
        template("t", job("a", executor="gpu")),
        "job a, executor: gpu is not registered; registered are default, process",
    ),
    "the generator": (
        template("t", job("a", executor="MOT")),
        "job a, executor: MOT is the generator, which never executes",
    ),
    "the generator by another name": (
        template("t", job("a", executor="future_MOT_executor")),
        "is the generator, which never executes",
    ),
    "another executor than declared": (
        template("t", job("a", job_kind="known", executor="process")),
        "job a, executor: known runs on default, not on process",
    ),
    "inputs are no object": (
        template("t", job("a", inputs=[])),
        "job a, inputs: an object of names and paths is required",
    ),
    "an input of no param": (
        template("t", job("a", inputs={"x": "$.input.y"})),
        f"job a, inputs.x: $.input.y {PATHS}",
    ),
    "an input of no parent": (
        template("t", job("a"), job("b", inputs={"x": "$.steps.a.output"})),
        f"job b, inputs.x: $.steps.a.output {PATHS}",
    ),
    "an expression": (
        template("t", job("a", inputs={"x": "$.input ? (@ > 1)"})),
        f"job a, inputs.x: $.input ? (@ > 1) {PATHS}",
    ),
    "an unknown template": (template("t", job("a", template="x")), "job a, template: x is not registered"),
    "a template and an operation": (
        template("t", job("a", template="inner", job_kind="a")),
        "job a, job_kind: a job has either a job_kind or a template",
    ),
    "an executor of a template": (
        template("t", job("a", template="inner", executor="default")),
        "job a, executor: is not accepted beside template",
    ),
    "params of an operation": (template("t", job("a", params={})), "job a, params: is not accepted here"),
    "itself inside": (
        template("inner", job("a", template="inner")),
        "would call itself without end: MOT:inner → MOT:inner",
    ),
}


@pytest.mark.requirement("JW-04")
@pytest.mark.requirement("JW-05")
def test_a_template_that_is_not_sound_is_refused_with_the_job_and_the_field(engine: Engine):
    engine.db.execute("select fn_operation_register(1, %s)", (Jsonb([{"name": "known"}]),))
    register(engine, "inner", job("a"))
    wrong = {}
    for name, (given, message) in TEMPLATES.items():
        try:
            with engine.db.transaction():
                engine.one("select template_id from fn_job_template_register(1, %s, 'test')", (Jsonb(given),))
            wrong[name] = "accepted"
        except psycopg.Error as error:
            if error.sqlstate != "SW001" or message not in str(error):
                wrong[name] = f"{error.sqlstate} {error}"
    assert wrong == {}
    assert engine.one("select count(*) from job_template") == 1


# Case, widths of letters, marks, letters of other scripts and signs beside them hide no name; nor does a
# plural, a number, or a second name of data.
HIDDEN = (
    "body", "content", "raw", "vector", "data", "Body", "EMBEDDING", "TRANSCRIPT", "_body", "b-o-d-y",
    "raw\u200b", "\uff42\uff4f\uff44\uff59", "b\u00f3dy", "bo\u0301dy", "b\u043edy", "B\u041eDY",
    "\u0475ector", "\u1d04ontent",
    "raw_body", "rawData", "RAW TEXT", "html-content", "bodies", "vectors", "body2", "content_01",
)  # fmt: skip
PARAMS: dict[str, tuple[Any, str, str]] = {
    "no object": ([], "SW001", "params: an object of named values is required"),
    "missing": ({}, "SW001", "input.order"),
    "another type": ({"order": 5}, "SW001", "input.order"),
    "not declared": ({"order": "1", "x": 1}, "SW001", "input"),
    **{
        f"{key} at any depth": (
            {"order": "1", "more": {"list": [{"a": {key: 1}}]}},
            "SW001",
            f"params.more.list[0].a.{key}: {DATA}",
        )
        for key in HIDDEN
    },
    **{
        f"a secret {case}": (params, "SW001", "params: it contains what looks like a secret")
        for case, params in {
            "by its shape": {"order": "postgres://ada:hunter22@db/x"},
            "by its name": {"order": "1", "more": {"list": [{"api_key": "abc"}]}},
        }.items()
    },
    "a text that is too long": (
        {"order": "x" * 1025},
        "SW001",
        "params.order: 1025 bytes; at most 1024 bytes are accepted",
    ),
    "a long text in a list": (
        {"order": "1", "more": {"a": ["x" * 2000]}},
        "SW001",
        "params.more.a[0]: 2000 bytes",
    ),
    "a long name": ({"order": "1", "more": {"x" * 1025: 1}}, "SW001", ": 1025 bytes; at most 1024 bytes"),
    "too large": (
        {"order": "1", "more": {str(at): "x" * 1000 for at in range(9)}},
        "SW001",
        "at most 8192 bytes are accepted",
    ),
}


@pytest.mark.requirement("JW-05")
def test_params_that_are_no_signals_or_not_declared_are_refused_and_nothing_is_emitted(engine: Engine):
    register(
        engine, "t", job("a"), params={"order": {"type": "string"}, "more": {"type": "object", "default": {}}}
    )
    name = generator(engine)
    wrong = {}
    for case, (params, code, message) in PARAMS.items():
        try:
            with engine.db.transaction():
                engine.one("select fn_mot_graph_emit(1, 't', %s, p_actor => %s)", (Jsonb(params), name))
            wrong[case] = "accepted"
        except psycopg.Error as error:
            if error.sqlstate != code or message not in str(error):
                wrong[case] = f"{error.sqlstate} {error}"
    assert wrong == {}
    assert engine.one("select count(*) from work_unit") + engine.one("select count(*) from job_workflow") == 0


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (
            "select fn_mot_graph_emit(1, 'x', '{}', p_actor => 'planner')",
            "SW002",
            "template x is not registered",
        ),
        ("select fn_mot_graph_emit(1, null, '{}', p_actor => 'planner')", "SW002", "is not registered"),
        ("select fn_mot_graph_emit(1, 't', null, p_actor => 'planner')", "SW001", "params: an object"),
        (
            "select fn_mot_graph_emit(1, 't', '{}', repeat('x', 201), 'planner')",
            "SW001",
            "correlation_id: at most 200",
        ),
        (
            "select fn_mot_graph_emit(1, 't', '{}', null, 'planner', '')",
            "SW001",
            "trigger_refs: each must have 1",
        ),
        (
            "select fn_mot_graph_emit(1, 't', '{}', null, 'planner', null, 1001)",
            "SW001",
            "priority: must be between",
        ),
        (
            "select fn_mot_graph_emit(1, 't', '{}', null, 'planner', null, 0, 'x')",
            "SW002",
            "workspace x does not exist",
        ),
        (
            "select fn_mot_graph_emit(1, 't', '{}', null, 'planner', null, 0, null, 'x')",
            "SW001",
            "trace_id: must be",
        ),
        (
            "select fn_mot_graph_emit(1, 't', '{}', null, 'ben')",
            "SW007",
            "has not the role MOT_template_generator",
        ),
        ("select fn_job_workflow_refresh(1, 99)", "SW002", "job workflow 99 does not exist"),
        ("select fn_job_workflow_retry(1, 99, 'cli:x')", "SW002", "job workflow 99 does not exist"),
    ],
)
def test_a_call_that_is_not_accepted_names_its_field(engine: Engine, call: str, code: str, message: str):
    register(engine, "t", job("a"))
    generator(engine)
    engine.person("ben")
    with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
        engine.db.execute(call.encode())
    assert caught.value.sqlstate == code
    assert message in str(caught.value)


def test_a_name_that_only_refers_to_data_is_a_signal(engine: Engine):
    register(engine, "t", job("a"), params={"content_ref": {}, "context": {}, "rawlings": {}, "textile": {}})
    params = {"content_ref": {"body_id": 1, "context": 2}, "context": 1, "rawlings": 1, "textile": 1}
    assert emit(engine, "t", params)["count"] == 1


def test_what_a_nested_graph_gets_is_a_signal_too(engine: Engine):
    register(engine, "inner", job("x"), params={"found": {}})
    register(engine, "outer", job("a"), job("b", "a", template="inner", params={"found": "$.steps.a.output"}))
    emit(engine, "outer")
    worker = engine.worker()
    (lease,) = engine.claim(worker)
    engine.report(worker, (lease, "completed", {"deep": {"vector": [1]}}))
    failure = engine.one("select error ->> 'message' from v_dead_letter")
    assert failure.startswith(f"params.found.deep.vector: {DATA}")


def test_the_names_of_data_are_those_of_the_vocabulary_in_any_script(engine: Engine):
    register(engine, "t", job("a"), params={"o": {}})
    engine.db.execute(
        "update dot_config set config_value = %s where config_key = 'graph.forbidden_keys'",
        (Jsonb(["nội dung", "正文", "!"]),),
    )
    for key in ("NoiDung", "nội_dung", "正文"):
        with pytest.raises(psycopg.Error, match="this names data"), engine.db.transaction():
            emit(engine, "t", {"o": {key: 1}})
    assert emit(engine, "t", {"o": {"body": 1, "文": 2, "7": 3, "": 4}})["count"] == 1
