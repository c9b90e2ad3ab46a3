import { postJson, sendJson } from "./request";
import type { Answer } from "./types";

export type Cut = Answer<"retry_cut">;

export function retryCut(id: string): Promise<Cut> {
  return sendJson<Cut>("POST", `/cuts/${encodeURIComponent(id)}/retry`);
}

export function cancelCut(id: string, reason: string): Promise<Cut> {
  return postJson<Cut>(`/cuts/${encodeURIComponent(id)}/cancel`, { reason });
}
