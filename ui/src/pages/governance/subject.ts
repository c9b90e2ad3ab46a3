import type { Subject } from "../../api/governance";

const placeBits = 20n;

/** The page on which a category is mended; null where that is its own list. */
export function mendedOn(category: string): string | null {
  const pages: Record<string, string> = { dead_letter: "/governance/dead-letters", event_lag: "/governance/lag", silent_worker: "/workers" };
  return pages[category] ?? null;
}

/** By what the events of a subject are found; null when it has none of its own. */
export function timelineOf(subject: Subject): Record<string, string> | null {
  if (subject.trace_id) return { trace: subject.trace_id };
  if (subject.run_id) return { run: subject.run_id };
  if (subject.unit_id) return { unit: subject.unit_id };
  if (subject.actor) return { actor: subject.actor };
  return subject.event_type ? { type: subject.event_type } : null;
}

/** The number of the step in its run; null when the subject is a run, a job or no unit. */
export function stepOf(subject: Pick<Subject, "run_id" | "unit_id">): number | null {
  if (!subject.run_id || !subject.unit_id) return null;
  const no = Number(BigInt(subject.unit_id) & ((1n << placeBits) - 1n));
  return no === 0 ? null : no;
}

/** The page of the step or run that a subject is about. */
export function placeOf(subject: Subject): string | null {
  if (!subject.run_id) return null;
  const no = stepOf(subject);
  return no === null ? `/runs/${subject.run_id}` : `/runs/${subject.run_id}?step=${no}`;
}
