/** The lag of one pair over time as lines of a chart whose height is logarithmic: a lag of seconds and one of hours are both seen. */
export interface LagPoint {
  at: string;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
}

export interface LagLine {
  name: "p50" | "p95" | "p99";
  /** Points of polylines: a time without events is a gap. */
  parts: string[];
}

export interface LagChart {
  lines: LagLine[];
  /** Where the threshold of p99 stands. */
  threshold: number;
  marks: { ms: number; y: number }[];
}

const names = ["p50", "p95", "p99"] as const;
const steps = [1, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000];

export function lagChart(points: LagPoint[], thresholdMs: number, begin: number, end: number, width: number, height: number): LagChart {
  const values = points.flatMap((point) => names.map((name) => point[`${name}_ms`]));
  const least = steps.filter((step) => step <= Math.min(thresholdMs, ...values)).at(-1) ?? 1;
  const most = steps.find((step) => step >= Math.max(thresholdMs, ...values)) ?? Math.max(thresholdMs, ...values);
  const span = Math.max(Math.log(most) - Math.log(least), 1);
  const x = (at: string): string => (((Date.parse(at) - begin) / (end - begin)) * width).toFixed(1);
  const y = (ms: number): number => Number((height - ((Math.log(Math.max(ms, least)) - Math.log(least)) / span) * height).toFixed(1));
  const lines = names.map((name) => ({ name, parts: parts(points).map((part) => line(part.map((point) => [x(point.at), y(point[`${name}_ms`])]))) }));
  return { lines, threshold: y(thresholdMs), marks: steps.filter((step) => step >= least && step <= most).map((ms) => ({ ms, y: y(ms) })) };
}

/** Points that follow each other without a gap; the shortest distance is that of the server. */
function parts(points: LagPoint[]): LagPoint[][] {
  const found: LagPoint[][] = [];
  const distances = points.slice(1).map((point, at) => Date.parse(point.at) - Date.parse(points[at]?.at ?? point.at));
  const shortest = Math.min(...distances);
  points.forEach((point, at) => {
    const last = found.at(-1);
    if (last && (distances[at - 1] ?? 0) <= shortest * 1.5) last.push(point);
    else found.push([point]);
  });
  return found;
}

/** A single point is a short line, so that it is seen. */
function line(places: [string, number][]): string {
  const [first] = places;
  const drawn = places.length === 1 && first ? [[(Number(first[0]) - 2).toFixed(1), first[1]], [(Number(first[0]) + 2).toFixed(1), first[1]]] : places;
  return drawn.map(([x, y]) => `${x},${y}`).join(" ");
}
