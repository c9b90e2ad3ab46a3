import { getJson } from "./request";

// The shapes of the snapshot, the layout and what hangs on a run: see the reference of the API.

export interface Counts {
  open: number;
  mandatory: number;
  idle: number;
  active: number;
  wait: number;
  red: number;
  completed: number;
  skipped: number;
  failed: number;
}

export interface RunHead {
  run_id: number;
  workflow: string;
  version_no: number;
  state: string;
  /** Null in the past, like the counts. */
  colour: string | null;
  key: string | null;
  started_by: string | null;
  parent_run_id: number | null;
  labels: Record<string, string>;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  deadline_at: string | null;
  counts: Counts | null;
}

/** Columns of equal length, one entry for each step. */
export interface StepColumns {
  no: number[];
  def: number[];
  state: number[];
  /** These are not known of the past. */
  facet?: (number | null)[];
  started?: (number | null)[];
  ended?: (number | null)[];
  pic?: (number | null)[];
}

type Sparse<T> = Record<string, T>;

/** Steps of a run: those of a snapshot, or those that changed. */
export interface StepsPart {
  states: string[];
  facets: string[];
  people: string[];
  steps: StepColumns;
  items?: Sparse<[mapNo: number, item: number]>;
  facets_more?: Sparse<string[]>;
  attempts?: Sparse<[attempt: number, most: number]>;
  deadlines?: Sparse<string>;
  overdue?: number[];
  escalated?: number[];
  late?: number[];
  next_at?: Sparse<string>;
  children?: Sparse<number>;
  pins?: Sparse<[name: string, version: number]>;
  failures?: Sparse<string>;
  approvals?: Sparse<string>;
  progress?: Sparse<{ done: number; total: number | null }>;
  behind?: Sparse<number>;
}

export interface Why {
  code: string;
  en: string;
  vi: string;
  who: string | null;
}

export interface Snapshot extends StepsPart {
  run: RunHead;
  position: string;
  /** Null if a time was asked for. */
  last_event_id: number | null;
  now: string;
  at: { event_id?: number; time?: string } | null;
  layout_hash: string | null;
  graph_hash: string;
  rollup: { decisive_no: number | null; red: number; yellow: number; green: number } | null;
  critical_path: number[];
  expected_end: { at: string | null; past_runs: number } | null;
  why: Why | null;
}

export type Box = [no: number, x: number, y: number, column: number, lane: number];
export type Line = [from: number | null, to: number | null, branch: number | null, points: number[]];
export type Lane = [name: string, y: number, height: number, steps: number];

export interface Scope {
  scope: number;
  width: number;
  height: number;
  lanes: Lane[];
  boxes: Box[];
  lines: Line[];
}

export interface LayoutSteps {
  no: number[];
  id: string[];
  kind: string[];
  title: (string | null)[];
  mandatory: boolean[];
  role: (string | null)[];
  operation: (string | null)[];
  executor: (string | null)[];
  workflow: (string | null)[];
  scope: number[];
  branch: (number | null)[];
  group: (string | null)[];
}

export interface Layout {
  hash: string;
  graph_hash: string;
  lanes_by: string;
  box: [width: number, height: number];
  steps: LayoutSteps;
  conditionals: Record<string, [branch: number, label: string][]>;
  scopes: Scope[];
}

export const laneKinds = ["role", "executor", "category", "none"] as const;
export type LaneKind = (typeof laneKinds)[number];

export function readSnapshot(run: string, at: string | null, signal?: AbortSignal): Promise<Snapshot> {
  const query = at === null ? "" : `?${new URLSearchParams({ at })}`;
  return getJson<Snapshot>(`/runs/${encodeURIComponent(run)}/snapshot${query}`, signal);
}

export function readLayout(
  workflow: string, version: number, lanes: LaneKind, signal?: AbortSignal,
): Promise<Layout> {
  return getJson<Layout>(`/workflows/${encodeURIComponent(workflow)}/versions/${version}/layout?lanes=${lanes}`, signal);
}
