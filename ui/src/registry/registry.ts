import { computed, shallowRef } from "vue";

import { getJson } from "../api/request";
import { paint, tokenName, type ColourToken } from "./paint";

export interface Words {
  en: string;
  vi: string;
}

/** A state of a machine as the registry shows it. */
export interface StateRow {
  scope: string;
  state_code: string;
  color_token: string;
  icon_token: string;
  semantic_class: string;
  is_terminal: boolean;
  ordinal: number;
  label: Words;
  short: Words;
}

export interface FacetRow {
  scope: string;
  state_code: string;
  facet_code: string;
  icon_token: string;
  label: Words;
}

export interface Tokens {
  colours: ColourToken[];
  states: StateRow[];
  facets: FacetRow[];
}

/** How a state is drawn: the name of its colour, its icon, its words. */
export interface Face {
  tone: string;
  icon: string;
  label: Words;
  short: Words;
  semanticClass: string;
  isTerminal: boolean;
  ordinal: number;
}

const tokens = shallowRef<Tokens | null>(null);

const states = computed(
  () => new Map((tokens.value?.states ?? []).map((row) => [`${row.scope}/${row.state_code}`, faceOf(row)])),
);

const facets = computed(
  () => new Map((tokens.value?.facets ?? []).map((row) => [`${row.scope}/${row.facet_code}`, row])),
);

function faceOf(row: StateRow): Face {
  return {
    tone: tokenName(row.color_token),
    icon: row.icon_token,
    label: row.label,
    short: row.short,
    semanticClass: row.semantic_class,
    isTerminal: row.is_terminal,
    ordinal: row.ordinal,
  };
}

/** A state that the registry does not have is shown by its code, without a colour. */
export function stateFace(scope: string, code: string): Face {
  const known = states.value.get(`${scope}/${code}`);
  if (known) return known;
  const label = { en: code, vi: code };
  return { tone: "", icon: "", label, short: label, semanticClass: "", isTerminal: false, ordinal: 0 };
}

export function facetRow(scope: string, code: string): FacetRow | null {
  return facets.value.get(`${scope}/${code}`) ?? null;
}

/** Changes when other tokens were read; drawings on a canvas watch it. */
export const tokensRead = computed(() => tokens.value);

export function colourOf(tone: string, highContrast: boolean): { fg: string; bg: string } | null {
  const row = tokens.value?.colours.find((colour) => tokenName(colour.token) === tone);
  return row ? (highContrast ? row.high_contrast : row) : null;
}

/** The shape of a colour as an icon: it says the same without the colour. */
export function shapeOf(tone: string): string {
  return `icon.${tokens.value?.colours.find((colour) => tokenName(colour.token) === tone)?.shape ?? ""}`;
}

let reading: Promise<void> | null = null;

/** Reads the tokens once; a failed reading is tried again by the next call. */
export function readTokens(): Promise<void> {
  reading ??= getJson<Tokens>("/registry/tokens")
    .then((found) => {
      tokens.value = found;
      paint(found.colours);
    })
    .catch(() => {
      reading = null;
    });
  return reading;
}
