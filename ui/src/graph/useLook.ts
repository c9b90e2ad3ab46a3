import { computed } from "vue";

import { colourOf, tokensRead } from "../registry/registry";
import { theme } from "../settings/theme";
import type { FarLook } from "./farView";

/** The colours of the page for a canvas; a new value whenever the theme or the tokens change. */
export function useLook() {
  return computed<FarLook>(() => {
    void tokensRead.value;
    const isHigh = theme.value !== "light";
    const style = getComputedStyle(document.documentElement);
    const variables = new Map<string, string>();
    const pairs = new Map<string, { fg: string; bg: string } | null>();
    return {
      pair(tone) {
        if (!pairs.has(tone)) pairs.set(tone, colourOf(tone, isHigh));
        return pairs.get(tone) ?? null;
      },
      variable(name) {
        let value = variables.get(name);
        if (value === undefined) variables.set(name, (value = style.getPropertyValue(name).trim()));
        return value;
      },
    };
  });
}
