// The steps of a run in memory: receives the columns of a snapshot or of changes, returns one value for each step.

import type { StepsPart } from "../api/runs";

export interface StepState {
  no: number;
  def: number;
  state: string;
  facets: string[];
  /** Milliseconds after the run was created. */
  started: number | null;
  ended: number | null;
  pic: string | null;
  mapNo: number | null;
  item: number | null;
  attempt: [attempt: number, most: number] | null;
  deadline: string | null;
  overdue: boolean;
  escalated: boolean;
  late: boolean;
  nextAt: string | null;
  child: number | null;
  pin: [name: string, version: number] | null;
  failure: string | null;
  approval: string | null;
  progress: { done: number; total: number | null } | null;
  /** The colour that the server gives this step instead of the one of its state. */
  colour: string | null;
}

export type StepStates = Map<number, StepState>;

export function decodeSteps(part: StepsPart): StepState[] {
  const { steps } = part;
  const [overdue, escalated, late] = [part.overdue, part.escalated, part.late].map((list) => new Set(list ?? []));
  return steps.no.map((no, at) => {
    const facet = steps.facet?.[at] ?? null;
    const pic = steps.pic?.[at] ?? null;
    const item = part.items?.[no];
    return {
      no,
      def: steps.def[at] ?? no,
      state: part.states[steps.state[at] ?? -1] ?? "",
      facets: part.facets_more?.[no] ?? (facet === null ? [] : [part.facets[facet] ?? ""]),
      started: steps.started?.[at] ?? null,
      ended: steps.ended?.[at] ?? null,
      pic: pic === null ? null : (part.people[pic] ?? null),
      mapNo: item?.[0] ?? null,
      item: item?.[1] ?? null,
      attempt: part.attempts?.[no] ?? null,
      deadline: part.deadlines?.[no] ?? null,
      overdue: overdue?.has(no) ?? false,
      escalated: escalated?.has(no) ?? false,
      late: late?.has(no) ?? false,
      nextAt: part.next_at?.[no] ?? null,
      child: part.children?.[no] ?? null,
      pin: part.pins?.[no] ?? null,
      failure: part.failures?.[no] ?? null,
      approval: part.approvals?.[no] ?? null,
      progress: part.progress?.[no] ?? null,
      // The server lists the blocked steps whose severity is red.
      colour: escalated?.has(no) ? "red" : null,
    };
  });
}

export function stepStates(part: StepsPart): StepStates {
  return new Map(decodeSteps(part).map((step) => [step.no, step]));
}

/** A listed step replaces the one before as a whole: what it no longer has is gone. The given map stays. */
export function withChanges(before: StepStates, part: StepsPart): StepStates {
  const after = new Map(before);
  for (const step of decodeSteps(part)) after.set(step.no, step);
  return after;
}
