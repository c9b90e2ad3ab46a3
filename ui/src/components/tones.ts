// The registry gives each state a colour and an icon by name; this file maps the names to styles and drawings.

import type { StateFace } from "../api/approvals";

export type Tone = "ok" | "warning" | "failed" | "quiet";

const colorPrefix = "ui.traffic_light.";

const tones: Record<string, Tone> = {
  gray: "quiet",
  green_pale: "ok",
  green: "ok",
  green_deep: "ok",
  yellow: "warning",
  yellow_dark: "warning",
  red_pale: "failed",
  red: "failed",
  red_dark: "failed",
};

export const icons = {
  check: "M3 8.5l3.2 3.2L13 5",
  warn: "M8 2.2L14.5 13.5H1.5zM8 6.5v3.2M8 11.6v.2",
  cross: "M4 4l8 8M12 4l-8 8",
  hourglass: "M4 2.5h8M4 13.5h8M4.8 2.5c0 3 3.2 3.6 3.2 5.5s-3.2 2.5-3.2 5.5M11.2 2.5c0 3-3.2 3.6-3.2 5.5s3.2 2.5 3.2 5.5",
  clock: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 1 0 8 2.2M8 5v3.2l2 1.6",
  barred: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 1 0 8 2.2M4 12L12 4",
  dot: "M8 5a3 3 0 1 0 0 6A3 3 0 1 0 8 5",
};

const stateIcons: Record<string, string> = {
  "icon.hourglass": icons.hourglass,
  "icon.check_filled": icons.check,
  "icon.warn_filled": icons.warn,
  "icon.cross_filled": icons.cross,
  "icon.clock_alert": icons.clock,
  "icon.cancel_filled": icons.barred,
};

/** An unknown colour is neutral: neither an alarm nor "good". */
export function toneOf(colorToken: string): Tone {
  return tones[colorToken.startsWith(colorPrefix) ? colorToken.slice(colorPrefix.length) : ""] ?? "quiet";
}

export function iconOf(iconToken: string): string {
  return stateIcons[iconToken] ?? icons.dot;
}

/** A state without labels is no longer in the registry; show its code. */
export function labelOf(code: string, face: StateFace | null, locale: string): string {
  if (!face) return code;
  return locale === "vi" ? face.label_vi : face.label_en;
}
