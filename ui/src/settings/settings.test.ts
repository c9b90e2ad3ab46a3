import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

import { describe, expect, test } from "vitest";

import en from "../locales/en.json";
import vi from "../locales/vi.json";
import { resolveLanguage } from "./language";
import { knownChoice, resolveTheme } from "./theme";

const firstPaint = readFileSync(new URL("../../public/first-paint.js", import.meta.url), "utf8");

interface Visitor {
  theme: string | null;
  language: string | null;
  browserLanguage: string;
  dark: boolean;
  moreContrast: boolean;
}

function visitors(): Visitor[] {
  const all: Visitor[] = [];
  for (const theme of [null, "system", "light", "dark", "contrast", "purple"])
    for (const language of [null, "en", "vi", "xx"])
      for (const browserLanguage of ["en-GB", "vi-VN", "VI", "fr"])
        for (const dark of [false, true])
          for (const moreContrast of [false, true]) all.push({ theme, language, browserLanguage, dark, moreContrast });
  return all;
}

function runFirstPaint(visitor: Visitor): { theme: string | undefined; lang: string } {
  const root = { dataset: {} as { theme?: string }, lang: "" };
  const stored: Record<string, string | null> = {
    "stepwell.theme": visitor.theme,
    "stepwell.language": visitor.language,
  };
  const window = {
    localStorage: { getItem: (key: string) => stored[key] ?? null },
    matchMedia: (query: string) => ({ matches: query.includes("contrast") ? visitor.moreContrast : visitor.dark }),
  };
  runInNewContext(firstPaint, {
    window,
    document: { documentElement: root },
    navigator: { language: visitor.browserLanguage },
  });
  return { theme: root.dataset.theme, lang: root.lang };
}

test("the script before the first paint decides as the application does, for every visitor", () => {
  for (const visitor of visitors()) {
    expect(runFirstPaint(visitor)).toEqual({
      theme: resolveTheme(knownChoice(visitor.theme), visitor),
      lang: resolveLanguage(visitor.language, visitor.browserLanguage),
    });
  }
});

describe("languages", () => {
  const keys = (tree: object, prefix = ""): string[] =>
    Object.entries(tree).flatMap(([key, value]) =>
      typeof value === "object" && value !== null ? keys(value, `${prefix}${key}.`) : [`${prefix}${key}`],
    );

  test("have the same keys", () => {
    expect(keys(vi).sort()).toEqual(keys(en).sort());
  });
  test("leave no text empty", () => {
    const empty = (tree: object): boolean =>
      Object.values(tree).some((value) => (typeof value === "object" ? empty(value) : value === ""));
    expect([empty(en), empty(vi)]).toEqual([false, false]);
  });
});
