import { expect, test } from "vitest";

import type { StepDef } from "../../graph/faces";
import { stepStates } from "../../graph/steps";
import { countSteps, grouped, leavesOf, rowsOfTree, sieve, treeOf, type TreeNode } from "./stepTree";

const def = (no: number, more: Partial<StepDef> = {}): [number, StepDef] => [no, {
  no, id: `s${no}`, kind: "operation", label: `S${no}`, mandatory: true, role: null, operation: null, executor: null, workflow: null,
  scope: 0, branch: null, milestone: null, joinsAny: false, content: "", ...more,
}];
// 1, then a condition with two branches (one is a map), then 5; the body of the map is 6.
const defs = new Map([
  def(1), def(2, { kind: "conditional" }), def(3, { branch: 1, kind: "map" }), def(4, { branch: 2 }), def(5), def(6, { scope: 3 }),
]);
const conditionals: Record<string, [number, string][]> = { "2": [[1, "then"], [2, "otherwise"]] };

function steps(items: number) {
  const nos = [1, 2, 3, 4, 5, ...Array.from({ length: items }, (_, at) => 10 + at)];
  return stepStates({
    states: ["ready"], facets: [], people: [],
    steps: { no: nos, def: nos.map((no) => (no < 10 ? no : 6)), state: nos.map(() => 0) },
    items: Object.fromEntries(Array.from({ length: items }, (_, at) => [String(10 + at), [3, at] as [number, number]])),
  });
}

const drawn = (nodes: TreeNode[], turned: string[] = []) =>
  rowsOfTree(nodes, new Set(turned)).map(({ node, level }) => `${"-".repeat(level)}${node.word ?? node.step?.no}`);

test("branches stand below their condition and items below their map", () => {
  const tree = treeOf(steps(2), defs, conditionals);
  expect(drawn(tree)).toEqual(["-1", "-2", "--then", "---3", "----10", "----11", "--otherwise", "---4", "-5"]);
  expect(tree.reduce((sum, node) => sum + 1 + countSteps(node), 0)).toBe(7);
});

test("a node closes and opens, and a long map is closed at first", () => {
  expect(drawn(treeOf(steps(2), defs, conditionals), ["step-2"])).toEqual(["-1", "-2", "-5"]);
  const long = treeOf(steps(30), defs, conditionals);
  expect(drawn(long)).not.toContain("----10");
  expect(drawn(long, ["step-3"])).toContain("----10");
  expect(rowsOfTree(long, new Set()).find((row) => row.node.step?.no === 3)?.isOpen).toBe(false);
});

test("a sieve keeps what is around a hit; leaves are in order without what is around", () => {
  const tree = treeOf(steps(1), defs, conditionals);
  expect(drawn(sieve(tree, (step) => step.no === 4))).toEqual(["-2", "--otherwise", "---4"]);
  expect(leavesOf(tree).map((node) => node.step?.no)).toEqual([1, 2, 3, 4, 5, 10]);
  expect(drawn(grouped([["going", leavesOf(tree).slice(0, 1)], ["done", []]]))).toEqual(["-going", "--1"]);
});

test("rows say their place among their siblings", () => {
  const row = rowsOfTree(treeOf(steps(1), defs, conditionals), new Set()).find((one) => one.node.word === "otherwise");
  expect([row?.level, row?.place, row?.size]).toEqual([2, 2, 2]);
});
