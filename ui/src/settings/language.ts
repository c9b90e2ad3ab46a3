import { ref } from "vue";

import { readStored, writeStored } from "./stored";

export const languages = ["en", "vi"] as const;
export type Language = (typeof languages)[number];

const storageKey = "stepwell.language";

export function resolveLanguage(stored: string | null, preferred: string | undefined): Language {
  const known = languages.find((code) => code === stored);
  if (known) return known;
  return (preferred ?? "en").toLowerCase().startsWith("vi") ? "vi" : "en";
}

export const language = ref<Language>(
  typeof window === "undefined" ? "en" : resolveLanguage(readStored(storageKey), navigator.language),
);

export function chooseLanguage(code: Language): void {
  language.value = code;
  writeStored(storageKey, code);
}
