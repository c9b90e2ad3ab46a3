// What a step shows: receives its definition and its state, returns words, colour, icon and marks.

import type { Layout } from "../api/runs";
import { formatDuration } from "../format";
import { stateFace, type Face } from "../registry/registry";
import { tokenName } from "../registry/paint";
import { wordIn } from "../registry/words";
import type { StepState } from "./steps";

/** The definition of a step, from the columns of the layout. */
export interface StepDef {
  no: number;
  id: string;
  kind: string;
  label: string;
  mandatory: boolean;
  role: string | null;
  operation: string | null;
  executor: string | null;
  workflow: string | null;
  scope: number;
  branch: number | null;
  milestone: string | null;
  /** Whether it begins after any of its parents; others begin after all of them. */
  joinsAny: boolean;
  /** The name and the labels of the content that it shows, for people who look for it. */
  content: string;
}

export interface StatePart {
  tone: string;
  icon: string;
  label: string;
  count: number;
}

export interface NodeFace extends BoxFace {
  no: number;
  kind: string;
  title: string;
  word: string;
  /** Beside the word in the second line: how long, until when. */
  more: string;
  aria: string;
  parts: StatePart[] | null;
  milestone: string | null;
  change: string | undefined;
}

export function stepDefs(layout: Layout): Map<number, StepDef> {
  const { steps } = layout;
  return new Map(
    steps.no.map((no, at) => [
      no,
      {
        no,
        id: steps.id[at] ?? "",
        kind: steps.kind[at] ?? "",
        label: steps.title[at] ?? steps.id[at] ?? "",
        mandatory: steps.mandatory[at] ?? true,
        role: steps.role[at] ?? null,
        operation: steps.operation[at] ?? null,
        executor: steps.executor[at] ?? null,
        workflow: steps.workflow[at] ?? null,
        scope: steps.scope[at] ?? 0,
        branch: steps.branch[at] ?? null,
        milestone: steps.milestone[at] ?? null,
        joinsAny: layout.joins[no] === "any",
        content: contentOf(layout, steps.content[at] ?? null),
      },
    ]),
  );
}

function contentOf(layout: Layout, name: string | null): string {
  return name === null ? "" : [name, ...(layout.content_labels?.[name] ?? [])].join(" ");
}

/** The steps whose id, name, milestone or content has these words; letters without their marks are found too. */
export function hitsOf(defs: Iterable<StepDef>, words: string): number[] {
  const wanted = plain(words.trim());
  if (wanted === "") return [];
  return [...defs].filter((def) => plain(`${def.id} ${def.label} ${def.milestone ?? ""} ${def.content}`).includes(wanted)).map((def) => def.no);
}

/** The same steps as boxes of this scope: what is in the body of a map is found at the map. */
export function inScope(nos: readonly number[], defs: ReadonlyMap<number, StepDef>, scope: number): number[] {
  const boxes = nos.flatMap((no) => {
    let at = defs.get(no);
    while (at && at.scope !== scope && at.scope !== 0) at = defs.get(at.scope);
    return at && at.scope === scope ? [at.no] : [];
  });
  return [...new Set(boxes)];
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{Diacritic}/gu, "").replace(/[đĐ]/g, "d").toLowerCase();
}

export function toneOfStep(step: StepState): string {
  return step.colour === null ? stateFace("step", step.state).tone : tokenName(`ui.traffic_light.${step.colour}`);
}

/** How many of these steps are in each state, in the order of the registry; those that ended well first. */
export function countStates(steps: readonly StepState[], locale: string): StatePart[] {
  const counts = new Map<string, number>();
  for (const step of steps) counts.set(step.state, (counts.get(step.state) ?? 0) + 1);
  return [...counts]
    .map(([code, count]) => ({ face: stateFace("step", code), count }))
    .sort((a, b) => rank(a.face) - rank(b.face))
    .map(({ face, count }) => ({ tone: face.tone, icon: face.icon, label: wordIn(face.label, locale), count }));
}

function rank(face: Face): number {
  if (face.semanticClass === "active") return face.isTerminal ? 0 : 20 - face.ordinal;
  return { wait: 30, red: 40, idle: 60 }[face.semanticClass] ?? 50;
}

/** A step of this state needs somebody: it waits, stands still or went wrong, and has not ended for good. */
export function standsStill(face: Face): boolean {
  return !face.isTerminal && (face.semanticClass === "wait" || face.semanticClass === "red");
}

export interface Marks {
  critical: ReadonlySet<number>;
  behind: ReadonlySet<number>;
  hits: ReadonlySet<number>;
  /** What differs from another version. */
  changes?: ReadonlyMap<number, string> | undefined;
}

/** What is seen of a step from afar: no words. */
export interface BoxFace {
  tone: string;
  icon: string;
  isDone: boolean;
  isSkipped: boolean;
  isCritical: boolean;
  isBehind: boolean;
  isHit: boolean;
}

export function boxFace(no: number, step: StepState | undefined, marks: Marks): BoxFace {
  const face = step ? stateFace("step", step.state) : null;
  return {
    tone: step ? toneOfStep(step) : "",
    icon: face?.icon ?? "",
    isDone: face !== null && face.isTerminal && face.semanticClass === "active",
    isSkipped: face !== null && face.isTerminal && face.semanticClass === "idle",
    isCritical: marks.critical.has(no),
    isBehind: marks.behind.has(no),
    isHit: marks.hits.has(no),
  };
}

export function nodeFace(
  def: StepDef, step: StepState | undefined, parts: StatePart[] | null, marks: Marks, elapsed: number, locale: string,
): NodeFace {
  const face = step ? stateFace("step", step.state) : null;
  // A definition has no states: there a milestone stands in the second line.
  const word = face ? wordIn(face.label, locale) : (def.milestone ?? def.role ?? def.operation ?? def.kind);
  const more = step && face ? durationOf(step, face, elapsed, locale) : "";
  return {
    no: def.no,
    kind: def.kind,
    title: def.label,
    ...boxFace(def.no, step, marks),
    word,
    more,
    aria: [def.label, word, more, face ? def.milestone : null, ...(parts ?? []).map((part) => `${part.count} ${part.label}`)].filter(Boolean).join(", "),
    parts,
    milestone: def.milestone,
    change: marks.changes?.get(def.no),
  };
}

function durationOf(step: StepState, face: Face, elapsed: number, locale: string): string {
  if (step.started === null || face.semanticClass === "idle") return "";
  return formatDuration((step.ended ?? Math.max(elapsed, step.started)) - step.started, locale);
}

export interface Trouble {
  no: number;
  number: number;
  step: StepState;
}

/** What stands still, worst first, each with the number of its plate. Steps of a map stand for their map. */
export function troublesOf(steps: Iterable<StepState>): Trouble[] {
  return [...steps]
    .filter((step) => standsStill(stateFace("step", step.state)))
    .sort((a, b) => badness(b) - badness(a) || a.no - b.no)
    .map((step, at) => ({ no: step.no, number: at + 1, step }));
}

function badness(step: StepState): number {
  const face = stateFace("step", step.state);
  const isRed = step.colour === null ? face.semanticClass === "red" : step.colour.startsWith("red");
  return (isRed ? 1000 : 0) + (step.escalated ? 100 : 0) + face.ordinal;
}
