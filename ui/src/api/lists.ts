import { getJson, postJson } from "./request";
import type { Answer, Schemas } from "./types";

export type RunRow = Schemas["RunView"];
export type WorkflowRow = Schemas["WorkflowView"];
export type VersionRow = Schemas["VersionView"];
export type SavedView = Schemas["ViewShown"];

export interface Page<T> {
  items: T[];
  next: string | null;
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

export function readViews(signal?: AbortSignal): Promise<Answer<"list_views">> {
  return getJson<Answer<"list_views">>("/views?page=runs", signal);
}

export function saveView(name: string, filter: RunFilter, shared: boolean): Promise<SavedView> {
  return postJson<SavedView>("/views", { name, page: "runs", filter, columns: [], shared });
}

export function startRun(workflow: string, input: Record<string, unknown>, key: string): Promise<Answer<"start_run">> {
  return postJson<Answer<"start_run">>("/runs", { workflow, input, ...(key === "" ? {} : { key }) });
}
