import type { Schemas } from "./types";

/** The error document of the server (RFC 9457), or our own if there was no answer. */
export type ProblemDetails = Schemas["Problem"];

export class Problem extends Error {
  constructor(readonly details: ProblemDetails) {
    super(details.detail ?? details.title);
    this.name = "Problem";
  }

  /** True if there was no answer; false if the server refused. */
  get isOffline(): boolean {
    return this.details.status === 0;
  }
}

function isProblem(body: unknown): body is ProblemDetails {
  return typeof body === "object" && body !== null && "title" in body && "status" in body;
}

export function problemFrom(status: number, body: unknown): Problem {
  if (isProblem(body)) return new Problem(body);
  return new Problem({ type: "about:blank", title: `HTTP ${status}`, status });
}

export function offlineProblem(): Problem {
  return new Problem({ type: "about:blank", title: "No answer", status: 0 });
}
