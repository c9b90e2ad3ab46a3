import { describe, expect, it } from "vitest";

import { placeOf, stepOf, timelineOf } from "./subject";

const nothing = { subject_key: "1", subject: "a", since_at: "2026-01-01T00:00:00Z", reason: "", run_id: null, unit_id: null, trace_id: null, workflow: null, trigger_ref: null, remedy_en: null, remedy_vi: null, actor: null, event_type: null };

describe("where a subject is found", () => {
  it("a step has its page; a number beyond what a double holds stays exact", () => {
    const run = (1n << 40n) + 7n;
    const subject = { ...nothing, run_id: String(run), unit_id: String((run << 20n) + 5n) };
    expect(stepOf(subject)).toBe(5);
    expect(placeOf(subject)).toBe(`/runs/${run}?step=5`);
  });
  it("a run has its page, and a job and a worker have none", () => {
    expect(placeOf({ ...nothing, run_id: "7", unit_id: String(7n << 20n) })).toBe("/runs/7");
    expect(placeOf({ ...nothing, unit_id: "77" })).toBeNull();
    expect(placeOf(nothing)).toBeNull();
  });
  it("events are found by the trace, else by the run, else by the unit", () => {
    expect(timelineOf({ ...nothing, run_id: "7", trace_id: "ab" })).toEqual({ trace: "ab" });
    expect(timelineOf({ ...nothing, run_id: "7", unit_id: "8" })).toEqual({ run: "7" });
    expect(timelineOf({ ...nothing, unit_id: "8" })).toEqual({ unit: "8" });
    expect(timelineOf({ ...nothing, actor: "session:3" })).toEqual({ actor: "session:3" });
    expect(timelineOf({ ...nothing, event_type: "event_lag.breached" })).toEqual({ type: "event_lag.breached" });
    expect(timelineOf(nothing)).toBeNull();
  });
});
