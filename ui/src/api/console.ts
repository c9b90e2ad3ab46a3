import { getJson, sendJson } from "./request";
import type { RunFilter } from "./lists";
import type { Answer, Schemas } from "./types";

export type Counts = Answer<"read_counts">;
export type Reach = Answer<"preview_reach">;
export type Places = Answer<"list_run_places">;
export type VersionDiff = Answer<"compare_versions">;
export type StepChange = Schemas["StepChange"];
export type Running = Answer<"read_running">;

export function readCounts(signal?: AbortSignal): Promise<Counts> {
  return getJson<Counts>("/counts", signal);
}

export function readReach(act: string, runs: Iterable<string>, signal?: AbortSignal): Promise<Reach> {
  const query = new URLSearchParams([["act", act], ...[...runs].map((run) => ["run", run])]);
  return getJson<Reach>(`/runs/reach?${query}`, signal);
}

export function readPlaces(filter: RunFilter, every: number, signal?: AbortSignal): Promise<Places> {
  return getJson<Places>(`/runs/places?${new URLSearchParams({ ...filter, every: String(every) })}`, signal);
}

export function readDiff(workflow: string, version: number, before: number, signal?: AbortSignal): Promise<VersionDiff> {
  return getJson<VersionDiff>(`/workflows/${encodeURIComponent(workflow)}/versions/${version}/diff?before=${before}`, signal);
}

export function readRunning(workflow: string, version: number, signal?: AbortSignal): Promise<Running> {
  return getJson<Running>(`/workflows/${encodeURIComponent(workflow)}/versions/${version}/running`, signal);
}

export function switchTenant(tenant: string): Promise<unknown> {
  return sendJson("PUT", "/session", { tenant });
}
