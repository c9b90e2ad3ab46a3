import { getJson } from "./request";
import type { Answer, Schemas } from "./types";

export type Counts = Schemas["Counts"];
export type RunHead = Schemas["RunHead"];
export type StepColumns = Schemas["StepColumns"];
export type Snapshot = Answer<"run_snapshot">;
export type RunChange = Schemas["RunChange"];
export type StreamChanges = Schemas["StreamChanges"];
export type Why = Schemas["Why"];
export type Cause = Schemas["Cause"];
export type Milestone = Schemas["Milestone"];
export type Layout = Answer<"layout_of_version">;
export type Scope = Schemas["LayoutScope"];
export type Box = Scope["boxes"][number];
export type Line = Scope["lines"][number];

/** Steps of a run: those of a snapshot, or those that changed. */
export type StepsPart = Pick<RunChange, Exclude<keyof RunChange, "state" | "colour" | "counts" | "finished_at" | "frozen_at">>;

export const laneKinds = ["role", "executor", "category", "none"] as const satisfies Layout["lanes_by"][];
export type LaneKind = Layout["lanes_by"];

export function readSnapshot(run: string, at: string | null, signal?: AbortSignal): Promise<Snapshot> {
  const query = at === null ? "" : `?${new URLSearchParams({ at })}`;
  return getJson<Snapshot>(`/runs/${encodeURIComponent(run)}/snapshot${query}`, signal);
}

export function readLayout(
  workflow: string, version: number, lanes: LaneKind, signal?: AbortSignal,
): Promise<Layout> {
  return getJson<Layout>(`/workflows/${encodeURIComponent(workflow)}/versions/${version}/layout?lanes=${lanes}`, signal);
}
