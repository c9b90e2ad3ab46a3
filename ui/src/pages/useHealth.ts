import { onMounted, onUnmounted, ref, shallowRef } from "vue";

import { readHealth, type Health } from "../api/health";
import type { Problem } from "../api/problem";
import { asProblem } from "../api/request";

const refreshMilliseconds = 10_000;

/** Keeps the last good answer while a newer one cannot be had: old figures with a notice beat an empty page. */
export function useHealth() {
  const health = shallowRef<Health | null>(null);
  const problem = shallowRef<Problem | null>(null);
  const busy = ref(false);
  /** A person waits for this reading; the ones in the background change nothing on the page but figures. */
  const asked = ref(false);
  const leaving = new AbortController();
  let timer = 0;

  async function refresh(): Promise<void> {
    if (busy.value) return;
    window.clearTimeout(timer);
    busy.value = true;
    try {
      health.value = await readHealth(leaving.signal);
      problem.value = null;
    } catch (cause) {
      problem.value = asProblem(cause);
    } finally {
      busy.value = false;
    }
    if (!leaving.signal.aborted) timer = window.setTimeout(refreshIfSeen, refreshMilliseconds);
  }

  function refreshIfSeen(): void {
    if (document.visibilityState === "visible") void refresh();
  }

  async function ask(): Promise<void> {
    asked.value = true;
    await refresh();
    asked.value = false;
  }

  onMounted(() => {
    void refresh();
    document.addEventListener("visibilitychange", refreshIfSeen);
    window.addEventListener("online", refreshIfSeen);
  });
  onUnmounted(() => {
    leaving.abort();
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", refreshIfSeen);
    window.removeEventListener("online", refreshIfSeen);
  });

  return { health, problem, asked, ask };
}
