"""The matrix of objects and roles: receives a connection, returns what its catalog has, and the page."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from tests.sql.walls.expectations import DUTIES, FENCED, GLOBAL, HARMLESS

HEAD = """# The matrix of rights

What each role of the database may read and call. Written by `make docs` from the catalog. A test probes
every cell, with rows of two tenants: unbound, bound to the own tenant, bound to another one, with a copied
stamp and with an invented one. [Roles](roles.md) tells what the roles are for, [security](security.md) what
is promised.

"""


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    has_tenant: bool
    # A table under row level security, or a view that reads as its caller.
    is_walled: bool
    # A view of payloads: it compares the tenant itself.
    has_payloads: bool
    is_table: bool
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    arguments: tuple[tuple[str, str], ...]
    required: int
    is_definer: bool
    is_set: bool
    roles: frozenset[str]

    @property
    def takes_tenant(self) -> bool:
        return any(name == "p_tenant_id" for name, _ in self.arguments)


def roles(db: psycopg.Connection) -> list[str]:
    (found,) = db.execute("select stepwell._process_roles()").fetchone()  # type: ignore[misc]
    return sorted(found)


def relations(db: psycopg.Connection) -> list[Relation]:
    rows = db.execute(
        """select c.relname, a.attname is not null,
               case when c.relkind in ('r', 'p') then c.relrowsecurity and exists (select from pg_policy as p
                       where p.polrelid = c.oid and p.polname = 'tenant_is_bound')
                   else coalesce(c.reloptions @> array['security_invoker=true'], false) end,
               c.relkind = 'v' and coalesce(c.reloptions @> array['security_barrier=true'], false)
                   and pg_get_viewdef(c.oid) like '%payload_tenant()%',
               c.relkind in ('r', 'p'),
               array(select r from unnest(stepwell._process_roles()) as r
                   where has_any_column_privilege(r, c.oid, 'select'))
           from pg_class as c
           left join pg_attribute as a
               on c.oid = a.attrelid and a.attname = 'tenant_id' and not a.attisdropped
           where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
               and not c.relispartition
           order by c.relname"""
    ).fetchall()
    return [Relation(*facts, roles=frozenset(granted)) for *facts, granted in rows]


def functions(db: psycopg.Connection) -> list[Function]:
    rows = db.execute(
        """select p.proname,
               array(select array[coalesce(p.proargnames[a.place], ''), format_type(a.type, null)]
                   from unnest(p.proargtypes::oid[]) with ordinality as a (type, place) order by a.place),
               p.pronargs - p.pronargdefaults, p.prosecdef, p.proretset,
               array(select r from unnest(stepwell._process_roles()) as r
                   where has_function_privilege(r, p.oid, 'execute'))
           from pg_proc as p
           where p.pronamespace = 'stepwell'::regnamespace and p.prorettype <> 'trigger'::regtype
               and p.prokind = 'f'
           order by p.proname, p.oid"""
    ).fetchall()
    return [
        Function(name, tuple((a, b) for a, b in given), required, definer, is_set, frozenset(granted))
        for name, given, required, definer, is_set, granted in rows
    ]


def rule_of_relation(found: Relation) -> str | None:
    """What the catalog or a list says about a table or view; None if neither does."""
    if not found.roles:
        return "nobody but the owner"
    if found.has_payloads:
        return "payloads of the bound tenant, with `payload.read`"
    if found.has_tenant:
        return "rows of the bound tenant" if found.is_walled else None
    if found.name in GLOBAL:
        return f"the same for every tenant: {GLOBAL[found.name]}"
    return None


def rule_of_function(found: Function) -> str | None:
    if not found.roles:
        return "nobody but the owner"
    if not found.is_definer:
        return "runs as its caller"
    if found.name in HARMLESS:
        return HARMLESS[found.name]
    if found.name in FENCED:
        return f"fenced by {FENCED[found.name]}"
    if found.name in DUTIES:
        return "a duty for every tenant"
    return "refuses every tenant but the bound one" if found.takes_tenant else None


def page(db: psycopg.Connection) -> str:
    """The matrix as a document."""
    names = [role.removeprefix("stepwell_") for role in roles(db)]
    lines = [HEAD + "## Tables and views", "", *_head("table or view", names)]
    for relation in relations(db):
        lines.append(_line(relation.name, relation.roles, names, rule_of_relation(relation)))
    lines += ["", "No role writes a table.", "", "## Functions", "", *_head("function", names)]
    helpers = 0
    for function in functions(db):
        if function.name.startswith("_") and not function.is_definer:
            helpers += 1 if function.roles else 0
        elif not function.name.startswith("_") or function.roles:
            lines.append(_line(function.name, function.roles, names, rule_of_function(function)))
    more = f"`api` and `reader` may also call {helpers} helpers that only read and run as their caller."
    lines += ["", more, ""]
    return "\n".join(lines)


def _head(what: str, names: list[str]) -> list[str]:
    return [f"| {what} | {' | '.join(names)} | rule |", "|---" * (len(names) + 2) + "|"]


def _line(name: str, granted: frozenset[str], names: list[str], rule: str | None) -> str:
    marks = ["yes" if f"stepwell_{role}" in granted else "–" for role in names]
    return f"| `{name}` | {' | '.join(marks)} | {rule} |"
