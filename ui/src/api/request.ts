import { offlineProblem, Problem, problemFrom } from "./problem";

const timeoutMilliseconds = 15_000;

/** Every failure is a `Problem`, also a missing network. */
async function requestJson<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
  const limits = [AbortSignal.timeout(timeoutMilliseconds)];
  if (signal) limits.push(signal);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`/api/v1${path}`, { ...init, signal: AbortSignal.any(limits) });
    body = await response.json();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw offlineProblem();
  }
  if (!response.ok) throw problemFrom(response.status, body);
  return body as T;
}

/** Reads one resource. */
export function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return requestJson<T>(path, { headers: { Accept: "application/json" } }, signal);
}

/** Sends a decision of a person. Without an answer it is unknown whether it arrived. */
export function postJson<T>(path: string, body: unknown): Promise<T> {
  return requestJson<T>(path, {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

export function asProblem(cause: unknown): Problem {
  return cause instanceof Problem ? cause : offlineProblem();
}
