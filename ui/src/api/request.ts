import { offlineProblem, Problem, problemFrom } from "./problem";

const timeoutMilliseconds = 15_000;

/** Reads one resource. Every failure, also the missing network, arrives as a `Problem`. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const limits = [AbortSignal.timeout(timeoutMilliseconds)];
  if (signal) limits.push(signal);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`/api/v1${path}`, {
      headers: { Accept: "application/json" },
      signal: AbortSignal.any(limits),
    });
    body = await response.json();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw offlineProblem();
  }
  if (!response.ok) throw problemFrom(response.status, body);
  return body as T;
}

export function asProblem(cause: unknown): Problem {
  return cause instanceof Problem ? cause : offlineProblem();
}
