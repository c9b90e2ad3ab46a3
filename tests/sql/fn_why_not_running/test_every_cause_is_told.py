"""For each cause a unit is really stuck: its code, its sentence in both languages, and who can act."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import stepwell.sql
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation
from tests.sql.fn_why_not_running import stuck
from tests.sql.fn_why_not_running.stuck import Situation, Stage, step
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.support.wait import until

WHEN = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"
NUMBER = r"\d+(?:\.\d+)?"

# The situation, the cause, who can act, and the sentences as patterns.
CAUSES: list[tuple[Situation, str, str, str, str]] = [
    (stuck.ended, "ended", "nobody", "a has ended: Completed.", "a đã kết thúc: Hoàn thành."),
    (
        stuck.dead, "ended.dead", "reviewer", "a cannot be completed, and no attempt is left: it is dead.",
        "a không thể hoàn thành và đã hết lượt thử: it is dead.",
    ),
    (
        stuck.writes_used, "write_cap", "operator",
        "a cannot be completed: its run has used all 0 writes to other systems that its cap allows.",
        "a không thể hoàn thành: lượt chạy đã dùng hết 0 lần ghi ra hệ thống khác mà mức trần cho phép.",
    ),
    (
        stuck.at_work, "leased", "worker:ada",
        f"a is being done by worker ada, whose lease holds until {WHEN}.",
        f"a đang được worker ada thực hiện, giữ quyền đến {WHEN}.",
    ),
    (stuck.of_a_person, "in_progress", "person:ada", "a is being done by ada.", "a đang được ada thực hiện."),
    (
        stuck.paused, "paused", "reviewer", f"a does not continue because run {NUMBER} is paused.+",
        f"a không tiếp tục vì quy trình {NUMBER} đang tạm dừng.+",
    ),
    (
        stuck.under_a_paused_parent, "paused", "reviewer",
        f"a does not continue because run {NUMBER} is paused.+",
        f"a không tiếp tục vì quy trình {NUMBER} đang tạm dừng.+",
    ),
    (stuck.behind_others, "dependency", "engine", r"a waits for b \(Ready\).", r"a chờ b \(Sẵn sàng\)."),
    (
        stuck.in_an_open_branch, "branch", "engine", "a belongs to a branch that choice has not chosen yet.",
        "a thuộc nhánh mà choice chưa.+",
    ),
    (stuck.for_later, "schedule", "clock", f"a starts at {WHEN}, not before.", f"a chỉ bắt đầu lúc {WHEN}."),
    (
        stuck.failed, "retry", "clock", f"a failed; attempt 2 of 3 starts at {WHEN}.",
        f"a đã thất bại; lần thử 2/3 bắt đầu lúc {WHEN}.",
    ),
    (
        stuck.without_a_keeper, "no_keeper", "operator",
        f"a was due at {WHEN}, and no keeper runs that could start it.",
        f"a đến hạn lúc {WHEN}, nhưng không có keeper nào đang chạy để khởi động.",
    ),
    (stuck.assigned, "assigned", "person:ben", "a waits until ben claims it.", "a chờ ben .+"),
    (
        stuck.of_a_role, "human", "role:office", r"a waits for a person \(role: office\).",
        r"a chờ một người thực hiện \(vai trò: office\).",
    ),
    (
        stuck.of_anyone, "human.anyone", "anyone", "a waits for a person; anybody can claim it.",
        "a chờ một người thực hiện; ai cũng có thể nhận.",
    ),
    (
        stuck.parked, "human.parked", "person:ada",
        "ada has begun a and cannot continue now: Waiting for an outside system.",
        "ada đã bắt đầu a nhưng chưa thể tiếp tục: Chờ bên ngoài.",
    ),
    (
        stuck.beyond_the_rate, "rate", "clock",
        f"a waits for key:crm, at place 1; 1 may enter within 60 s, the next at {WHEN}.",
        f"a .+ vị trí 1; .+60.+{WHEN}.",
    ),
    (
        stuck.beyond_the_key, "concurrency", "engine",
        "a waits for a slot of key:crm, at place 1; at most 1 run at once.",
        "a .+key:crm, vị trí 1; tối đa 1 .+",
    ),
    (
        stuck.beyond_the_workflow, "workflow_cap", "operator",
        "a waits for a slot of workflow w, at place 1; at most 1 of its steps run at once.",
        "a chờ một chỗ của quy trình w, vị trí 1; tối đa 1 bước của quy trình này chạy cùng lúc.",
    ),
    (
        stuck.beyond_the_workspace, "workspace_cap", "operator",
        "a waits for a slot of workspace lab, at place 1; at most 1 of its steps run at once.",
        "a chờ một chỗ của không gian làm việc lab, vị trí 1; tối đa 1 bước trong đó chạy cùng lúc.",
    ),
    (
        stuck.beyond_the_tenant, "tenant_cap", "operator", "a can run, but its tenant .+1.+",
        "a có thể chạy, nhưng .+1.+",
    ),
    (
        stuck.without_a_worker, "no_worker", "operator",
        "a can run, but no live worker serves executor default.",
        "a có thể chạy, nhưng không có worker nào phục vụ lớp default.",
    ),
    (
        stuck.without_a_handler, "no_handler", "operator",
        "a can run, but no live worker serves operation a.",
        "a có thể chạy, nhưng không có worker nào phục vụ thao tác a.",
    ),
    (
        stuck.locked_in_the_queue, "locked", "operator",
        rf"a can run, but holder \(process \d+ of the database, at work since {WHEN}\) has locked it in .+",
        rf"a có thể chạy, nhưng holder \(tiến trình \d+ của cơ sở dữ liệu, bắt đầu lúc {WHEN}\) đang khóa .+",
    ),
    (
        stuck.retry_of_a_locked_run, "locked", "operator", r"a can run, but holder \(process \d+.+",
        r"a có thể chạy, nhưng holder \(tiến trình \d+.+",
    ),
    (
        stuck.in_the_queue, "queued", "worker",
        "a can run and is at place 1 of the queue of executor default.",
        "a có thể chạy và đang ở vị trí 1 .+ default.",
    ),
    (
        stuck.before_an_approval, "approval", "reviewer",
        f"a waits for approval {NUMBER}: 0 of 1 have agreed.",
        f"a chờ phê duyệt {NUMBER}: 0/1 người đã đồng ý.",
    ),
    (
        stuck.before_an_event, "event", "sender of parcel.came",
        f"a waits for the event parcel.came, until {WHEN}.", f"a chờ sự kiện parcel.came, đến {WHEN}.",
    ),
    (
        stuck.before_an_event_without_end, "event.open", "sender of parcel.came",
        "a waits for the event parcel.came.", "a chờ sự kiện parcel.came.",
    ),
    (
        stuck.around_a_run, "subworkflow", "engine",
        rf"a waits for its sub-workflow, run {NUMBER} \(In progress\).", rf"a chờ quy trình con.+{NUMBER} .+",
    ),
    (stuck.around_items, "items", "engine", "a waits for 2 of its items.", "a chờ 2 mục .+"),
    (
        stuck.blocked, "blocked", "person:ada", "a is blocked: A content unit is missing.",
        "a .*bị chặn: .+",
    ),
    (stuck.receipt, "receipt", "reviewer", r"receipt \S+ is intended; .+", r".+; lần thử tiếp theo .+"),
    (stuck.cut, "cut", "operator", ".+ failed: .+", ".+ thất bại: .+"),
    (
        stuck.set_aside, "set_aside", "operator", f"a was set aside until {WHEN}: .+is poisoned",
        f"a được tạm gác đến {WHEN}: .+is poisoned",
    ),
    (
        stuck.held, "hold", "operator", "a does not go on because of an incident hold: the bank is down.",
        "a không tiếp tục vì lệnh giữ do sự cố: the bank is down.",
    ),
    (
        stuck.with_a_frozen_worker, "frozen", "operator",
        "a can run, but every worker that serves executor default is frozen.",
        "a có thể chạy, nhưng mọi worker phục vụ lớp default đang bị đóng băng.",
    ),
    (
        stuck.with_a_frozen_executor, "frozen.executor", "operator",
        "a can run, but executor default is frozen: no worker claims its work.",
        "a có thể chạy, nhưng lớp default đang bị đóng băng: không worker nào nhận việc của lớp này.",
    ),
    (
        stuck.with_a_draining_worker, "drained", "operator",
        "a can run, but every worker that serves executor default finishes its work and claims no more.",
        "a có thể chạy, nhưng mọi worker phục vụ lớp default đang làm nốt việc và không nhận thêm.",
    ),
    (stuck.lost, "unexplained", "operator", "a is ready, .+ fault of the engine.", "a .+ lỗi của hệ thống."),
]  # fmt: skip


@pytest.fixture
def stage(engine: Engine, clock: Clock, dsn: str) -> Iterator[Stage]:
    people = People(engine)
    for name in ("ada", "ben"):
        people.add(name, "office")
    people.add("op", "operator")
    with psycopg.connect(dsn, application_name="holder") as other:
        yield Stage(engine, clock, people, other)


@pytest.mark.parametrize(
    ("situation", "cause", "who", "english", "vietnamese"), CAUSES, ids=[row[0].__name__ for row in CAUSES]
)
def test_a_stuck_unit_tells_its_cause(
    stage: Stage, situation: Situation, cause: str, who: str, english: str, vietnamese: str
):
    unit = situation(stage)
    code = cause.partition(".")[0]
    # A session counts as one that keeps a row only after a few seconds.
    until(lambda: stage.engine.why(unit)[0] == code, what=f"{stage.engine.why(unit)} is not {code}")
    found = stage.engine.why(unit)
    assert found[3] == who
    assert re.fullmatch(english, found[1]), found[1]
    assert re.fullmatch(vietnamese, found[2]), found[2]
    path = "select code, sentence_en from fn_unblock_path(%s)"
    assert stage.engine.db.execute(path, (unit,)).fetchone() == (code, found[1])


def test_what_a_reader_may_not_see_is_told_as_hidden(stage: Stage):
    """Only a bound reader has this cause: the step in between is not shown, and nothing else explains it."""
    engine, db = stage.engine, stage.engine.db
    unit = step(stage, operation("a"), operation("b"), operation("c"))
    run_unit = unit >> 20 << 20
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    db.execute("select fn_step_permission_set(1, 'w', 'b', '{finance}')")
    with as_role(db, "stepwell_api", token(db, 1, "clerk", ["operator"])):
        path = "select code, sentence_en, sentence_vi, who, command from fn_unblock_path(%s)"
        found = db.execute(path, (run_unit + 3,)).fetchall()
    assert found == [
        (
            "hidden", "c goes on with a step that your roles do not show.",
            "c đang ở một bước mà vai trò của bạn không được xem.", "nobody", None,
        )
    ]  # fmt: skip


def test_every_cause_has_its_texts_and_a_stuck_unit(engine: Engine):
    rows = engine.db.execute(
        "select c.cause, count(t.text_value) from why_cause as c"
        " left join i18n_text as t on t.text_key = 'why.' || c.cause group by c.cause"
    )
    texts = dict(rows.fetchall())
    assert {cause for cause, count in texts.items() if count != 2} == set()
    assert set(texts) == {row[1] for row in CAUSES} | {"hidden"}


def test_every_code_of_the_routines_is_a_cause(engine: Engine):
    """The codes are read out of the routines: what `_why…` returns first, and what a `case` gives as code."""
    known = {cause for (cause,) in engine.db.execute("select cause from why_cause")}
    text = "".join(
        (Path(stepwell.sql.__file__).parent / "routines" / "project" / name).read_text(encoding="utf-8")
        for name in ("why.sql", "why_queue.sql")
    )
    found = set(re.findall(r"query select '([a-z_]+)'", text))
    found |= set(re.findall(r"_why_timed\('([a-z_]+)'", text))
    for case in re.findall(r"select\s+case (.+?) end,", text, re.DOTALL):
        found |= set(re.findall(r"(?:then|else) '([a-z_]+)'", case))
    known = {cause.partition(".")[0] for cause in known}
    # One code has the kind of its slot in front.
    assert known - found <= {"workflow_cap", "workspace_cap", "approval", "retry"}
    assert {code for code in found - known if not code.startswith("_")} == set()
