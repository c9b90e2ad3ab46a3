import { getJson } from "./request";
import type { Answer, Schemas } from "./types";

export type Mark = Schemas["Mark"];
export type Density = Answer<"run_density">;
export type Timeline = Answer<"run_timeline">;

export function readDensity(run: string, buckets: number, signal?: AbortSignal): Promise<Density> {
  return getJson<Density>(`/runs/${encodeURIComponent(run)}/density?buckets=${buckets}`, signal);
}

export function readTimeline(run: string, signal?: AbortSignal): Promise<Timeline> {
  return getJson<Timeline>(`/runs/${encodeURIComponent(run)}/timeline`, signal);
}
