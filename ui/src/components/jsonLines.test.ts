import { expect, test } from "vitest";

import { jsonLines, linesMax, matching } from "./jsonLines";

test("a value is shown line by line with its depth", () => {
  const { lines, isCut } = jsonLines({ part: "SK", sizes: [1, 2] }, new Set());
  expect(lines.map((line) => [line.depth, line.name, line.text])).toEqual([
    [0, null, "{2}"], [1, "part", '"SK"'], [1, "sizes", "[2]"], [2, "0", "1"], [2, "1", "2"],
  ]);
  expect(isCut).toBe(false);
});

test("a folded part shows only its size", () => {
  expect(jsonLines({ sizes: [1, 2] }, new Set(["/sizes"])).lines.map((line) => line.text)).toEqual(["{1}", "[2]"]);
});

test("a large value is folded and cut, never drawn whole", () => {
  const { lines } = jsonLines({ rows: Array.from({ length: 5000 }, (_, at) => at) }, new Set());
  expect(lines).toHaveLength(2);
  const opened = jsonLines({ rows: Array.from({ length: 5000 }, (_, at) => at) }, new Set(["/rows"]));
  expect(opened.lines).toHaveLength(linesMax);
  expect(opened.isCut).toBe(true);
  expect(jsonLines("x".repeat(10_000), new Set()).lines[0]?.text.length).toBeLessThan(500);
});

test("search finds names and values", () => {
  const { lines } = jsonLines({ part: "SK", price: 4 }, new Set());
  expect([...matching(lines, "sk")]).toEqual(["/part"]);
  expect([...matching(lines, "PRICE")]).toEqual(["/price"]);
  expect(matching(lines, " ").size).toBe(0);
});
