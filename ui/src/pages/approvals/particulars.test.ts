import { describe, expect, test } from "vitest";

import { isForTyping } from "../../useKeys";
import { fieldsOf, nextRow, question, ruleChanges, stateFilter } from "./particulars";

describe("the question", () => {
  test("is the action where one is proposed", () => {
    const about = { connector: "shop", operation: "refund", target: "/orders/A-1" };
    expect(question({ action: "act", about })).toEqual({ kind: "act", operation: "shop.refund", target: "/orders/A-1" });
  });
  test("is a change of the rules, or a plain word", () => {
    expect(question({ action: "proposal", about: { kind: "policy" } })).toEqual({ kind: "policy" });
    expect(question({ action: "reopen", about: null })).toEqual({ kind: "other", action: "reopen" });
  });
});

describe("fields", () => {
  test("of any depth become lines with a path", () => {
    const fields = { amount: 40, values: { group: "network", tags: ["a", "b"] }, lines: [{ sku: 1 }, { sku: 2 }] };
    expect(fieldsOf(fields)).toEqual([
      { path: "amount", value: "40" },
      { path: "values.group", value: "network" },
      { path: "values.tags", value: "a, b" },
      { path: "lines[0].sku", value: "1" },
      { path: "lines[1].sku", value: "2" },
    ]);
  });
  test("that are empty are still shown: to write nothing is a write too", () => {
    expect(fieldsOf({ a: "", b: null, c: {}, d: [], e: false }).map(({ value }) => value)).toEqual([
      '""',
      "null",
      "{}",
      "[]",
      "false",
    ]);
    expect(fieldsOf({})).toEqual([]);
  });
  test("that are no object are one line", () => {
    expect(fieldsOf("plain")).toEqual([{ path: "", value: "plain" }]);
  });
});

test("a change of rules names what differs, before and after", () => {
  const changes = ruleChanges({
    added: [{ name: "new", effect: "deny" }],
    changed: [{ old: { name: "ask", tier: "low", role: "lead" }, new: { name: "ask", tier: "high", role: "lead", two_person: true } }],
    removed: [{ name: "free", effect: "allow" }],
  });
  expect(changes).toEqual([
    { kind: "added", name: "new", fields: [{ path: "effect", after: "deny" }] },
    {
      kind: "changed",
      name: "ask",
      fields: [
        { path: "tier", before: "low", after: "high" },
        { path: "two_person", after: "true" },
      ],
    },
    { kind: "removed", name: "free", fields: [{ path: "effect", before: "allow" }] },
  ]);
  expect(ruleChanges(undefined)).toEqual([]);
});

test("a filter nobody knows is the usual one", () => {
  expect(["all", "expired", undefined, "open", ["all"]].map(stateFilter)).toEqual([
    "all",
    "expired",
    "requested",
    "requested",
    "requested",
  ]);
});

test("rows are walked from end to end and not around", () => {
  expect([nextRow(-1, 1, 3), nextRow(-1, -1, 3), nextRow(0, 1, 3), nextRow(2, 1, 3), nextRow(0, -1, 3)]).toEqual([
    0, 0, 1, 2, 0,
  ]);
});

test("a key typed into a field is text", () => {
  expect([{ tagName: "TEXTAREA" }, { tagName: "INPUT" }, { isContentEditable: true }].every(isForTyping)).toBe(true);
  expect([{ tagName: "A" }, null].some(isForTyping)).toBe(false);
});
