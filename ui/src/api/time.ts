import { getJson } from "./request";

export interface Mark {
  event_id: number;
  at: string;
  kind: string;
  no: number | null;
  type: string;
}

export interface Density {
  from: string;
  to: string;
  bucket_seconds: number;
  counts: number[];
  first_event_id: (number | null)[];
  marks: Mark[];
  sealed_event_id: number | null;
  last_event_id: number;
}

export interface Timeline {
  from: string;
  to: string;
  now: string;
  /** [from ms, to ms, drawn from, drawn to]; a part that is drawn shorter is folded. */
  scale: [number, number, number, number][];
  drawn_ms: number;
  segments: { no: number[]; kind: number[]; attempt: number[]; from: number[]; to: (number | null)[] };
  kinds: string[];
  /** Steps to come, where the server expects them. */
  expected?: Record<string, [number, number]>;
  groups: Record<string, number[]>;
  worked_ms: number;
  standing_ms: number;
}

export function readDensity(run: string, buckets: number, signal?: AbortSignal): Promise<Density> {
  return getJson<Density>(`/runs/${encodeURIComponent(run)}/density?buckets=${buckets}`, signal);
}

export function readTimeline(run: string, signal?: AbortSignal): Promise<Timeline> {
  return getJson<Timeline>(`/runs/${encodeURIComponent(run)}/timeline`, signal);
}
