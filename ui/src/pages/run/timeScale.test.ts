import { expect, test } from "vitest";

import type { Timeline } from "../../api/time";
import { folds, fromDrawn, groupsOf, partsOf, readSpan, spanOf, ticksOf, toDrawn } from "./timeScale";

const timeline: Timeline = {
  from: "2026-03-01T06:00:00Z", to: "2026-03-01T08:01:04Z", now: "2026-03-01T08:01:00Z", is_ended: false,
  scale: [[0, 60_000, 0, 60_000], [60_000, 7_260_000, 60_000, 64_000], [7_260_000, 7_264_000, 64_000, 68_000]],
  drawn_ms: 68_000,
  segments: { no: [1, 2, 2], kind: [0, 1, 0], attempt: [1, 1, 2], from: [0, 60_000, 7_260_000], to: [60_000, 7_260_000, null] },
  kinds: ["working", "waiting"],
  expected: { "3": [7_262_000, 7_264_000] },
  groups: { people: [2, 3], code: [1], agents: [] }, milestones: [],
  worked_ms: 61_000, standing_ms: 7_200_000,
};
test("a folded part is drawn short, and nothing changes its order", () => {
  const scale = folds(timeline, true);
  expect(toDrawn(scale, 60_000)).toBe(60_000);
  expect(toDrawn(scale, 3_660_000)).toBe(62_000);
  expect(toDrawn(scale, 7_264_000)).toBe(68_000);
  expect(toDrawn(folds(timeline, false), 3_660_000)).toBeCloseTo(3_660_000);
});

test("steps are grouped and begin in order; an open segment ends now", () => {
  const parts = partsOf(timeline);
  expect(groupsOf(timeline, parts)).toEqual([["people", [2, 3]], ["code", [1]], ["agents", []]]);
  expect(parts.get(2)?.at(-1)).toEqual({ kind: "working", attempt: 2, from: 7_260_000, to: 7_260_000 });
});

test("a place of the drawing and its moment are each other's inverse", () => {
  const scale = folds(timeline, true);
  for (const moment of [0, 30_000, 60_000, 3_660_000, 7_262_000]) expect(fromDrawn(scale, toDrawn(scale, moment))).toBeCloseTo(moment);
  expect(spanOf(scale, 0, 60_000 / 68_000)).toEqual([0, 60_000]);
  expect(spanOf(scale, -3, 5)).toEqual([0, 7_264_000]);
});

test("a window comes from the address, and nonsense shows the whole", () => {
  expect(readSpan("1000-5000", 9_000)).toEqual([1_000, 5_000]);
  expect(readSpan("1000-50000", 9_000)).toEqual([1_000, 9_000]);
  for (const text of [null, "", "5000-1000", "9500-9800", "0-9000", "a-b", "-5-9"]) expect(readSpan(text, 9_000)).toBeNull();
});

test("ticks never crowd", () => {
  const scale = folds(timeline, true);
  const places = ticksOf(timeline, scale, "en", [0, 7_264_000]).map((tick) => toDrawn(scale, tick.at));
  expect(places.length).toBeGreaterThan(3);
  for (let at = 1; at < places.length; at += 1) expect((places[at] ?? 0) - (places[at - 1] ?? 0)).toBeGreaterThanOrEqual(68_000 / 12);
});

test("after a text with its day there is more room", () => {
  const ticks = ticksOf(timeline, folds(timeline, false), "vi", [0, 45_000]);
  expect(ticks[0]?.text.length).toBeGreaterThan(13);
  expect(ticks.slice(0, 3).map((tick) => tick.at)).toEqual([0, 10_000, 15_000]);
});
