import { ref } from "vue";

import { readStored, writeStored } from "./stored";

const storageKey = "stepwell.person";

/** Who sits here, as they said last time. Nothing proves it yet. */
export const person = ref(typeof window === "undefined" ? "" : (readStored(storageKey) ?? ""));

export function rememberPerson(name: string): void {
  person.value = name;
  writeStored(storageKey, name);
}
