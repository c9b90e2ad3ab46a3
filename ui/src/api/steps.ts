import { getJson } from "./request";
import type { Answer } from "./types";

/** What hangs on a step; only the parts that were asked for are there. */
export type StepBody = Answer<"step_body">;

/** Sections of the panel; approvals are a list of their own. */
export const stepParts = ["tasks", "content", "inputs", "outputs", "attempts", "approvals", "receipts", "events"] as const;
export type StepPart = (typeof stepParts)[number];

export function readStep(
  run: string, no: number, parts: readonly string[], before: number | null, signal?: AbortSignal,
): Promise<StepBody> {
  const query = new URLSearchParams({ include: parts.join(",") });
  if (before !== null) query.set("events_before", String(before));
  return getJson<StepBody>(`/runs/${encodeURIComponent(run)}/steps/${no}?${query}`, signal);
}
