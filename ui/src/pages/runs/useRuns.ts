import { onUnmounted, ref, shallowRef, triggerRef, watch } from "vue";

import { readPlaces } from "../../api/console";
import { pageSize, readRuns, type RunFilter, type RunRow } from "../../api/lists";
import type { Problem } from "../../api/problem";
import { asProblem } from "../../api/request";
import { listen, type Changes } from "../../live/stream";

const liveMost = 12;
const freshMilliseconds = 3_000;
const againMilliseconds = 10_000;

/**
 * The runs of a filter. The server tells where each page begins, so that any of them is read by one seek, however far a person
 * scrolls; rows that nobody looked at are not read. Those in view change as they change.
 */
export function useRuns(filter: () => RunFilter) {
  /** Rows that were read, by their place in the list; the others are holes. */
  const rows = shallowRef<(RunRow | undefined)[]>([]);
  const isRead = ref(false);
  const isAtLeast = ref(false);
  /** Runs that were started since, while somebody looked further down. */
  const newer = ref(0);
  const problem = shallowRef<Problem | null>(null);
  /** Runs that changed in the last three seconds. */
  const fresh = shallowRef<ReadonlySet<string>>(new Set());
  let cursors: (string | null)[] = [null];
  let pages = new Set<number>();
  let view: [first: number, last: number] = [0, 0];
  let reading: AbortController | null = null;
  let timer = 0;
  const stops = new Map<string, () => void>();

  function put(page: number, found: RunRow[]): void {
    found.forEach((row, at) => (rows.value[page * pageSize + at] = row));
    triggerRef(rows);
  }

  /** The list from its beginning. */
  async function read(): Promise<void> {
    reading?.abort();
    const mine = (reading = new AbortController());
    window.clearTimeout(timer);
    try {
      const first = await readRuns(filter(), null, mine.signal);
      const places = first.next === null ? null : await readPlaces(filter(), pageSize, mine.signal);
      if (mine.signal.aborted) return;
      cursors = [null, ...(places?.cursors ?? [])];
      pages = new Set([0]);
      rows.value = Array.from({ length: Math.max(first.items.length, places?.count ?? 0) });
      isAtLeast.value = places?.is_at_least ?? false;
      put(0, first.items);
      [isRead.value, problem.value, newer.value] = [true, null, 0];
      void need(...view);
    } catch (cause) {
      if (!mine.signal.aborted) problem.value = asProblem(cause);
    }
    plan();
  }

  function plan(): void {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => (document.visibilityState === "visible" ? void again() : plan()), againMilliseconds);
  }

  /** What is in view once more, and what is new above it. At the top the whole list begins again. */
  async function again(): Promise<void> {
    if (view[0] === 0) return read();
    try {
      const first = await readRuns(filter(), null);
      const known = Number(rows.value[0]?.run_id ?? 0);
      newer.value = first.items.filter((row) => Number(row.run_id) > known).length;
      for (const page of pagesIn(...view)) put(page, (await readRuns(filter(), cursors[page] ?? null)).items);
      problem.value = null;
    } catch (cause) {
      problem.value = asProblem(cause);
    }
    plan();
  }

  function pagesIn(first: number, last: number): number[] {
    const [from, to] = [Math.floor(first / pageSize), Math.floor(Math.max(first, last - 1) / pageSize)];
    return Array.from({ length: to - from + 1 }, (_, at) => from + at).filter((page) => page < cursors.length && page * pageSize < rows.value.length);
  }

  /** Reads the rows of these places if nobody has read them yet. */
  async function need(first: number, last: number): Promise<void> {
    view = [first, last];
    const asked = JSON.stringify(filter());
    for (const page of pagesIn(first, last)) {
      if (pages.has(page)) continue;
      pages.add(page);
      try {
        const found = await readRuns(filter(), cursors[page] ?? null);
        if (asked !== JSON.stringify(filter())) return;
        put(page, found.items);
      } catch (cause) {
        pages.delete(page);
        problem.value = asProblem(cause);
      }
    }
  }

  /** The numbers of the runs in these places; those that nobody has read yet are read. */
  async function idsOf(first: number, last: number): Promise<string[]> {
    const asked = JSON.stringify(filter());
    for (const page of pagesIn(first, last)) {
      if (pages.has(page)) continue;
      const found = await readRuns(filter(), cursors[page] ?? null);
      if (asked !== JSON.stringify(filter())) return [];
      pages.add(page);
      put(page, found.items);
    }
    return rows.value.slice(first, last).flatMap((row) => (row ? [row.run_id] : []));
  }

  function onChanges(changes: Changes): void {
    const touched = new Set<string>();
    rows.value.forEach((row, at) => {
      const change = row && changes.runs[row.run_id];
      if (!row || !change) return;
      touched.add(row.run_id);
      rows.value[at] = {
        ...row, state_code: change.state, rollup_state_code: change.colour, finished_at: change.finished_at,
        open_count: change.counts.open, completed_count: change.counts.completed, failed_count: change.counts.failed,
      };
    });
    if (touched.size === 0) return;
    triggerRef(rows);
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
    cursors = [null];
    view = [0, 0];
    void read();
  }, { immediate: true });
  onUnmounted(() => {
    reading?.abort();
    window.clearTimeout(timer);
    for (const stop of stops.values()) stop();
  });

  return { rows, isRead, isAtLeast, newer, problem, fresh, read, need, idsOf, watchRuns };
}
