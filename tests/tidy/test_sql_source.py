"""The parser of SQL files finds the parts that the rules check."""

from __future__ import annotations

from tests.tidy import sql_source

ROUTINE = """-- Purpose: adds.
-- Locks: none.
create or replace function stepwell.fn_add(p_a int, p_b numeric(10, 2) default 0, out total int)
returns int language plpgsql
set search_path = stepwell, pg_temp
as $body$
declare
    v_sum int := 0; -- a comment; with a semicolon
    v_text text := 'it''s; fine';
begin
    return p_a;
end
$body$;
"""


def test_the_parts_of_a_routine_are_found():
    (routine,) = sql_source.routines(ROUTINE)
    assert routine.name == "fn_add"
    assert routine.parameters == ("p_a", "p_b")
    assert routine.fixes_search_path
    assert routine.line == 3
    assert routine.line_count == 6
    assert routine.is_public


def test_a_definition_has_the_comment_above_it_and_the_words_of_its_body():
    view = "-- What is there.\ncreate or replace view stepwell.v_all as select 1;\n"
    text = f"-- The subject.\n\n{ROUTINE}\n{view}"
    function, found = sql_source.definitions(text)
    assert (function.kind, function.name, function.line) == ("function", "fn_add", 5)
    assert function.comment == "Purpose: adds.\nLocks: none."
    assert {"return", "p_a"} <= function.words
    assert "semicolon" not in function.words
    assert (found.kind, found.name, found.comment) == ("view", "v_all", "What is there.")


def test_literals_stay_whole_and_comments_are_left_out():
    code = [token.text for token in sql_source.code("select 'SELECT' -- SELECT\n, \"SELECT\" /* SELECT */;")]
    assert code == ["select", "'SELECT'", ",", '"SELECT"', ";"]


def test_the_header_ends_at_the_first_line_of_code():
    assert sql_source.header(ROUTINE) == "Purpose: adds.\nLocks: none."
