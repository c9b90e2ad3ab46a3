import type { Words } from "./registry";

/** A text of the registry in the language of the page. */
export function wordIn(words: Words, locale: string): string {
  return locale === "vi" ? words.vi : words.en;
}

/** Fills `{attempt}` and the like; what is missing stays as it is. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
