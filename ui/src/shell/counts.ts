import { onUnmounted, shallowRef, watch } from "vue";

import { readCounts, type Counts } from "../api/console";
import { listen } from "../live/stream";
import { account } from "../session";

const topics = ["inbox", "approvals", "problems"];
const gatherMilliseconds = 300;
const againMilliseconds = 60_000;

/** How much waits, as the server counts it: read when somebody signs in, and again when the stream tells of a change. */
export function useCounts() {
  const counts = shallowRef<Counts | null>(null);
  let stops: (() => void)[] = [];
  let timer = 0;

  function plan(milliseconds: number): void {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void read(), milliseconds);
  }

  async function read(): Promise<void> {
    try {
      if (document.visibilityState === "visible") counts.value = await readCounts();
    } catch {
      // The numbers stay; the page itself says when the server does not answer.
    }
    if (stops.length) plan(againMilliseconds);
  }

  function stop(): void {
    window.clearTimeout(timer);
    for (const end of stops) end();
    stops = [];
    counts.value = null;
  }

  watch(() => account.value?.session_id ?? account.value?.name, (who) => {
    stop();
    if (who === undefined || who === null) return;
    const listener = { onChanges: () => plan(gatherMilliseconds), onReset: () => plan(gatherMilliseconds) };
    stops = topics.map((topic) => listen(topic, listener, null));
    void read();
  }, { immediate: true });
  onUnmounted(stop);

  return counts;
}
