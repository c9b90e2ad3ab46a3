// The time scale of a timeline: receives what the server measured, returns places, rows and ticks.

import type { Timeline } from "../../api/time";

export type Fold = [from: number, to: number, drawnFrom: number, drawnTo: number];

/** The folds of the server, or one part without folds. */
export function folds(timeline: Timeline, folded: boolean): Fold[] {
  if (folded && timeline.scale.length > 0) return timeline.scale;
  const ends = timeline.scale.map(([, to]) => to);
  const whole = Math.max(1, ...ends, new Date(timeline.to).getTime() - new Date(timeline.from).getTime());
  return [[0, whole, 0, whole]];
}

/** Where a moment is drawn; what is after the last fold is drawn at its own scale. */
export function toDrawn(scale: readonly Fold[], milliseconds: number): number {
  for (const [from, to, drawnFrom, drawnTo] of scale)
    if (milliseconds <= to) return drawnFrom + ((Math.max(milliseconds, from) - from) / Math.max(1, to - from)) * (drawnTo - drawnFrom);
  return scale.at(-1)?.[3] ?? 0;
}

/** Which moment is drawn here. */
export function fromDrawn(scale: readonly Fold[], drawn: number): number {
  for (const [from, to, drawnFrom, drawnTo] of scale)
    if (drawn <= drawnTo) return from + ((Math.max(drawn, drawnFrom) - drawnFrom) / Math.max(1, drawnTo - drawnFrom)) * (to - from);
  return scale.at(-1)?.[1] ?? 0;
}

export interface Part {
  kind: string;
  attempt: number;
  from: number;
  to: number;
}

/** What each step did, by its number; what has not ended lasts until now. */
export function partsOf(timeline: Timeline): Map<number, Part[]> {
  const now = new Date(timeline.now).getTime() - new Date(timeline.from).getTime();
  const parts = new Map<number, Part[]>();
  const { segments } = timeline;
  segments.no.forEach((no, at) => {
    const list = parts.get(no) ?? [];
    list.push({
      kind: timeline.kinds[segments.kind[at] ?? 0] ?? "working",
      attempt: segments.attempt[at] ?? 1,
      from: segments.from[at] ?? 0,
      to: segments.to[at] ?? now,
    });
    parts.set(no, list);
  });
  return parts;
}

/** Groups in the order of the server, each with its steps in the order in which they began. */
export function groupsOf(timeline: Timeline, parts: ReadonlyMap<number, Part[]>): [group: string, nos: number[]][] {
  const begins = (no: number) => parts.get(no)?.[0]?.from ?? timeline.expected?.[no]?.[0] ?? Number.POSITIVE_INFINITY;
  return Object.entries(timeline.groups).map(([group, nos]) => [
    group,
    nos.filter((no) => begins(no) !== Number.POSITIVE_INFINITY).sort((a, b) => begins(a) - begins(b) || a - b),
  ]);
}

export type Span = [from: number, to: number];

/** The window of an address, within the whole; null: nothing or nonsense was given. */
export function readSpan(text: string | null, whole: number): Span | null {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "");
  const [from, to] = [Number(found?.[1]), Math.min(whole, Number(found?.[2]))];
  return found && to - from >= 1 && !(from === 0 && to === whole) ? [from, to] : null;
}

/** A part of the drawing, as shares of it from 0 to 1, as moments. */
export function spanOf(scale: readonly Fold[], from: number, to: number): Span {
  const whole = scale.at(-1)?.[3] ?? 1;
  const inside = (share: number) => Math.round(fromDrawn(scale, Math.min(1, Math.max(0, share)) * whole));
  return [inside(from), inside(to)];
}

const tickSizes = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800, 2_592_000].map((s) => s * 1000);
const ticksWanted = 9;
const lettersInTick = 10;

/** Round moments of a window, each at least a twelfth of the drawn width after the one before, and further after a long text. */
export function ticksOf(timeline: Timeline, scale: readonly Fold[], locale: string, [first, end]: Span): { at: number; text: string }[] {
  const whole = Math.max(1, toDrawn(scale, end) - toDrawn(scale, first));
  const size = tickSizes.find((one) => whole / one <= ticksWanted) ?? whole / ticksWanted;
  const begin = new Date(timeline.from).getTime();
  const found: { at: number; text: string }[] = [];
  let free = Number.NEGATIVE_INFINITY;
  let day = "";
  for (let at = Math.ceil((begin + first) / size) * size - begin, count = 0; at <= end && count < 5_000; at += size, count += 1) {
    const drawn = toDrawn(scale, at);
    if (drawn < free) continue;
    const date = new Date(begin + at);
    const today = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric" }).format(date);
    const time = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(size < 60_000 ? { second: "2-digit" } : {}) }).format(date);
    const text = today === day ? time : `${today} ${time}`;
    found.push({ at, text });
    free = drawn + (whole / (ticksWanted + 3)) * Math.max(1, text.length / lettersInTick);
    day = today;
  }
  return found;
}
