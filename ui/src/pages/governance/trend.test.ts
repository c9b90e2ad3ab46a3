import { expect, test } from "vitest";

import { trendPoints } from "./trend";

const now = Date.parse("2026-03-02T12:00:00Z");

test("a day without a change is one level line", () => {
  expect(trendPoints([], now, 2, 100, 20)).toBe("0.0,1.0 100.0,1.0");
});

test("a change in the middle is a step", () => {
  expect(trendPoints([{ at: "2026-03-02T00:00:00Z", open: 4 }], now, 0, 100, 20)).toBe("0.0,19.0 50.0,19.0 50.0,1.0 100.0,1.0");
});
