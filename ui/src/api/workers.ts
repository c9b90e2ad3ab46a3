import { getJson, postJson } from "./request";
import type { Page } from "./lists";
import type { Answer, Schemas } from "./types";

export type Worker = Schemas["WorkerView"];
export type Executor = Schemas["ExecutorView"];
export type Summary = Schemas["SummaryView"];
export type SummaryEvent = Answer<"list_summary_events">[number];

export const workersShown = 200;

export function readWorkers(withClosed: boolean, signal?: AbortSignal): Promise<Page<Worker>> {
  return getJson<Page<Worker>>(`/workers?limit=${workersShown}${withClosed ? "&closed=true" : ""}`, signal);
}

export function readWorker(id: string, signal?: AbortSignal): Promise<Worker> {
  return getJson<Worker>(`/workers/${encodeURIComponent(id)}`, signal);
}

export function readExecutors(signal?: AbortSignal): Promise<Executor[]> {
  return getJson<Executor[]>("/executors", signal);
}

type SaidAbout = "worker" | "executor" | "problem";

/** The sentences about one worker, executor or problem, the newest first. */
export function readSaidOf(kind: SaidAbout, subject: string, signal?: AbortSignal): Promise<Summary[]> {
  return getJson<Page<Summary>>(`/summaries?kind=${kind}&subject=${encodeURIComponent(subject)}`, signal).then((page) => page.items);
}

/** The newest sentences about all of a kind. */
export function readSaid(kind: SaidAbout, signal?: AbortSignal): Promise<Summary[]> {
  return getJson<Page<Summary>>(`/summaries?kind=${kind}&limit=${workersShown}`, signal).then((page) => page.items);
}

export function readSummaryEvents(id: string, signal?: AbortSignal): Promise<SummaryEvent[]> {
  return getJson<SummaryEvent[]>(`/summaries/${encodeURIComponent(id)}/events`, signal);
}

export type WorkerCall = "freeze" | "unfreeze" | "drain" | "undrain";

export function tellWorker(id: string, call: WorkerCall, reason: string): Promise<Worker> {
  return postJson<Worker>(`/workers/${encodeURIComponent(id)}/${call}`, { reason });
}

export function tellExecutor(name: string, call: "freeze" | "unfreeze", reason: string): Promise<Executor> {
  return postJson<Executor>(`/executors/${encodeURIComponent(name)}/${call}`, { reason });
}
