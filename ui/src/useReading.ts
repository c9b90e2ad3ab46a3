import { onMounted, onUnmounted, ref, shallowRef, watch } from "vue";

import type { Problem } from "./api/problem";
import { asProblem } from "./api/request";

const refreshMilliseconds = 10_000;

/**
 * Reads one resource at intervals while the page is visible. It keeps the last good answer if a newer one
 * cannot be read. When `about` changes, the old answer is removed and a new reading starts.
 */
export function useReading<T>(
  read: (signal: AbortSignal) => Promise<T>,
  about: () => string = () => "",
) {
  const value = shallowRef<T | null>(null);
  const readAt = ref("");
  const problem = shallowRef<Problem | null>(null);
  /** True if a person waits for this reading; readings in the background change only data. */
  const asked = ref(false);
  let current: AbortController | null = null;
  let timer = 0;
  let isLeft = false;

  function put(found: T): void {
    value.value = found;
    readAt.value = new Date().toISOString();
    problem.value = null;
  }

  function drop(): void {
    window.clearTimeout(timer);
    current?.abort();
    current = null;
  }

  function schedule(): void {
    if (!isLeft) timer = window.setTimeout(refreshIfSeen, refreshMilliseconds);
  }

  /** True if it finished; false if a newer reading replaced it. */
  async function refresh(): Promise<boolean> {
    window.clearTimeout(timer);
    const mine = new AbortController();
    current = mine;
    try {
      const found = await read(mine.signal);
      if (mine.signal.aborted) return false;
      put(found);
    } catch (cause) {
      if (mine.signal.aborted) return false;
      problem.value = asProblem(cause);
    }
    current = null;
    schedule();
    return true;
  }

  function refreshIfSeen(): void {
    if (!current && document.visibilityState === "visible") void refresh();
  }

  async function ask(): Promise<void> {
    drop();
    asked.value = true;
    if (await refresh()) asked.value = false;
  }

  /** Set a newer answer from elsewhere; a reading that still runs is older and is ignored. */
  function replace(found: T): void {
    drop();
    asked.value = false;
    put(found);
    schedule();
  }

  watch(about, () => {
    drop();
    asked.value = false;
    value.value = null;
    problem.value = null;
    void refresh();
  });
  onMounted(() => {
    void refresh();
    document.addEventListener("visibilitychange", refreshIfSeen);
    window.addEventListener("online", refreshIfSeen);
  });
  onUnmounted(() => {
    isLeft = true;
    drop();
    document.removeEventListener("visibilitychange", refreshIfSeen);
    window.removeEventListener("online", refreshIfSeen);
  });

  return { value, readAt, problem, asked, ask, replace };
}
