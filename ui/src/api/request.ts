import { offlineProblem, Problem, problemFrom } from "./problem";

export type { Problem } from "./problem";

const timeoutMilliseconds = 15_000;
const notSignedIn = "urn:stepwell:problem:not-signed-in";

let csrfToken: string | null = null;
let tellSignedOut = (): void => {};

/** What the server wants to see with each change, so that no page of another site can make one. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Called when the server answers that nobody is signed in. */
export function onSignedOut(tell: () => void): void {
  tellSignedOut = tell;
}

/** Every failure is a `Problem`, also a missing network. */
async function requestJson<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
  const limits = [AbortSignal.timeout(timeoutMilliseconds)];
  if (signal) limits.push(signal);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`/api/v1${path}`, { ...init, signal: AbortSignal.any(limits) });
    body = response.status === 204 ? null : await response.json();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw offlineProblem();
  }
  if (response.ok) return body as T;
  const problem = problemFrom(response.status, body);
  if (problem.details.type === notSignedIn) tellSignedOut();
  throw problem;
}

/** Reads one resource. */
export function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return requestJson<T>(path, { headers: { Accept: "application/json" } }, signal);
}

/** Changes something. Without an answer it is unknown whether the change arrived. */
export function sendJson<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrfToken) headers["X-CSRF-Token"] = csrfToken;
  return requestJson<T>(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
}

/** Makes something new, or asks for an action. */
export function postJson<T>(path: string, body: unknown): Promise<T> {
  return sendJson<T>("POST", path, body);
}

export function asProblem(cause: unknown): Problem {
  return cause instanceof Problem ? cause : offlineProblem();
}
