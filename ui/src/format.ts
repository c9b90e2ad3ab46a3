// Numbers, sizes and times in the language of the page.

const kibibyte = 1024;
const byteUnits = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function formatBytes(bytes: number, locale: string): string {
  let value = bytes;
  let unit = 0;
  while (value >= kibibyte && unit < byteUnits.length - 1) {
    value /= kibibyte;
    unit += 1;
  }
  return new Intl.NumberFormat(locale, {
    style: "unit",
    unit: byteUnits[unit] ?? "byte",
    unitDisplay: "short",
    maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0,
  }).format(value);
}

export function formatCount(count: number, locale: string): string {
  return new Intl.NumberFormat(locale).format(count);
}

const steps: [limitSeconds: number, unit: Intl.RelativeTimeFormatUnit, unitSeconds: number][] = [
  [60, "second", 1],
  [3_600, "minute", 60],
  [86_400, "hour", 3_600],
  [86_400 * 30, "day", 86_400],
  [86_400 * 365, "month", 86_400 * 30],
  [Number.POSITIVE_INFINITY, "year", 86_400 * 365],
];

export function formatRelative(at: Date, now: Date, locale: string): string {
  const seconds = (at.getTime() - now.getTime()) / 1000;
  const [, unit, unitSeconds] = steps.find(([limit]) => Math.abs(seconds) < limit) ?? [0, "second", 1];
  // Words such as "yesterday" mean calendar days, but we count hours: so only "now" is a word.
  const numeric = unit === "second" ? "auto" : "always";
  // Truncated, not rounded: "1 hour ago" must not appear after 31 minutes.
  return new Intl.RelativeTimeFormat(locale, { numeric }).format(Math.trunc(seconds / unitSeconds) || 0, unit);
}

export function formatExact(at: Date, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" }).format(at);
}

const durationUnits: [unit: "day" | "hour" | "minute" | "second", milliseconds: number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

const narrowFormats = new Map<string, Intl.NumberFormat>();

/** A format costs far more to make than to use, and a graph has thousands of durations. */
function narrow(locale: string, unit: string, digits: number): Intl.NumberFormat {
  const key = `${locale}/${unit}/${digits}`;
  let found = narrowFormats.get(key);
  if (!found) {
    found = new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "narrow", maximumFractionDigits: digits });
    narrowFormats.set(key, found);
  }
  return found;
}

/** The two largest units: `5h 12m`, `40s`, `1.2s`. */
export function formatDuration(milliseconds: number, locale: string): string {
  const at = durationUnits.findIndex(([, size]) => milliseconds >= size);
  const [unit, size] = durationUnits[at === -1 ? durationUnits.length - 1 : at] ?? ["second", 1_000];
  const write = (value: number, name: string, digits = 0) => narrow(locale, name, digits).format(value);
  if (unit === "second") return write(milliseconds / size, unit, milliseconds < 10_000 ? 1 : 0);
  const next = durationUnits[at + 1];
  const rest = next ? Math.floor((milliseconds % size) / next[1]) : 0;
  const whole = write(Math.floor(milliseconds / size), unit);
  return next && rest > 0 && unit !== "minute" ? `${whole} ${write(rest, next[0])}` : whole;
}

/** A lag: below a second in milliseconds, else as a duration. */
export function formatLag(milliseconds: number, locale: string): string {
  if (milliseconds >= 1_000) return formatDuration(milliseconds, locale);
  // The word for milliseconds is longer than its number in some languages; the symbol is the same in all.
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(milliseconds)} ms`;
}

const places = 1n << 20n;

/** The number of a unit as the command line writes it: `207`, or `7.3` where it belongs to run 7. */
export function shortNumber(unit: string | number): string {
  if (!/^\d+$/.test(String(unit))) return String(unit);
  const run = BigInt(unit) / places;
  const place = BigInt(unit) % places;
  return place === 0n && run < places ? run.toString() : `${run}.${place}`;
}

/** What a run is called: the key of its start. That of a sub-workflow is a number of the engine, so it has its own number. */
export function runName(run: { run_id: string; trigger_ref?: string | null; parent_run_id?: string | null }): string {
  return run.parent_run_id || !run.trigger_ref ? `#${run.run_id}` : run.trigger_ref;
}

/** Who started a run: a name, or the number of the step whose sub-workflow it is. */
export function starter(name: string | null): string {
  return name === null ? "–" : name.startsWith("unit:") ? shortNumber(name.slice("unit:".length)) : name;
}

/** A time of today as hours and minutes; another one with its day. */
export function formatClock(at: Date, now: Date, locale: string): string {
  const isToday = at.toDateString() === now.toDateString();
  return new Intl.DateTimeFormat(locale, { ...(isToday ? {} : { day: "numeric", month: "short" }), hour: "2-digit", minute: "2-digit" }).format(at);
}
