"""The people of the demo: names, titles and roles. Each role of a workflow has at least one person."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A person of the demo; `signs_in`: the person gets a password, which is shown once."""

    name: str
    title: str
    roles: tuple[str, ...]
    signs_in: bool = False


# Whoever opens the printed link also has these roles, and can do what is left for that person in the console.
ROLES_OF_THE_LINK = ("lead", "support", "warehouse")
# The account that publishes the workflows of the demo.
SERVICE = "demo"
PEOPLE = (
    Member("lan", "Lan Phạm", ("operator", "lead", "planning"), signs_in=True),
    Member("minh", "Minh Trần", ("reviewer", "lead", "support"), signs_in=True),
    Member("hoa", "Hoa Nguyễn", ("support", "warehouse"), signs_in=True),
    Member("quang", "Quang Lê", ("operator", "operations", "planning", "lead")),
    Member("mai", "Mai Phan", ("safety",)),
    Member("tuan", "Tuấn Hồ", ("inspection",)),
    Member("son", "Sơn Đỗ", ("mechanical",)),
    Member("thanh", "Thanh Lý", ("scaffolding", "mechanical")),
    Member("dung", "Dũng Vũ", ("piping",)),
    Member("khoa", "Khoa Bùi", ("electrical",)),
    Member("an", "An Ngô", ("mechanical", "piping")),
    Member("yen", "Yến Đặng", ("support", "warehouse")),
)


def crew_with(role: str) -> list[str]:
    """The people whom the demo plays: those who never sign in."""
    return [member.name for member in PEOPLE if role in member.roles and not member.signs_in]
