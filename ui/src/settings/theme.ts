import { ref } from "vue";

import { readStored, writeStored } from "./stored";

export const themeChoices = ["system", "light", "dark", "contrast"] as const;
export type ThemeChoice = (typeof themeChoices)[number];
export type Theme = Exclude<ThemeChoice, "system">;

export interface Preferences {
  dark: boolean;
  moreContrast: boolean;
}

const storageKey = "stepwell.theme";
const darkQuery = "(prefers-color-scheme: dark)";
const contrastQuery = "(prefers-contrast: more)";

export function knownChoice(stored: string | null): ThemeChoice {
  return themeChoices.find((choice) => choice === stored) ?? "system";
}

/** High contrast overrides dark, because some people need it. */
export function resolveTheme(choice: ThemeChoice, preferences: Preferences): Theme {
  if (choice !== "system") return choice;
  if (preferences.moreContrast) return "contrast";
  return preferences.dark ? "dark" : "light";
}

export const themeChoice = ref<ThemeChoice>("system");

/** The theme that is painted now. */
export const theme = ref<Theme>("light");

function paint(): void {
  theme.value = resolveTheme(themeChoice.value, {
    dark: window.matchMedia(darkQuery).matches,
    moreContrast: window.matchMedia(contrastQuery).matches,
  });
  document.documentElement.dataset.theme = theme.value;
}

export function chooseTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  writeStored(storageKey, choice);
  paint();
}

/** Called once by the shell; with "system" it follows the operating system. */
export function startTheme(): void {
  themeChoice.value = knownChoice(readStored(storageKey));
  for (const query of [darkQuery, contrastQuery]) window.matchMedia(query).addEventListener("change", paint);
  paint();
}
