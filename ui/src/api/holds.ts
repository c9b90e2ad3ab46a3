import { getJson, postJson } from "./request";
import type { Page } from "./lists";
import type { Answer, Body, Schemas } from "./types";

export type Hold = Schemas["HoldView"];
export type HoldReach = Answer<"show_hold_reach">;
export type HoldKind = Body<"open_hold">["scope_kind"];
export type Share = Body<"release_hold">["share"];

export const holdKinds: readonly HoldKind[] = ["operation", "connector", "workflow", "person", "tenant"];

export function readOpenHolds(signal?: AbortSignal): Promise<Hold[]> {
  return getJson<Page<Hold>>("/holds?limit=20", signal).then((page) => page.items);
}

export function readHolds(signal?: AbortSignal): Promise<Hold[]> {
  return getJson<Page<Hold>>("/holds?ended=true&limit=20", signal).then((page) => page.items);
}

export function readReach(kind: HoldKind, value: string, signal?: AbortSignal): Promise<HoldReach> {
  return getJson<HoldReach>(`/holds/reach?${new URLSearchParams({ scope_kind: kind, scope_value: value })}`, signal);
}

export function openHold(kind: HoldKind, value: string, reason: string): Promise<Answer<"open_hold">> {
  return postJson<Answer<"open_hold">>("/holds", { scope_kind: kind, scope_value: value, reason });
}

export function releaseHold(id: string, share: Share, reason: string): Promise<Hold> {
  return postJson<Hold>(`/holds/${encodeURIComponent(id)}/release`, { share, reason });
}

export function readEvidence(id: string): Promise<Answer<"show_hold_evidence">> {
  return getJson<Answer<"show_hold_evidence">>(`/holds/${encodeURIComponent(id)}/evidence`);
}
