"""One person has one name, however it is written; no name looks like another; unknown people do nothing."""

from __future__ import annotations

import unicodedata

import psycopg
import pytest

from tests.sql.drive import Engine, human
from tests.sql.people.asking import People, refused
from tests.support.deciding import deciding

ZERO_WIDTH = "a\u200bda"
CYRILLIC_ADA = "\u0430d\u0430"


@pytest.fixture
def run_id(engine: Engine) -> int:
    engine.publish("w", human("sign", role="office"))
    return engine.start("w")


def asked(engine: Engine, run_id: int, quorum: int = 1) -> int:
    found: int = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'cleo', p_quorum => %s)", (run_id << 20, quorum)
    )
    return found


def decide(engine: Engine, approval: int, actor: str | None) -> str:
    found: str = engine.one(deciding("approve"), (approval, actor))
    return found


@pytest.mark.parametrize(
    "unknown", ["nobody-at-all", ZERO_WIDTH, CYRILLIC_ADA, "ada\u202e", "client", "", None]
)
def test_unknown_people_never_vote(engine: Engine, people: People, run_id: int, unknown: str | None):
    approval = asked(engine, run_id)
    for actor in (unknown, unknown and f"slack:{unknown}", unknown and f"cli:{unknown}"):
        with pytest.raises(psycopg.Error) as caught:
            decide(engine, approval, actor)
        assert caught.value.sqlstate in ("SW007", "SW001")
    assert engine.state(approval) == "requested"
    assert engine.one("select count(*) from approval_vote") == 0


@pytest.mark.parametrize(
    "written", ["ben", "Ben", "BEN ", " ben", "cli:ben", "slack:Ben", "\uff42\uff45\uff4e"]
)
def test_one_person_is_one_vote_however_the_name_is_written(
    engine: Engine, people: People, run_id: int, written: str
):
    approval = asked(engine, run_id, quorum=2)
    assert decide(engine, approval, "ben") == "requested"
    assert decide(engine, approval, written) == "requested"
    assert engine.one("select array_agg(voter) from approval_vote") == ["ben"]
    assert decide(engine, approval, "ada") == "approved"


@pytest.mark.parametrize(
    "name",
    [
        CYRILLIC_ADA, "\u0412en", "\u0440\u0430\u0455\u0441\u0430l", "\u03b7in\u03b1", "\u0397elen",
        "\u0430hha",
        "\uab7ada", "\u042cen", "b\u0435\u0578", "ole\u0581", "ad\u13aa", "\u2c9eleo", "\ua4e1isu",
    ],
)  # fmt: skip
def test_a_name_has_one_alphabet(engine: Engine, name: str):
    """Whatever looks like a letter of another alphabet, in any list of such letters or in none."""
    with refused("SW001", "person_name", "two alphabets"):
        engine.person(name)


@pytest.mark.parametrize("name", ["ada\u0332", "a\u20ddda", "ad\u1ab0a"])
def test_a_mark_that_forms_no_letter_is_refused(engine: Engine, name: str):
    with refused("SW001", "person_name", "marks"):
        engine.person(name)


@pytest.mark.parametrize(
    "name",
    ["Nguy\u1ec5n Th\u1ecb \u00c1nh", "Jos\u00e9",
     "\u041e\u043b\u0435\u0433", "\u5c71\u7530 Taro", "\u03a3\u03bf\u03c6\u03af\u03b1", "a\u0301da"],
)  # fmt: skip
def test_names_of_many_languages_are_accepted(engine: Engine, name: str):
    engine.person(name)
    assert engine.one("select count(*) from person") == 1


def test_the_requester_cannot_decide_under_another_spelling(engine: Engine, people: People, run_id: int):
    approval = asked(engine, run_id)
    for written in ("Cleo", "cleo ", "cli:CLEO", "mcp:cleo"):
        with refused("SW007", "the requester of an approval cannot decide it"):
            decide(engine, approval, written)


def test_votes_of_an_earlier_release_by_unknown_people_do_not_count(
    engine: Engine, people: People, run_id: int
):
    approval = asked(engine, run_id, quorum=2)
    for voter in ("nobody-at-all", "Ben"):
        engine.db.execute(
            "insert into approval_vote (tenant_id, approval_id, voter, decision, voted_at)"
            " values (1, %s, %s, 'approve', now())",
            (approval, voter),
        )
    assert decide(engine, approval, "ben") == "requested"
    assert decide(engine, approval, "ada") == "approved"


@pytest.mark.parametrize(
    "call",
    [
        "fn_run_cancel(1, {run}, {who})",
        "fn_run_pause(1, {run}, {who})",
        "fn_run_resume(1, {run}, {who})",
        "fn_run_retry(1, {run}, {who})",
        "fn_job_cancel(1, {step}, {who})",
        "fn_job_retry(1, {step}, {who})",
        "fn_step_claim(1, {step}, {who})",
    ],
)
def test_unknown_people_never_cancel_pause_retry_or_claim(
    engine: Engine, people: People, run_id: int, call: str
):
    step = engine.unit(run_id, "sign")
    for unknown in ("mallory", ZERO_WIDTH, "engine", "system", "keeper", "worker", None):
        with pytest.raises(psycopg.Error) as caught:
            engine.db.execute("select " + call.format(run=run_id, step=step, who="%s::text"), (unknown,))
        assert caught.value.sqlstate == ("SW002" if "claim" in call else "SW007"), unknown
        assert (engine.run_state(run_id), engine.state(step)) == ("in_progress", "ready"), unknown


def test_a_person_who_is_not_active_any_more_does_nothing(engine: Engine, people: People, run_id: int):
    engine.db.execute("select fn_person_set(1, 'ben', p_is_active => false)")
    for written in ("ben", "Ben", "cli:ben"):
        with refused("SW007", f"nobody is called {written}"):
            engine.one("select fn_run_pause(1, %s, %s)", (run_id, written))
    with refused("SW007"):
        decide(engine, asked(engine, run_id), "ben")


def test_the_command_line_of_the_owner_acts_as_a_named_operator(engine: Engine, people: People, run_id: int):
    assert engine.one("select fn_run_pause(1, %s, 'cli:grace')", (run_id,)) == "paused"
    assert engine.one("select fn_run_resume(1, %s, 'cli:Grace ')", (run_id,)) == "in_progress"
    rows = engine.db.execute(
        "select tenant_id, principal_name from principal where kind = 'operator'"
    ).fetchall()
    assert rows == [(0, "grace")]
    actors = engine.db.execute(
        "select distinct actor from event_log where event_type in ('workflow.paused', 'workflow.resumed')"
    ).fetchall()
    assert actors == [("cli:grace",)]
    with refused("SW007", "only a person can decide an approval"):
        decide(engine, asked(engine, run_id), "cli:grace")
    # An operator is no person; the same human may become one.
    people.add("grace", "office")


NOT_ACCEPTED = [
    ("", "1 to 200"),
    ("   ", "1 to 200"),
    ("x" * 201, "1 to 200"),
    (ZERO_WIDTH, "cannot be seen"),
    ("ada\u202elive", "cannot be seen"),
    ("ad\u00ada", "cannot be seen"),
    ("ada\ufe0f", "cannot be seen"),
    ("\U000e0041da", "cannot be seen"),
    ("a\nda", "control characters"),
    ("a\tda", "control characters"),
    ("ada\x7f", "control characters"),
    ("cli:ada", "a colon"),
    ("cli\uff1aada", "a colon"),
    ("cli\ua789ada", "a colon"),
    ("cli\u2236ada", "a colon"),
    ("ada\u1680", "cannot be seen"),
    ("ada \u2800", "cannot be seen"),
    ("ada\ue000", "cannot be seen"),
    ("Engine", "reserved"),
]


ASSIGNED = [chr(code) for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]


def problems(engine: Engine, names: list[str]) -> dict[str, str]:
    """The names that are not accepted, with the reason."""
    query = "select x, _name_problem(x) from unnest(%s::text[]) as x where _name_problem(x) is not null"
    return dict(engine.db.execute(query, (names,)).fetchall())


@pytest.mark.parametrize("name", ["a{}da", "ada{}", "\u5c71{}\u7530"])
def test_nothing_in_unicode_that_cannot_be_seen_is_accepted(engine: Engine, name: str):
    unseen = [letter for letter in ASSIGNED if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp")]
    unseen += ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd"]  # private use
    # Every blank becomes the space, and none of them is one at the end.
    blanks = [letter for letter in ASSIGNED if unicodedata.category(letter) == "Zs"]
    written = [name.format(letter) for letter in unseen]
    assert set(written) - set(problems(engine, written)) == set()
    query = "select distinct _name_fold(x) from unnest(%s::text[]) as x where _name_problem(x) is null"
    assert engine.db.execute(query, ([name.format(blank) for blank in blanks],)).fetchall() == [
        (name.format(" ").strip(),)
    ]


def test_a_mark_or_sign_beside_a_letter_is_refused(engine: Engine):
    """Of any script: on a letter of an alphabet it is overlooked, or it looks like a letter."""
    marks = [letter for letter in ASSIGNED if unicodedata.category(letter) in ("Mn", "Mc", "Me")]
    # Marks that form one letter with the letter before them are that letter.
    alone = [mark for mark in marks if len(unicodedata.normalize("NFKC", "a" + mark)) > 1]
    written = [f"a{mark}da" for mark in alone] + [
        "pau\u4e28", "b\u3007b", "ben\u26a1", "\u05d0da", "ad\u0c66"
    ]  # fmt: skip
    assert set(written) - set(problems(engine, written)) == set()
    for name in ("\u0930\u093e\u092e Ram", "Ada \u26a1", "\u5c71\u7530 Taro", "O\u2019Neil", "Jean\u2013Luc"):
        assert problems(engine, [name]) == {}


def test_whatever_has_two_cases_is_one_name(engine: Engine):
    """All letters of Unicode: their upper and lower case have one key, or are not accepted."""
    letters = [letter for letter in ASSIGNED if letter.lower() != letter]
    not_accepted = problems(engine, letters)
    pairs = [(letter, letter.lower()) for letter in letters if letter not in not_accepted]
    query = "select x, y from unnest(%s::text[], %s::text[]) as q (x, y) where _name_fold(x) <> _name_fold(y)"
    assert len(pairs) > 800
    assert engine.db.execute(query, ([u for u, _ in pairs], [low for _, low in pairs])).fetchall() == []


def test_a_name_that_is_not_accepted_is_refused(engine: Engine):
    for name, words in NOT_ACCEPTED:
        with refused("SW001", "person_name", words):
            engine.one("select fn_person_set(1, %s)", (name,))
    assert engine.one("select count(*) from person") == 0


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("ace", "\u0430\u0441\u0435"),
        ("Ian", "lan"),
        ("will", "vvill"),
        ("savvy", "sawy"),
        ("bob", "b0b"),
        ("paul", "pau1"),
        ("bernard", "bemard"),
        ("jean-luc", "jean\u2013luc"),
        ("client", "c1ient"),
    ],
)
def test_a_name_that_looks_like_another_is_refused(engine: Engine, name: str, like: str):
    if name != "client":
        engine.one("select fn_person_set(1, %s)", (name,))
    with refused("SW003", "looks like", name):
        engine.one("select fn_person_set(1, %s)", (like,))


def test_the_same_name_written_otherwise_is_the_same_person(engine: Engine):
    first = engine.one("select fn_person_set(1, %s, array['office'])", (" Ada  Lovelace",))
    for written in ("ada lovelace", "ADA LOVELACE", "Ada\u00a0Lovelace"):
        assert engine.one("select fn_person_set(1, %s, array['lead'])", (written,)) == first
    assert engine.db.execute("select person_name, name_key from person").fetchall() == [
        ("Ada Lovelace", "ada lovelace")
    ]
    engine.publish("w", human("sign", assignee="ada LOVELACE"))
    unit = engine.unit(engine.start("w"), "sign")
    assert engine.one("select pic_id from work_unit where unit_id = %s", (unit,)) == first
    engine.one("select fn_step_claim(1, %s, 'Ada lovelace')", (unit,))
    assert engine.one("select count(*) from fn_inbox_read(1, 'ADA lovelace')") == 1


@pytest.mark.parametrize(
    "names", [("nam", "n\u0103m"), ("hung", "h\u00f9ng", "h\u01b0ng"), ("jose", "jos\u00e9")]
)
def test_marks_make_different_names(engine: Engine, names: tuple[str, ...]):
    assert len({engine.one("select fn_person_set(1, %s)", (name,)) for name in names}) == len(names)


def test_letters_are_folded_as_unicode_says(engine: Engine):
    """Latin, Greek and Cyrillic, whatever the collation of the database."""
    letters = [
        chr(code)
        for start, end in ((0x20, 0x250), (0x370, 0x400), (0x400, 0x530), (0x1E00, 0x1F00))
        for code in range(start, end)
        if unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Lo")
    ]

    def folded(letter: str) -> str:
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", letter).casefold())

    rows = engine.db.execute("select x, _name_fold(x) from unnest(%s::text[]) as x", (letters,)).fetchall()
    assert len(rows) > 900
    assert {letter: key for letter, key in rows if key != folded(letter)} == {}
    again = engine.db.execute(
        "select count(*) from unnest(%s::text[]) as x where _name_fold(_name_fold(x)) <> _name_fold(x)",
        (letters,),
    )
    assert again.fetchone() == (0,)


def test_two_sessions_cannot_add_one_name_at_the_same_time(engine: Engine, dsn: str):
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        first.execute("select stepwell.fn_person_set(1, 'ada')")
        second.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute("select stepwell.fn_person_set(1, 'Ada')")


def test_people_of_an_earlier_release_keep_the_oldest_of_two_names_that_look_alike(engine: Engine):
    db = engine.db
    db.execute("alter table principal disable trigger names_can_be_told_apart")
    db.execute(
        "insert into principal (tenant_id, principal_name, created_at)"
        " select 1, x, now() from unnest(%s::text[]) with ordinality as q (x, n) order by n",
        (["ben", "Ben", "ada ", ZERO_WIDTH, "cleo"],),
    )
    db.execute("alter table principal enable trigger names_can_be_told_apart")
    for _ in range(2):
        db.execute("select from _names_settled()")
        rows = db.execute("select person_name, name_key, is_active from person order by person_id").fetchall()
        assert rows == [
            ("ben", "ben", True),
            ("Ben", None, False),
            ("ada", "ada", True),
            (ZERO_WIDTH, None, False),
            ("cleo", "cleo", True),
        ]
