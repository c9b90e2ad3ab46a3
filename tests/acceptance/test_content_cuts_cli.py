"""The command line and a Python program split, merge and restage content, and see a cut that failed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stepwell as sw
from tests.acceptance.running import run as stepwell
from tests.support.roles import client_app


@pytest.mark.requirement("SM-23")
def test_content_is_cut_in_a_terminal(dsn: str, tmp_path: Path):
    def run(*arguments: str, code: int = 0) -> str:
        done = stepwell("--database-url", dsn, *arguments, environment={"COLUMNS": "200"})
        assert done.returncode == code, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    for name, text in (("all", "one\ntwo\n"), ("a", "one\n"), ("b", "two\n"), ("wrong", "three\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    run("content", "write", "guide", str(tmp_path / "all"))
    failed = run("content", "split", "guide", f"g.a={tmp_path / 'a'}", f"g.b={tmp_path / 'wrong'}", code=1)
    assert "split guide -> g.a, g.b is failed: parts: together they are not the text" in failed
    number = json.loads(run("content", "cuts", "--failed", "--json"))[0]["cut_request_id"] >> 20
    assert f"stepwell content retry {number}" in failed
    (problem,) = json.loads(run("problems", "list", "--json"))
    assert (problem["category_code"], problem["subject"]) == ("failed_cut", str(number))
    assert "Failed cut" in run("problems", "show", str(problem["problem_id"]))
    assert "is failed" in run("content", "retry", str(number), code=1)
    assert "is cancelled" in run("content", "cancel", str(number), "--reason", "a slip")
    assert json.loads(run("problems", "list", "--json")) == []
    done = run("content", "split", "guide", f"g.a={tmp_path / 'a'}", f"g.b={tmp_path / 'b'}")
    assert done.endswith("split guide -> g.a, g.b is completed")
    assert "merge g.b, g.a -> g is completed" in run(
        "content", "merge", "g", "g.b", "g.a", "--separator", "-"
    )
    assert run("content", "show", "g") == "two\n-one"
    assert "is completed" in run("content", "restage", "guide", "1")
    lived = run("content", "life", "guide")
    assert "error: cut_failed" in lived
    assert "info: restaged" in lived
    assert "accepted: code=file" in run("content", "split", "guide", "g.a", "g.b", code=2)


@pytest.mark.requirement("SM-23")
def test_a_program_cuts_content(dsn: str):
    with client_app(dsn).sync as app:
        app.content_write("guide", "one two")
        failed = app.content_split("guide", {"g1": "one", "g2": "two"})
        assert (failed.state_code, failed.error_code) == ("failed", "SW003")
        assert [cut.cut_request_id for cut in app.content_cuts(state="failed")] == [failed.cut_request_id]
        assert app.content_cut_retry(failed.cut_request_id).attempt_count == 2
        assert app.content_cut_cancel(failed.cut_request_id, "a slip").state_code == "cancelled"
        done = app.content_split("guide", {"g1": "one", "g2": " two"}, version_no=1, key="k")
        assert app.content_split("guide", {"g1": "one", "g2": " two"}, key="k") == done
        assert app.content_merge(["g1", "g2"], "g", separator="").targets == ["g"]
        assert app.content("g").body == "one two"
        assert app.content_restage("guide", 1).state_code == "completed"
        lines = [line.what for line in app.content_life("guide")]
        assert lines == ["restaged", "split", "cut_failed", "cut_failed", "written"]
        with pytest.raises(sw.Conflict):
            app.content_cut_retry(done.cut_request_id)
