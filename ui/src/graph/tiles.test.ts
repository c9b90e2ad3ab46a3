import { describe, expect, it } from "vitest";

import { makeScene } from "./scene";
import { Tiles, tileHeight, tileWidth } from "./tiles";

const size: [number, number] = [128, 40];

function tiles(boxes: [number, number, number][], lines: [number, number, number[]][] = []): Tiles {
  const scene = makeScene(
    {
      scope: 0, width: 4_000, height: 4_000, lanes: [],
      boxes: boxes.map(([no, x, y]) => [no, x, y, 0, 0]),
      lines: lines.map(([from, to, points]) => [from, to, null, points]),
    },
    size, new Set(),
  );
  return new Tiles(scene);
}

describe("tiles", () => {
  it("gives each box to one tile, and finds those that begin left of the view", () => {
    const found = tiles([[1, 0, 0], [2, tileWidth - 10, 0], [3, tileWidth * 3, tileHeight * 3]]);
    const seen = found.meeting({ x: tileWidth, y: 0, width: 100, height: 100 });
    expect(seen.flatMap((tile) => tile.boxes.map((box) => box.no)).sort()).toEqual([1, 2]);
    const away = found.meeting({ x: tileWidth * 3, y: tileHeight * 3, width: 10, height: 10 });
    expect(away.flatMap((tile) => tile.boxes.map((box) => box.no))).toEqual([3]);
  });

  it("draws a long line in every tile that it crosses", () => {
    const found = tiles([], [[1, 2, [0, 20, tileWidth * 2.5, 20]]]);
    const crossed = found.meeting({ x: 0, y: 0, width: tileWidth * 4, height: 10 }).filter((tile) => tile.lines.length);
    expect(crossed.map((tile) => tile.key)).toEqual(["0/0", "1/0", "2/0"]);
  });

  it("returns the same tile again, so that a pan changes nothing in it", () => {
    const found = tiles([[1, 0, 0]]);
    const [first] = found.meeting({ x: 0, y: 0, width: 10, height: 10 });
    const [again] = found.meeting({ x: 5, y: 5, width: 10, height: 10 });
    expect(again).toBe(first);
  });
});
