import { expect, test } from "vitest";

import { lagChart } from "./lag";

const begin = Date.parse("2026-03-02T10:00:00Z");
const end = Date.parse("2026-03-02T12:00:00Z");

function point(at: string, ms: number) {
  return { at: `2026-03-02T${at}:00Z`, p50_ms: ms, p95_ms: ms, p99_ms: ms };
}

test("a lag over the threshold is drawn above its line, one below it under it", () => {
  const chart = lagChart([point("10:00", 100), point("10:05", 50_000)], 5_000, begin, end, 240, 100);
  const places = chart.lines[2]?.parts[0]?.split(" ").map((place) => Number(place.split(",")[1])) ?? [];
  expect(places[0]).toBeGreaterThan(chart.threshold);
  expect(places[1]).toBeLessThan(chart.threshold);
});

test("a time without events is a gap, and a single point is seen", () => {
  const chart = lagChart([point("10:00", 10), point("10:05", 10), point("11:00", 10)], 5_000, begin, end, 240, 100);
  expect(chart.lines[0]?.parts).toEqual(["0.0,100 10.0,100", "118.0,100 122.0,100"]);
});

test("without events only the threshold is drawn", () => {
  const chart = lagChart([], 5_000, begin, end, 240, 100);
  expect(chart.lines.every((line) => line.parts.length === 0)).toBe(true);
  expect(chart.marks.map((mark) => mark.ms)).toEqual([1_000, 10_000]);
});
