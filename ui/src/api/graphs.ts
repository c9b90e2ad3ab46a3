import { pageSize, type Page } from "./lists";
import { getJson, postJson } from "./request";
import type { Answer, Schemas } from "./types";

export type { Page };
export type GraphRow = Schemas["JobWorkflowView"];
export const graphStatuses = ["active", "succeeded", "failed", "partially_failed", "cancelled"] as const;

export function readGraphs(filter: Record<string, string>, cursor: string | null, signal?: AbortSignal): Promise<Page<GraphRow>> {
  const given = Object.entries(filter).filter(([, text]) => text !== "");
  const parts = new URLSearchParams({ ...Object.fromEntries(given), limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
  return getJson<Page<GraphRow>>(`/graphs?${parts}`, signal);
}

export function readTemplates(signal?: AbortSignal): Promise<Answer<"list_graph_templates">> {
  return getJson<Answer<"list_graph_templates">>("/graph-templates", signal);
}

export function retryGraph(id: string): Promise<Answer<"retry_graph">> {
  return postJson<Answer<"retry_graph">>(`/graphs/${id}/retry`, {});
}
