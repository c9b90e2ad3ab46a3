import { getJson } from "./request";
import type { Why } from "./runs";

export interface Attempt {
  attempt: number;
  outcome: string;
  started_at: string | null;
  ended_at: string | null;
  worker: string | null;
  failure_class: string | null;
  error: Record<string, unknown> | null;
  next_at: string | null;
}

export interface StepEvent {
  event_id: number;
  at: string;
  type: string;
  from: string | null;
  to: string | null;
  actor: string | null;
  payload: unknown;
}

/** What hangs on a step; only the parts that were asked for are there. */
export interface StepBody {
  run_id: number;
  no: number;
  unit_id: number;
  step_id: string;
  state: string;
  why?: Why | null;
  inputs?: { bound: unknown; origin: string; problem: string | null } | null;
  outputs?: { lease_no: number; output: unknown; created_at: string }[] | null;
  attempts?: Attempt[];
  receipts?: { receipt_id: number; operation: string; target: string | null; state: string; at: string }[];
  tasks?: { no: number; task_id: string; state: string; pic: string | null }[];
  content?: { name: string; version: number; title: string | null; body: string | null; format: string }[];
  events?: { items: StepEvent[]; next: number | null };
}

export const stepParts = ["tasks", "content", "inputs", "outputs", "attempts", "receipts", "events"] as const;
export type StepPart = (typeof stepParts)[number];

export function readStep(
  run: string, no: number, parts: readonly string[], before: number | null, signal?: AbortSignal,
): Promise<StepBody> {
  const query = new URLSearchParams({ include: parts.join(",") });
  if (before !== null) query.set("events_before", String(before));
  return getJson<StepBody>(`/runs/${encodeURIComponent(run)}/steps/${no}?${query}`, signal);
}
