import { expect, test } from "vitest";

import type { StepsPart } from "../api/runs";
import { stepStates, withChanges } from "./steps";

const part: StepsPart = {
  states: ["completed", "waiting"],
  facets: ["waiting_human"],
  people: ["ada"],
  steps: {
    no: [1, 2], def: [1, 2], state: [0, 1], facet: [null, 0], started: [5, 40], ended: [39, null], pic: [null, 0],
  },
  deadlines: { "2": "2026-01-01T00:00:00Z" },
  overdue: [2],
  attempts: { "2": [2, 5] },
};

test("columns become steps", () => {
  const steps = stepStates(part);
  expect(steps.get(1)).toMatchObject({ state: "completed", facets: [], started: 5, ended: 39, pic: null, overdue: false });
  expect(steps.get(2)).toMatchObject({ state: "waiting", facets: ["waiting_human"], pic: "ada", attempt: [2, 5], overdue: true });
});

test("a change replaces a step whole, and what it no longer has is gone", () => {
  const before = stepStates(part);
  const after = withChanges(before, {
    states: ["completed"], facets: [], people: [],
    steps: { no: [2], def: [2], state: [0], facet: [null], started: [40], ended: [90], pic: [null] },
  });
  expect(after.get(2)).toMatchObject({ state: "completed", facets: [], pic: null, attempt: null, deadline: null, overdue: false });
  expect(after.get(1)).toBe(before.get(1));
  expect(before.get(2)?.state).toBe("waiting");
});
