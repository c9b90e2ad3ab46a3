import { getJson, sendJson } from "./request";
import type { Answer, Body, Schemas } from "./types";

export type Approval = Answer<"show_approval">;
export type StateFace = Schemas["StateView"];
export type Vote = Approval["votes"][number];
export type Subject = Schemas["SubjectView"];
/** The proposed action on another system, or the change of the rules. Every member may be missing. */
export type About = NonNullable<Approval["about"]>;
export type Rule = NonNullable<Schemas["RuleDiff"]["added"]>[number];
export type Decision = Body<"decide_approval">;

export const listLimit = 200;

export function readApprovals(state: string | null, signal?: AbortSignal): Promise<Approval[]> {
  const query = new URLSearchParams({ limit: String(listLimit) });
  if (state) query.set("state", state);
  return getJson<Answer<"list_approvals">>(`/approvals?${query}`, signal).then((page) => page.items);
}

export function readApproval(id: string, signal?: AbortSignal): Promise<Approval> {
  return getJson<Approval>(`/approvals/${encodeURIComponent(id)}`, signal);
}

export function decideApproval(id: string, decision: Decision): Promise<Approval> {
  return sendJson<Approval>("POST", `/approvals/${encodeURIComponent(id)}/decisions`, decision);
}
