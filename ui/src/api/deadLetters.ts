import { getJson, postJson } from "./request";
import type { Page } from "./lists";
import type { Answer, Body, Schemas } from "./types";

export type DeadLetter = Schemas["DeadLetterView"];
export type DeadLetterBody = Answer<"show_dead_letter">;
export type Cause = Schemas["CauseView"];
export type Rehearsal = Answer<"rehearse_replay">;
export type Plan = Answer<"show_replay">;
export type LetterFilter = NonNullable<Body<"propose_replay">["filter"]>;

export const lettersShown = 200;

export function readLetters(isOpen: boolean, signal?: AbortSignal): Promise<Page<DeadLetter>> {
  return getJson<Page<DeadLetter>>(`/dead-letters?limit=${lettersShown}${isOpen ? "" : "&resolved=true"}`, signal);
}

export function readLetter(id: string, signal?: AbortSignal): Promise<DeadLetterBody> {
  return getJson<DeadLetterBody>(`/dead-letters/${encodeURIComponent(id)}`, signal);
}

export function readCauses(signal?: AbortSignal): Promise<Cause[]> {
  return getJson<Cause[]>("/dead-letters/causes", signal);
}

export function rehearse(filter: LetterFilter, signal?: AbortSignal): Promise<Rehearsal> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (Array.isArray(value)) for (const unit of value) query.append("unit", unit);
    else if (typeof value === "string") query.set(name, value);
  }
  return getJson<Rehearsal>(`/dead-letters/rehearsal?${query}`, signal);
}

export function readPlans(signal?: AbortSignal): Promise<Plan[]> {
  return getJson<Page<Plan>>("/replays?limit=20", signal).then((page) => page.items);
}

export function proposeReplay(filter: LetterFilter, reason: string): Promise<Answer<"propose_replay">> {
  return postJson<Answer<"propose_replay">>("/replays", { filter, reason });
}

export function stopPlan(id: string, reason: string): Promise<Plan> {
  return postJson<Plan>(`/replays/${encodeURIComponent(id)}/stop`, { reason });
}
