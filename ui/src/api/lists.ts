import { getJson, postJson } from "./request";
import type { Schema } from "../schema";

export interface RunRow {
  run_id: string;
  workflow: string;
  version_no: number;
  state_code: string;
  rollup_state_code: string;
  open_count: number;
  mandatory_count: number;
  completed_count: number;
  skipped_count: number;
  failed_count: number;
  trigger_ref: string | null;
  started_by: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  deadline_at: string | null;
  labels?: Record<string, string>;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface WorkflowRow {
  name: string;
  title: string | null;
  version_no: number;
  version_count: number;
  step_count: number;
  published_at: string;
  published_by: string;
  input_schema: Schema | null;
}

export interface VersionRow {
  version_no: number;
  step_count: number;
  graph_hash: string;
  published_at: string;
  published_by: string;
}

export interface SavedView {
  view_id: number;
  name: string;
  filter: Record<string, string>;
  shared: boolean;
  owner: string;
  is_mine: boolean;
}

export const runFilters = ["workflow", "state", "colour", "key", "label", "started_after", "started_before"] as const;
export type RunFilter = Partial<Record<(typeof runFilters)[number], string>>;
export const pageSize = 100;

function withCursor(path: string, query: Record<string, string>, cursor: string | null): string {
  const parts = new URLSearchParams({ ...query, limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
  return `${path}?${parts}`;
}

export function readRuns(filter: RunFilter, cursor: string | null, signal?: AbortSignal): Promise<Page<RunRow>> {
  return getJson<Page<RunRow>>(withCursor("/runs", filter, cursor), signal);
}

export function readWorkflows(cursor: string | null, signal?: AbortSignal): Promise<Page<WorkflowRow>> {
  return getJson<Page<WorkflowRow>>(withCursor("/workflows", {}, cursor), signal);
}

export function readWorkflow(name: string, signal?: AbortSignal): Promise<WorkflowRow> {
  return getJson<WorkflowRow>(`/workflows/${encodeURIComponent(name)}`, signal);
}

export function readVersions(name: string, signal?: AbortSignal): Promise<Page<VersionRow>> {
  return getJson<Page<VersionRow>>(`/workflows/${encodeURIComponent(name)}/versions?limit=50`, signal);
}

export function readViews(signal?: AbortSignal): Promise<{ items: SavedView[] }> {
  return getJson<{ items: SavedView[] }>("/views?page=runs", signal);
}

export function saveView(name: string, filter: RunFilter, shared: boolean): Promise<SavedView> {
  return postJson<SavedView>("/views", { name, page: "runs", filter, columns: [], shared });
}

export function startRun(workflow: string, input: Record<string, unknown>, key: string): Promise<{ run_id: string }> {
  return postJson<{ run_id: string }>("/runs", { workflow, input, ...(key === "" ? {} : { key }) });
}
