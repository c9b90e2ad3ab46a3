"""Functions that change rows are not bound by row level security, so each checks the tenant first."""

from __future__ import annotations

import psycopg

from tests.sql.binding import bound

# Workers and the keeper act for every tenant, fenced by their session; the API role cannot call these.
FOR_EVERY_TENANT = (
    "^fn_(worker_|job_(claim|report)$|checkpoint_save$|event_emit$|run_label_here$|expression_evaluate$"
    "|schedule_fire$|job_workflows_refresh$)"
)


def test_every_public_function_checks_the_tenant_before_anything_else(db: psycopg.Connection):
    rows = db.execute(
        r"""select p.proname, string_agg(format('%%I => %%s::%%s', a.name,
                   case a.name when 'p_tenant_id' then '1' else 'null' end, format_type(a.type, null)), ', ')
            from pg_proc as p
            cross join lateral unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[])
                with ordinality as a (name, type, place)
            where p.pronamespace = 'stepwell'::regnamespace and p.proname like 'fn\_%%' and p.prosecdef
                and 'p_tenant_id' = any (p.proargnames[:p.pronargs]) and p.proname !~ %s
                and (a.place <= p.pronargs - p.pronargdefaults or a.name = 'p_tenant_id')
            group by p.proname, p.oid order by 1""",
        (FOR_EVERY_TENANT,),
    ).fetchall()
    assert len(rows) > 30
    db.execute("insert into tenant (tenant_code) values ('other')")
    lax = []
    with bound(db, 2):
        for name, arguments in rows:
            try:
                with db.transaction():
                    db.execute(f"select * from {name}({arguments})")
                lax.append(f"{name} acts")
            except psycopg.Error as error:
                if error.sqlstate != "SW007":
                    lax.append(f"{name}: {error.sqlstate} {error}")
    assert lax == []
