import { computed, shallowRef } from "vue";

import { getJson } from "../api/request";
import type { Answer, Schemas } from "../api/types";
import { paint, tokenName } from "./paint";

export type Words = Schemas["Words"];
export type Tokens = Answer<"read_tokens">;
export type StateRow = Schemas["StateToken"];
export type FacetRow = Schemas["FacetToken"];

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

/** The states of a machine, in the order of the registry. */
export function stateCodes(scope: string): string[] {
  return (tokens.value?.states ?? []).filter((row) => row.scope === scope).sort((a, b) => a.ordinal - b.ordinal).map((row) => row.state_code);
}

export function facetRow(scope: string, code: string): FacetRow | null {
  return facets.value.get(`${scope}/${code}`) ?? null;
}

/** What a step can be said to wait for, in the order of the registry. */
export function stepFacets(): { code: string; label: FacetRow["label"] }[] {
  return [...facets.value.values()]
    .filter((row) => row.scope === "step" && row.facet_code.startsWith("waiting_"))
    .map((row) => ({ code: row.facet_code, label: row.label }));
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
