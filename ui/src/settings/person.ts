import { ref } from "vue";

import { readStored, writeStored } from "./stored";

const storageKey = "stepwell.person";

/** The last name that was entered in this browser. It is not verified. */
export const person = ref(typeof window === "undefined" ? "" : (readStored(storageKey) ?? ""));

export function rememberPerson(name: string): void {
  person.value = name;
  writeStored(storageKey, name);
}
