// The steps of a run as a tree by structure: receives steps and definitions, returns nodes, and rows of those that are open.

import type { Layout } from "../../api/runs";
import { stateFace } from "../../registry/registry";
import type { StepDef } from "../../graph/faces";
import type { StepState, StepStates } from "../../graph/steps";

export interface TreeNode {
  key: string;
  /** A branch of a condition, an item of a map or a group has no step of its own. */
  kind: "step" | "branch" | "item" | "group";
  /** The label of a branch, the name of a group. */
  word?: string;
  item?: number | null;
  step?: StepState;
  def?: StepDef;
  children: TreeNode[];
}

export interface TreeRow {
  node: TreeNode;
  level: number;
  place: number;
  size: number;
  /** Null: nothing is below it. */
  isOpen: boolean | null;
}

type ByItem = Map<number, Map<number, StepState>>;

/** Maps with more items than this are closed until somebody opens them. */
const openItems = 20;

/** Steps in the order of the graph; below a condition its branches, below a map its items. */
export function treeOf(steps: StepStates, defs: ReadonlyMap<number, StepDef>, conditionals: Layout["conditionals"]): TreeNode[] {
  const items = new Map<number, ByItem>();
  const outer = new Map<number, StepState>();
  for (const step of steps.values()) {
    if (step.mapNo === null || step.item === null) {
      outer.set(step.def, step);
      continue;
    }
    const byItem: ByItem = items.get(step.mapNo) ?? new Map();
    const ofItem = byItem.get(step.item) ?? new Map<number, StepState>();
    ofItem.set(step.def, step);
    byItem.set(step.item, ofItem);
    items.set(step.mapNo, byItem);
  }
  const inside = new Map<string, StepDef[]>();
  for (const def of [...defs.values()].sort((a, b) => a.no - b.no)) {
    const place = placeOf(def.scope, def.branch);
    inside.set(place, [...(inside.get(place) ?? []), def]);
  }

  function nodes(scope: number, branch: number | null, states: ReadonlyMap<number, StepState>, item: number | null): TreeNode[] {
    return (inside.get(placeOf(scope, branch)) ?? []).flatMap((def) => {
      const step = states.get(def.no);
      return step ? [nodeOf(def, step, states, item)] : [];
    });
  }

  function nodeOf(def: StepDef, step: StepState, states: ReadonlyMap<number, StepState>, item: number | null): TreeNode {
    const branches = (conditionals[def.no] ?? []).map(([no, word]): TreeNode => ({
      key: `branch-${no}-${step.no}`, kind: "branch", word, children: nodes(def.scope, no, states, item),
    }));
    const bodies = [...(items.get(step.no) ?? [])].sort(([a], [b]) => a - b).flatMap(([index, found]): TreeNode[] => {
      const body = nodes(def.no, null, found, index);
      return body.length === 1 ? body : [{ key: `item-${step.no}-${index}`, kind: "item", item: index, children: body }];
    });
    return { key: `step-${step.no}`, kind: "step", item, step, def, children: [...branches.filter((one) => one.children.length > 0), ...bodies] };
  }

  return nodes(0, null, outer, null);
}

function placeOf(scope: number, branch: number | null): string {
  return `${scope}/${branch ?? ""}`;
}

export function isOpenAtFirst(node: TreeNode): boolean {
  return node.def?.kind !== "map" || node.children.length <= openItems;
}

/** The nodes that somebody sees. `turned` are those that are not as they were at first. */
export function rowsOfTree(nodes: readonly TreeNode[], turned: ReadonlySet<string>, level = 1): TreeRow[] {
  return nodes.flatMap((node, at) => {
    const isOpen = node.children.length === 0 ? null : isOpenAtFirst(node) !== turned.has(node.key);
    const row = { node, level, place: at + 1, size: nodes.length, isOpen };
    return isOpen ? [row, ...rowsOfTree(node.children, turned, level + 1)] : [row];
  });
}

/** The nodes for which this holds, and those around them. */
export function sieve(nodes: readonly TreeNode[], holds: (step: StepState) => boolean): TreeNode[] {
  return nodes.flatMap((node) => {
    const children = sieve(node.children, holds);
    return children.length > 0 || (node.step && holds(node.step)) ? [{ ...node, children }] : [];
  });
}

export function countSteps(node: TreeNode): number {
  return node.children.reduce((sum, child) => sum + (child.step ? 1 : 0) + countSteps(child), 0);
}

/** Groups with their steps below them, in the order of the groups. */
export function grouped(groups: readonly (readonly [name: string, nodes: TreeNode[]])[]): TreeNode[] {
  return groups.flatMap(([name, nodes]) => (nodes.length === 0 ? [] : [{ key: `group-${name}`, kind: "group" as const, word: name, children: nodes }]));
}

/** All steps of a tree without what is around them, by number. */
export function leavesOf(nodes: readonly TreeNode[]): TreeNode[] {
  return nodes
    .flatMap((node) => [...(node.step ? [{ ...node, children: [] }] : []), ...leavesOf(node.children)])
    .sort((a, b) => (a.step?.no ?? 0) - (b.step?.no ?? 0));
}

export function isDone(step: StepState): boolean {
  return stateFace("step", step.state).isTerminal;
}
