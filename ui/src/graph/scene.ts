// The drawing of one scope, ready to be shown: receives a layout and the collapsed lanes, returns what is where.

import type { Box, Line, Scope } from "../api/runs";
import type { Rect } from "./camera";
import { Grid } from "./grid";

export interface SceneLane {
  name: string;
  y: number;
  height: number;
  steps: number;
  isCollapsed: boolean;
}

export interface SceneBox extends Rect {
  no: number;
  column: number;
  lane: number;
}

export interface SceneLine {
  from: number | null;
  to: number | null;
  branch: number | null;
  points: number[];
}

export interface Scene {
  width: number;
  height: number;
  lanes: SceneLane[];
  boxes: SceneBox[];
  boxOf: Map<number, SceneBox>;
  boxGrid: Grid;
  lines: SceneLine[];
  lineGrid: Grid;
  after: Map<number, number[]>;
  before: Map<number, number[]>;
}

export const collapsedHeight = 32;

export function makeScene(scope: Scope, box: [number, number], collapsed: ReadonlySet<string>): Scene {
  const lanes = foldLanes(scope, collapsed);
  const folded = (y: number) => foldY(scope, lanes, y);
  const boxes = scope.boxes
    .filter(([, , , , lane]) => !lanes[lane]?.isCollapsed)
    .map(([no, x, y, column, lane]: Box) => ({
      no, x, column, lane, y: folded(y + box[1] / 2) - box[1] / 2, width: box[0], height: box[1],
    }));
  const lines = scope.lines
    .map(([from, to, branch, points]: Line) => ({
      from, to, branch, points: points.map((value, at) => (at % 2 ? folded(value) : value)),
    }))
    .filter((line) => lanes.length === 0 || !isFlat(line.points));
  const last = lanes.at(-1);
  const height = last ? last.y + last.height : scope.height;
  const { after, before } = neighbours(scope.lines);
  return {
    width: scope.width,
    height: Math.max(height, 1),
    lanes,
    boxes,
    boxOf: new Map(boxes.map((found) => [found.no, found])),
    boxGrid: new Grid(boxes),
    lines,
    lineGrid: new Grid(lines.map((line) => boundsOf(line.points))),
    after,
    before,
  };
}

function foldLanes(scope: Scope, collapsed: ReadonlySet<string>): SceneLane[] {
  if (scope.lanes.length === 1 && scope.lanes[0]?.[0] === "") return [];
  let y = 0;
  return scope.lanes.map(([name, , tall, steps]) => {
    const isCollapsed = collapsed.has(name);
    const lane = { name, y, height: isCollapsed ? collapsedHeight : tall, steps, isCollapsed };
    y += lane.height;
    return lane;
  });
}

/** A height in a collapsed lane becomes the middle of its band; those below move up. */
function foldY(scope: Scope, lanes: SceneLane[], y: number): number {
  for (let index = lanes.length - 1; index >= 0; index -= 1) {
    const [lane, whole] = [lanes[index], scope.lanes[index]];
    if (lane && whole && (y >= whole[1] || index === 0))
      return lane.isCollapsed ? lane.y + collapsedHeight / 2 : lane.y + (y - whole[1]);
  }
  return y;
}

/** A line inside a collapsed lane has no length any more. */
function isFlat(points: number[]): boolean {
  return points.length < 4;
}

function boundsOf(points: number[]): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = 0; at + 1 < points.length; at += 2) {
    const [x, y] = [points[at] ?? 0, points[at + 1] ?? 0];
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Steps before and after each step. Lines that meet in a joint join each start with each end. */
function neighbours(lines: readonly Line[]): { after: Map<number, number[]>; before: Map<number, number[]> } {
  const after = new Map<number, number[]>();
  const before = new Map<number, number[]>();
  const into = new Map<string, number[]>();
  const outOf: [string, number][] = [];
  const link = (from: number, to: number) => {
    push(after, from, to);
    push(before, to, from);
  };
  for (const [from, to, , points] of lines) {
    if (from !== null && to !== null) link(from, to);
    else if (from !== null) push(into, points.slice(-2).join(), from);
    else if (to !== null) outOf.push([points.slice(0, 2).join(), to]);
  }
  for (const [joint, to] of outOf) for (const from of into.get(joint) ?? []) link(from, to);
  return { after, before };
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const found = map.get(key);
  if (found) found.push(value);
  else map.set(key, [value]);
}

export type Direction = "left" | "right" | "up" | "down";

/** The next step for an arrow key: along an edge, or up and down in the same column. */
export function stepToward(scene: Scene, no: number, direction: Direction): number | null {
  const here = scene.boxOf.get(no);
  if (!here) return scene.boxes[0]?.no ?? null;
  const nearest = (found: SceneBox[]) =>
    found.sort((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y) || a.x - b.x)[0]?.no ?? null;
  if (direction === "left" || direction === "right") {
    const linked = (direction === "right" ? scene.after : scene.before).get(no) ?? [];
    return nearest(linked.flatMap((other) => scene.boxOf.get(other) ?? []));
  }
  return nearest(
    scene.boxes.filter(
      (box) => box.column === here.column && (direction === "down" ? box.y > here.y : box.y < here.y),
    ),
  );
}

/** An SVG path with round corners, so that an eye can follow one line among many. */
export function pathOf(points: number[], radius = 6): string {
  const pairs: [number, number][] = [];
  for (let at = 0; at + 1 < points.length; at += 2) pairs.push([points[at] ?? 0, points[at + 1] ?? 0]);
  return pairs
    .map(([x, y], at) => {
      const [from, to] = [pairs[at - 1], pairs[at + 1]];
      if (!from) return `M${x} ${y}`;
      if (!to) return `L${x} ${y}`;
      const room = Math.min(radius, distance(from, [x, y]) / 2, distance([x, y], to) / 2);
      const [inX, inY] = toward([x, y], from, room);
      const [outX, outY] = toward([x, y], to, room);
      return `L${inX} ${inY}Q${x} ${y} ${outX} ${outY}`;
    })
    .join("");
}

function distance(a: [number, number], b: [number, number]): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1]);
}

function toward(from: [number, number], to: [number, number], length: number): [number, number] {
  const whole = distance(from, to) || 1;
  return [from[0] + ((to[0] - from[0]) * length) / whole, from[1] + ((to[1] - from[1]) * length) / whole];
}
