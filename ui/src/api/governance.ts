import { getJson, postJson } from "./request";
import type { Page } from "./lists";
import type { Answer, Schemas } from "./types";

export type Category = Schemas["GovernanceCount"];
export type Subject = Schemas["GovernanceSubject"];
export type Lag = Schemas["EventLag"];
export type LagPoint = Schemas["EventLagPoint"];
export type EventRow = Answer<"list_events">["items"][number];

export function readCategories(signal?: AbortSignal): Promise<Category[]> {
  return getJson<Category[]>("/governance", signal);
}

export function readSubjects(category: string, cursor: string | null, signal?: AbortSignal): Promise<Page<Subject>> {
  const query = new URLSearchParams({ limit: "50", ...(cursor === null ? {} : { cursor }) });
  return getJson<Page<Subject>>(`/governance/categories/${encodeURIComponent(category)}?${query}`, signal);
}

export function readTimeline(by: Record<string, string>, cursor: string | null, signal?: AbortSignal): Promise<Page<EventRow>> {
  const query = new URLSearchParams({ ...by, limit: "50", ...(cursor === null ? {} : { cursor }) });
  return getJson<Page<EventRow>>(`/events?${query}`, signal);
}

/** The newest events of a unit or run, few. */
export function readLastEvents(by: Record<string, string>, signal?: AbortSignal): Promise<EventRow[]> {
  return getJson<Page<EventRow>>(`/events?${new URLSearchParams({ ...by, limit: "3" })}`, signal).then((page) => page.items);
}

export function readLag(seconds: number, signal?: AbortSignal): Promise<Lag[]> {
  return getJson<Lag[]>(`/governance/lag?window=${seconds}`, signal);
}

export function readLagTrend(producer: string, consumer: string, seconds: number, signal?: AbortSignal): Promise<LagPoint[]> {
  return getJson<LagPoint[]>(`/governance/lag/trend?${new URLSearchParams({ producer, consumer, window: String(seconds) })}`, signal);
}

export function closeProblem(id: string, reason: string): Promise<unknown> {
  return postJson(`/problems/${encodeURIComponent(id)}/close`, { reason });
}
