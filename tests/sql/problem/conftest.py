"""The fixture `poison` makes the database refuse every change of chosen units, with a chosen error code."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

Poison = Callable[..., None]

TRIGGERS = """
create table public.poisoned (unit_id bigint primary key, code text not null);
create function public.refuse_poisoned() returns trigger language plpgsql as $$
declare
    v_code text;
begin
    select p.code into v_code from public.poisoned as p where p.unit_id = new.unit_id;
    if found then
        raise exception using errcode = v_code, message = 'unit ' || new.unit_id || ' is poisoned';
    end if;
    return new;
end $$;
create trigger refuse_poisoned before update on stepwell.work_unit
for each row execute function public.refuse_poisoned();
create trigger refuse_poisoned before insert on stepwell.job_ready
for each row execute function public.refuse_poisoned();
"""


@pytest.fixture
def poison(db: psycopg.Connection) -> Poison:
    """`poison(unit, …, code="22012")` makes each change of these units fail; `poison()` ends that."""
    db.execute(TRIGGERS)

    def act(*unit_ids: int, code: str = "22012") -> None:
        db.execute("delete from public.poisoned")
        for unit_id in unit_ids:
            db.execute("insert into public.poisoned values (%s, %s)", (unit_id, code))

    return act
