import { getJson, sendJson } from "./request";

/** Labels, colour and icon of a state, from the registry. */
export interface StateFace {
  label_en: string;
  label_vi: string;
  color_token: string;
  icon_token: string;
}

export interface Vote {
  voter: string;
  decision: "approve" | "reject";
  reason: string | null;
  voted_at: string;
}

export interface Subject {
  scope: string;
  /** Id of a step or task, operation of a job. */
  name: string | null;
  workflow: string | null;
}

export type Rule = Record<string, unknown>;

/** The proposed action on another system, or the change of the rules. Every member may be missing. */
export interface About {
  connector?: string;
  operation?: string;
  target?: string | null;
  fields?: unknown;
  reversible?: boolean;
  reverses?: number | null;
  rule?: string | null;
  policy_version?: number | null;
  kind?: string;
  diff?: { added?: Rule[]; removed?: Rule[]; changed?: { old: Rule; new: Rule }[] };
}

export interface Approval {
  approval_id: string;
  state_code: string;
  state: StateFace | null;
  subject: Subject | null;
  action: string;
  /** null if the subject belongs to no run */
  run_id: string | null;
  tier: number;
  quorum: number;
  approve_count: number;
  votes: Vote[];
  requested_by: string;
  reason: string | null;
  requested_at: string;
  expires_at: string;
  decided_at: string | null;
  decided_by: string | null;
  acting: string | null;
  approvers: string[] | null;
  approver_role: string | null;
  about: About | null;
  /** The digest of what is shown; a decision sends it back. */
  shown_digest: string;
}

export interface Decision {
  decision: Vote["decision"];
  reason: string | null;
  shown_digest: string;
}

export const listLimit = 200;

export function readApprovals(state: string | null, signal?: AbortSignal): Promise<Approval[]> {
  const query = new URLSearchParams({ limit: String(listLimit) });
  if (state) query.set("state", state);
  return getJson<{ items: Approval[] }>(`/approvals?${query}`, signal).then((page) => page.items);
}

export function readApproval(id: string, signal?: AbortSignal): Promise<Approval> {
  return getJson<Approval>(`/approvals/${encodeURIComponent(id)}`, signal);
}

export function decideApproval(id: string, decision: Decision): Promise<Approval> {
  return sendJson<Approval>("POST", `/approvals/${encodeURIComponent(id)}/decisions`, decision);
}
