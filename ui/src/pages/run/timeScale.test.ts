import { expect, test } from "vitest";

import type { Timeline } from "../../api/time";
import { stepStates } from "../../graph/steps";
import { folds, rowsOf, ticksOf, toDrawn } from "./timeScale";

const timeline: Timeline = {
  from: "2026-03-01T06:00:00Z", to: "2026-03-01T08:01:04Z", now: "2026-03-01T08:01:00Z", is_ended: false,
  scale: [[0, 60_000, 0, 60_000], [60_000, 7_260_000, 60_000, 64_000], [7_260_000, 7_264_000, 64_000, 68_000]],
  drawn_ms: 68_000,
  segments: { no: [1, 2, 2], kind: [0, 1, 0], attempt: [1, 1, 2], from: [0, 60_000, 7_260_000], to: [60_000, 7_260_000, null] },
  kinds: ["working", "waiting"],
  expected: { "3": [7_262_000, 7_264_000] },
  groups: { people: [2, 3], code: [1], agents: [] },
  worked_ms: 61_000, standing_ms: 7_200_000,
};
const columns = (count: number) => Array.from({ length: count }, () => null);
const steps = stepStates({
  states: ["completed"], facets: [], people: [],
  steps: { no: [1, 2, 3], def: [1, 2, 3], state: [0, 0, 0], facet: columns(3), started: columns(3), ended: columns(3), pic: columns(3) },
});

test("a folded part is drawn short, and nothing changes its order", () => {
  const scale = folds(timeline, true);
  expect(toDrawn(scale, 60_000)).toBe(60_000);
  expect(toDrawn(scale, 3_660_000)).toBe(62_000);
  expect(toDrawn(scale, 7_264_000)).toBe(68_000);
  expect(toDrawn(folds(timeline, false), 3_660_000)).toBeCloseTo(3_660_000);
});

test("steps are grouped and begin in order; an open segment ends now", () => {
  const rows = rowsOf(timeline, steps);
  expect(rows.map((row) => row.group ?? row.step?.no)).toEqual(["people", 2, 3, "code", 1]);
  expect(rows[1]?.parts?.at(-1)).toEqual({ kind: "working", attempt: 2, from: 7_260_000, to: 7_260_000 });
  expect(rows[2]?.expected).toEqual([7_262_000, 7_264_000]);
});

test("ticks never crowd", () => {
  const scale = folds(timeline, true);
  const places = ticksOf(timeline, scale, "en").map((tick) => toDrawn(scale, tick.at));
  expect(places.length).toBeGreaterThan(3);
  for (let at = 1; at < places.length; at += 1) expect((places[at] ?? 0) - (places[at - 1] ?? 0)).toBeGreaterThanOrEqual(68_000 / 12);
});
