"""Read a policy and its test cases from YAML: receives text, returns rules as the database stores them.

The database checks the rules; this module adds the line to each problem that it finds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepwell.define.duration import parse_duration
from stepwell.define.problem import DefinitionError, Problem, did_you_mean, quoted
from stepwell.define.yaml_located import Located, compose, problem_at
from stepwell.store.calls.policy import PolicyProblem

__all__ = ["PolicyCase", "PolicyFile", "match_path", "read_policy"]

FILE_WORDS: Final = ("policy", "rules", "cases")
RULE_WORDS: Final = (
    "name", "priority", "match", "effect", "tier", "two_person", "same_effect", "reason", "approvers", "role",
    "expires",
)  # fmt: skip
CASE_WORDS: Final = ("name", "action", "expect")
EXPECT_WORDS: Final = ("effect", "rule", "reason_code", "tier", "two_person")
EFFECTS: Final = ("allow", "deny", "needs_approval")
ANYTHING: Final = "any"
OPTIONAL: Final = "?"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One action and its expected verdict."""

    name: str
    action: dict[str, Any]
    expect: dict[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """Rules as the database stores them, their places in the file, and the cases of the file."""

    rules: list[dict[str, Any]]
    cases: list[PolicyCase]
    source: str
    document: Located
    places: list[Located]

    def placed(self, problems: Iterable[PolicyProblem]) -> list[Problem]:
        """The problems that the database found, with their lines."""
        return [self._place(found) for found in problems]

    def _place(self, found: PolicyProblem) -> Problem:
        at = self.places[found.rule_no - 1] if 0 < found.rule_no <= len(self.places) else self.document
        field = "expires" if found.field == "expires_seconds" else found.field
        if isinstance(at.value, dict) and field in at.value:
            at = at.value[field][1]
        return problem_at(at.mark, found.problem, field=field)


def read_policy(text: str | bytes, file: str) -> PolicyFile:
    """Raises DefinitionError with every problem that can be found without a database."""
    document = compose(text, file)
    problems: list[Problem] = []
    pairs = _mapping(document, FILE_WORDS, problems)
    if "rules" not in pairs and "cases" not in pairs:
        problems.append(problem_at(document.mark, "the file has neither rules nor cases"))
    places = _list(pairs.get("rules"), "rules", problems)
    rules = [_rule(located, problems) for located in places]
    cases = [_case(located, problems) for located in _list(pairs.get("cases"), "cases", problems)]
    if problems:
        raise DefinitionError(problems)
    source = text if isinstance(text, str) else text.decode("utf-8-sig")
    return PolicyFile(rules, [case for case in cases if case is not None], source, document, places)


def match_path(match: Mapping[str, Any]) -> str:
    """`{connector: mail, fields.priority: [1, 2], target: ops/*}` as a SQL/JSON path.

    A name with a question mark, `fields.country?`, may be missing: then it does not match.
    """
    terms = []
    for name, wanted in match.items():
        parts = [
            f".{part}" if _PLAIN.fullmatch(part) else f".{json.dumps(part)}"
            for part in name.removesuffix(OPTIONAL).split(".")
        ]
        is_optional = name.endswith(OPTIONAL)
        place = f"@{parts[-1]}" if is_optional else "$" + "".join(parts)
        values = wanted if isinstance(wanted, list) else [wanted]
        choice = " || ".join(_term(place, value) for value in values)
        if is_optional:
            terms.append(f"exists(${''.join(parts[:-1])} ? ({choice}))")
        else:
            terms.append(f"({choice})" if len(values) > 1 else choice)
    return " && ".join(terms)


def _term(place: str, value: Any) -> str:
    if isinstance(value, str) and value.endswith("*"):
        return f"{place} starts with {json.dumps(value[:-1])}"
    return f"{place} == {json.dumps(value)}"


def _rule(located: Located, problems: list[Problem]) -> dict[str, Any]:
    pairs = _mapping(located, RULE_WORDS, problems)
    rule = {name: found.plain() for name, found in pairs.items()}
    if "match" in pairs:
        rule["match"] = _match(pairs["match"], problems)
    if "expires" in pairs:
        try:
            rule["expires_seconds"] = int(parse_duration(rule.pop("expires"), "expires"))
        except (DefinitionError, ValueError) as error:
            problems.append(problem_at(pairs["expires"].mark, str(error)))
    return rule


def _match(located: Located, problems: list[Problem]) -> Any:
    if located.value == ANYTHING:
        return "true"
    if not isinstance(located.value, dict):
        return located.plain()
    if not located.value:
        problems.append(problem_at(located.mark, f"is empty; write {ANYTHING} to match every action"))
    for name, (mark, found) in located.value.items():
        for value in found.value if isinstance(found.value, list) else [found]:
            if isinstance(value.value, (list, dict)) or (isinstance(found.value, list) and not found.value):
                message = f"{quoted(name)} is not accepted; accepted: a value or a list of values"
                problems.append(problem_at(mark, message, field="match"))
    return match_path(located.plain())


def _case(located: Located, problems: list[Problem]) -> PolicyCase | None:
    pairs = _mapping(located, CASE_WORDS, problems)
    missing = [word for word in ("action", "expect") if word not in pairs]
    if missing:
        problems.append(problem_at(located.mark, f"a case needs {' and '.join(missing)}"))
        return None
    action, expect = pairs["action"], pairs["expect"]
    if not isinstance(action.value, dict):
        problems.append(problem_at(action.mark, "is not a mapping; accepted: a mapping", field="action"))
        return None
    if isinstance(expect.value, dict):
        _mapping(expect, EXPECT_WORDS, problems)
        wanted = expect.plain()
    else:
        wanted = {"effect": expect.plain()}
    if wanted.get("effect") not in EFFECTS:
        accepted = ", ".join(EFFECTS)
        problems.append(problem_at(expect.mark, f"effect is not known; accepted: {accepted}", field="expect"))
    name = pairs["name"].plain() if "name" in pairs else f"line {located.mark.line}"
    return PolicyCase(str(name), action.plain(), wanted, located.mark.line)


def _mapping(located: Located, words: tuple[str, ...], problems: list[Problem]) -> dict[str, Located]:
    if not isinstance(located.value, dict):
        message = f"{located.kind()} is not accepted; accepted: a mapping with the keys {', '.join(words)}"
        problems.append(problem_at(located.mark, message))
        return {}
    for name, (mark, _) in located.value.items():
        if name not in words:
            hint = did_you_mean(name, words)
            problems.append(
                problem_at(mark, f"the key {quoted(name)} is not known{hint}; accepted: {', '.join(words)}")
            )
    return {name: found for name, (_, found) in located.value.items() if name in words}


def _list(located: Located | None, field: str, problems: list[Problem]) -> list[Located]:
    if located is None:
        return []
    if not isinstance(located.value, list):
        problems.append(problem_at(located.mark, f"{located.kind()} is not a list", field=field))
        return []
    return located.value
