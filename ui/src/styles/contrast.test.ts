import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { contrast } from "../registry/contrast";

// WCAG 2.1 contrast, computed from the tokens: the test fails if a colour becomes unreadable.

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");

function tokensOf(theme: string): Record<string, string> {
  const block = new RegExp(`\\[data-theme="${theme}"\\]\\s*\\{([^}]*)\\}`).exec(css)?.[1] ?? "";
  return Object.fromEntries([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map((m) => [m[1], m[2]]));
}

const textColours = ["text", "text-quiet", "text-faint", "accent"];
const surfaces = ["surface", "surface-raised", "surface-sunken", "surface-hover"];
const pairs: [string, string][] = [
  ...textColours.flatMap((text) => surfaces.map((surface): [string, string] => [text, surface])),
  ["on-accent", "accent"],
  ["on-accent", "accent-hover"],
  ["accent", "accent-surface"],
  ["text", "accent-surface"],
  ["text-quiet", "accent-surface"],
];

describe.each([
  ["light", 4.5],
  ["dark", 4.5],
  ["contrast", 7],
])("theme %s", (theme, atLeast) => {
  const tokens = tokensOf(theme);
  const colour = (name: string) => tokens[name] ?? expect.fail(`no token ${name}`);
  test.each(pairs)(`%s on %s is at least ${atLeast}:1`, (text, surface) => {
    expect(contrast(colour(text), colour(surface))).toBeGreaterThanOrEqual(atLeast);
  });
  test.each(surfaces)("focus ring, borders of controls and critical lines on %s are at least 3:1", (surface) => {
    for (const name of ["focus", "border-control", "edge-strong"])
      expect(contrast(colour(name), colour(surface))).toBeGreaterThanOrEqual(3);
  });
});
