/** What the server says when it refuses (RFC 9457), or what we say when there was no answer at all. */
export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  detail?: string;
  hint?: string;
  request_id?: string;
}

export class Problem extends Error {
  constructor(readonly details: ProblemDetails) {
    super(details.detail ?? details.title);
    this.name = "Problem";
  }

  /** No answer, as opposed to an answer that says no. */
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
