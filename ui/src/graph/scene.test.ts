import { describe, expect, test } from "vitest";

import type { Scope } from "../api/runs";
import { Grid } from "./grid";
import { collapsedHeight, makeScene, pathOf, stepToward } from "./scene";

// a → b, a → c (other lane); b and c meet in a joint before d and e.
const scope: Scope = {
  scope: 0,
  width: 600,
  height: 240,
  lanes: [["upper", 0, 120, 3], ["lower", 120, 120, 2]],
  boxes: [[1, 16, 40, 0, 0], [2, 168, 40, 1, 0], [3, 168, 160, 1, 1], [4, 400, 40, 3, 0], [5, 400, 160, 3, 1]],
  lines: [
    [1, 2, null, [144, 60, 168, 60]],
    [1, 3, 7, [144, 60, 156, 60, 156, 180, 168, 180]],
    [2, null, null, [296, 60, 320, 60]],
    [3, null, null, [296, 180, 308, 180, 308, 60, 320, 60]],
    [null, 4, null, [320, 60, 400, 60]],
    [null, 5, null, [320, 60, 332, 60, 332, 180, 400, 180]],
  ],
};
const box: [number, number] = [128, 40];

describe("a scene", () => {
  const scene = makeScene(scope, box, new Set());

  test("follows the arrows along edges, also through a joint", () => {
    expect(stepToward(scene, 1, "right")).toBe(2);
    expect(stepToward(scene, 3, "right")).toBe(5);
    expect(stepToward(scene, 5, "left")).toBe(3);
    expect(stepToward(scene, 2, "down")).toBe(3);
    expect(stepToward(scene, 3, "up")).toBe(2);
    expect(stepToward(scene, 1, "left")).toBeNull();
  });

  test("folds a lane into one band and moves the rest up", () => {
    const folded = makeScene(scope, box, new Set(["upper"]));
    expect(folded.boxes.map((found) => found.no)).toEqual([3, 5]);
    expect(folded.lanes[1]?.y).toBe(collapsedHeight);
    expect(folded.boxOf.get(3)?.y).toBe(160 - 120 + collapsedHeight);
    expect(folded.height).toBe(collapsedHeight + 120);
    for (const line of folded.lines) for (const [at, y] of line.points.entries())
      if (at % 2) expect(y).toBeLessThanOrEqual(folded.height);
  });

  test("finds the boxes in view and no others", () => {
    const found = scene.boxGrid.meeting({ x: 150, y: 0, width: 100, height: 100 });
    expect(found.map((at) => scene.boxes[at]?.no)).toEqual([2]);
  });

  test("draws a line with round corners that begins and ends where it should", () => {
    const path = pathOf([0, 0, 20, 0, 20, 40]);
    expect(path).toBe("M0 0L14 0Q20 0 20 6L20 40");
  });
});

test("the index finds the same as looking at every rectangle", () => {
  const rects = Array.from({ length: 2000 }, (_, at) => ({
    x: (at * 7919) % 20_000, y: (at * 104_729) % 9_000, width: 20 + (at % 300) * (at % 17), height: 10 + (at % 900),
  }));
  const grid = new Grid(rects);
  for (let at = 0; at < 40; at += 1) {
    const view = { x: at * 400, y: at * 150, width: 300 + at * 40, height: 700 };
    const expected = rects.flatMap((rect, index) =>
      rect.x <= view.x + view.width && rect.x + rect.width >= view.x &&
      rect.y <= view.y + view.height && rect.y + rect.height >= view.y ? [index] : [],
    );
    expect(grid.meeting(view)).toEqual(expected);
  }
});
