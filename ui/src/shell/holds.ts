import { onUnmounted, shallowRef, watch } from "vue";

import { readOpenHolds, type Hold } from "../api/holds";
import { listen } from "../live/stream";
import { account } from "../session";

const gatherMilliseconds = 200;
const againMilliseconds = 30_000;

/** Open holds, newest first: every page shows them. */
export const openHolds = shallowRef<Hold[]>([]);
let stop: (() => void) | null = null;
let timer = 0;

function plan(milliseconds: number): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void readAgain(), milliseconds);
}

export async function readAgain(): Promise<void> {
  try {
    if (document.visibilityState === "visible") openHolds.value = await readOpenHolds();
  } catch {
    // What is held stays shown; the page itself says when the server does not answer.
  }
  if (stop) plan(againMilliseconds);
}

/** Reads the open holds when somebody signs in, and again when the stream tells of a change. */
export function useOpenHolds() {
  watch(() => account.value?.session_id ?? account.value?.name, (who) => {
    window.clearTimeout(timer);
    stop?.();
    stop = null;
    openHolds.value = [];
    if (who === undefined || who === null) return;
    stop = listen("problems", { onChanges: () => plan(gatherMilliseconds), onReset: () => plan(gatherMilliseconds) }, null);
    void readAgain();
  }, { immediate: true });
  onUnmounted(() => {
    stop?.();
    stop = null;
    window.clearTimeout(timer);
  });
  return openHolds;
}
