import { computed, onUnmounted, ref, shallowRef, watch } from "vue";

import { readRuns, type RunFilter, type RunRow } from "../../api/lists";
import type { Problem } from "../../api/problem";
import { asProblem } from "../../api/request";
import { listen, type Changes } from "../../live/stream";

const liveMost = 12;
const freshMilliseconds = 3_000;
const againMilliseconds = 10_000;

/** The runs of a filter, page by page as they are needed. Those in view change as they change. */
export function useRuns(filter: () => RunFilter) {
  const rows = shallowRef<RunRow[]>([]);
  const next = ref<string | null>(null);
  const isRead = ref(false);
  const problem = shallowRef<Problem | null>(null);
  /** Runs that changed in the last three seconds. */
  const fresh = shallowRef<ReadonlySet<string>>(new Set());
  let reading: AbortController | null = null;
  let timer = 0;
  const stops = new Map<string, () => void>();

  async function read(): Promise<void> {
    reading?.abort();
    const mine = (reading = new AbortController());
    window.clearTimeout(timer);
    try {
      const found = await readRuns(filter(), null, mine.signal);
      if (mine.signal.aborted) return;
      put(found.items, found.next);
    } catch (cause) {
      if (!mine.signal.aborted) problem.value = asProblem(cause);
    }
    timer = window.setTimeout(() => document.visibilityState === "visible" && void read(), againMilliseconds);
  }

  /** A new first page keeps the pages behind it, so that the place in the list stays. */
  function put(first: RunRow[], cursor: string | null): void {
    const end = first.at(-1);
    const known = new Set(first.map((row) => row.run_id));
    const behind = isRead.value && end && rows.value.length > first.length
      ? rows.value.filter((row) => Number(row.run_id) < Number(end.run_id) && !known.has(row.run_id))
      : [];
    rows.value = [...first, ...behind];
    if (behind.length === 0) next.value = cursor;
    isRead.value = true;
    problem.value = null;
  }

  let loading = false;
  async function readMore(): Promise<void> {
    if (next.value === null || loading) return;
    loading = true;
    const asked = JSON.stringify(filter());
    try {
      const found = await readRuns(filter(), next.value);
      if (asked !== JSON.stringify(filter())) return;
      const known = new Set(rows.value.map((row) => row.run_id));
      rows.value = [...rows.value, ...found.items.filter((row) => !known.has(row.run_id))];
      next.value = found.next;
    } catch (cause) {
      problem.value = asProblem(cause);
    } finally {
      loading = false;
    }
  }

  function onChanges(changes: Changes): void {
    const touched = new Set<string>();
    rows.value = rows.value.map((row) => {
      const change = changes.runs[row.run_id];
      if (!change) return row;
      touched.add(row.run_id);
      return {
        ...row, state_code: change.state, rollup_state_code: change.colour, finished_at: change.finished_at,
        open_count: change.counts.open, completed_count: change.counts.completed, failed_count: change.counts.failed,
      };
    });
    if (touched.size === 0) return;
    fresh.value = new Set([...fresh.value, ...touched]);
    window.setTimeout(() => {
      fresh.value = new Set([...fresh.value].filter((id) => !touched.has(id)));
    }, freshMilliseconds);
  }

  /** Listens to the open runs in view, at most twelve; others are read again from time to time. */
  function watchRuns(ids: string[]): void {
    const wanted = new Set(ids.slice(0, liveMost));
    for (const [id, stop] of stops)
      if (!wanted.has(id)) {
        stop();
        stops.delete(id);
      }
    for (const id of wanted)
      if (!stops.has(id)) stops.set(id, listen(`run:${id}`, { onChanges, onReset: () => void read() }, null));
  }

  watch(() => JSON.stringify(filter()), () => {
    isRead.value = false;
    rows.value = [];
    next.value = null;
    void read();
  }, { immediate: true });
  onUnmounted(() => {
    reading?.abort();
    window.clearTimeout(timer);
    for (const stop of stops.values()) stop();
  });

  return { rows, isRead, problem, fresh, read, readMore, watchRuns, hasMore: computed(() => next.value !== null) };
}
