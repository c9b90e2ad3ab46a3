import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

// WCAG 2.1 contrast, computed from the tokens: the test fails if a colour becomes unreadable.

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

function tokensOf(theme: string): Record<string, string> {
  const block = new RegExp(`\\[data-theme="${theme}"\\]\\s*\\{([^}]*)\\}`).exec(css)?.[1] ?? "";
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]));
}

function luminance(hex: string): number {
  const channel = (offset: number) => {
    const value = Number.parseInt(hex.slice(offset, offset + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const textColours = ["text", "text-quiet", "accent", "ok", "warning", "failed"];
const surfaces = ["surface", "surface-raised", "surface-sunken"];
const statusPairs: [string, string][] = [
  ["ok", "ok-surface"],
  ["warning", "warning-surface"],
  ["failed", "failed-surface"],
  ["on-accent", "accent"],
];

describe.each([
  ["light", 4.5],
  ["dark", 4.5],
  ["contrast", 7],
])("theme %s", (theme, atLeast) => {
  const tokens = tokensOf(theme);
  const pairs = [...textColours.flatMap((text) => surfaces.map((s): [string, string] => [text, s])), ...statusPairs];
  test.each(pairs)(`%s on %s is at least ${atLeast}:1`, (text, surface) => {
    expect(contrast(tokens[text] ?? "#000000", tokens[surface] ?? "#000000")).toBeGreaterThanOrEqual(atLeast);
  });
  test.each(surfaces)("focus ring and borders of controls on %s are at least 3:1", (surface) => {
    for (const name of ["focus", "border-control"])
      expect(contrast(tokens[name] ?? "#000000", tokens[surface] ?? "#000000")).toBeGreaterThanOrEqual(3);
  });
});
