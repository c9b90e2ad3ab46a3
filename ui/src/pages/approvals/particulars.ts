// Prepares an approval for display. It decides nothing: the server decides who may decide.

import type { About, Approval, Rule } from "../../api/approvals";

export const stateFilters = ["requested", "approved", "rejected", "expired", "cancelled", "all"] as const;
export type StateFilter = (typeof stateFilters)[number];

/** The filter in the address; for an unknown filter the default one. */
export function stateFilter(given: unknown): StateFilter {
  return stateFilters.find((name) => name === given) ?? stateFilters[0];
}

/** The name of an actor without the way it came: `web:ben` is ben. */
export function plainName(actor: string): string {
  return actor.replace(/^(cli|api|client|web|ui|slack|mcp):/, "");
}

export type Question =
  | { kind: "act"; operation: string; target: string }
  | { kind: "policy" }
  | { kind: "other"; action: string };

export function question(approval: Pick<Approval, "action" | "about">): Question {
  const about = approval.about ?? {};
  if (about.connector) {
    return { kind: "act", operation: `${about.connector}.${about.operation ?? ""}`, target: about.target ?? "" };
  }
  return about.kind === "policy" ? { kind: "policy" } : { kind: "other", action: approval.action };
}

export interface Field {
  path: string;
  value: string;
}

/** One line for each value, at any depth: `values.assignment_group`, `lines[0].sku`. */
export function fieldsOf(value: unknown, path = ""): Field[] {
  if (Array.isArray(value)) {
    if (value.every((entry) => typeof entry !== "object" || entry === null)) {
      return [{ path, value: value.length === 0 ? "[]" : value.map(textOf).join(", ") }];
    }
    return value.flatMap((entry, at) => fieldsOf(entry, `${path}[${at}]`));
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return path === "" ? [] : [{ path, value: "{}" }];
    return entries.flatMap(([name, entry]) => fieldsOf(entry, path === "" ? name : `${path}.${name}`));
  }
  return [{ path, value: textOf(value) }];
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value === "" ? '""' : value;
  return JSON.stringify(value) ?? "";
}

export interface RuleChange {
  kind: "added" | "removed" | "changed";
  name: string;
  /** An added rule has no `before`, a removed rule has no `after`. */
  fields: { path: string; before?: string; after?: string }[];
}

export function ruleChanges(diff: About["diff"]): RuleChange[] {
  const whole = (kind: "added" | "removed", rule: Rule): RuleChange => ({
    kind,
    name: String(rule.name),
    fields: ruleFields(rule).map(({ path, value }) =>
      kind === "added" ? { path, after: value } : { path, before: value },
    ),
  });
  return [
    ...(diff?.added ?? []).map((rule) => whole("added", rule)),
    ...(diff?.changed ?? []).map((pair): RuleChange => ({
      kind: "changed",
      name: String(pair.new.name),
      fields: differences(pair.old, pair.new),
    })),
    ...(diff?.removed ?? []).map((rule) => whole("removed", rule)),
  ];
}

function ruleFields(rule: Rule): Field[] {
  return fieldsOf(rule).filter(({ path }) => path !== "name");
}

function differences(before: Rule, after: Rule): RuleChange["fields"] {
  const old = new Map(fieldsOf(before).map(({ path, value }) => [path, value]));
  const fresh = new Map(fieldsOf(after).map(({ path, value }) => [path, value]));
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((path) => old.get(path) !== fresh.get(path))
    .map((path) => {
      const [was, becomes] = [old.get(path), fresh.get(path)];
      return { path, ...(was !== undefined && { before: was }), ...(becomes !== undefined && { after: becomes }) };
    });
}

/** The next row up or down; without a current row, the first. */
export function nextRow(current: number, step: 1 | -1, count: number): number {
  if (current < 0) return 0;
  return Math.min(Math.max(current + step, 0), count - 1);
}
