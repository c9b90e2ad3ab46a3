import { ref } from "vue";

import { readStored, writeStored } from "./stored";

const storageKey = "stepwell.rail";
const stored = readStored(storageKey);

/** What the person chose: only icons, or names too. Null: each page decides. */
export const railChoice = ref<boolean | null>(stored === null ? null : stored === "on");

export function chooseRail(on: boolean): void {
  railChoice.value = on;
  writeStored(storageKey, on ? "on" : "off");
}
