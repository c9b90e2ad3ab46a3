import { computed, onUnmounted, ref, shallowRef, watch } from "vue";

import type { Problem } from "../../api/problem";
import { asProblem } from "../../api/request";
import { readLayout, readSnapshot, type LaneKind, type Layout, type RunChange, type Snapshot } from "../../api/runs";
import { stepStates, withChanges, type StepState, type StepStates } from "../../graph/steps";
import { lastEventId, listen } from "../../live/stream";

const retryMilliseconds = 3_000;
const againMilliseconds = 2_000;

/** A run as it is, or as it was at `at`: one snapshot, and then each change of it. */
export function useRun(run: () => string, at: () => string | null, lanes: () => LaneKind) {
  const snapshot = shallowRef<Snapshot | null>(null);
  const steps = shallowRef<StepStates>(new Map());
  const layout = shallowRef<Layout | null>(null);
  const problem = shallowRef<Problem | null>(null);
  const readAt = ref("");
  /** Server time minus time of this browser. */
  const ahead = ref(0);
  let reading: AbortController | null = null;
  let stop: (() => void) | null = null;
  let pending: RunChange[] = [];
  let frame = 0;
  let again = 0;

  async function read(): Promise<void> {
    reading?.abort();
    const mine = (reading = new AbortController());
    window.clearTimeout(again);
    try {
      const found = await readSnapshot(run(), at(), mine.signal);
      const drawn = await layoutFor(found, mine.signal);
      if (mine.signal.aborted) return;
      pending = [];
      layout.value = drawn;
      steps.value = stepStates(found);
      snapshot.value = found;
      readAt.value = found.now;
      ahead.value = new Date(found.now).getTime() - Date.now();
      if (found.at === null) lastEventId.value = found.last_event_id;
      problem.value = null;
      follow(found);
    } catch (cause) {
      if (mine.signal.aborted) return;
      problem.value = asProblem(cause);
      // Nothing is there yet that a stream could keep true: the page tries again by itself.
      window.clearTimeout(again);
      const { status } = problem.value.details;
      if (status === 0 || status >= 500) again = window.setTimeout(() => void read(), retryMilliseconds);
    }
  }

  async function layoutFor(found: Snapshot, signal: AbortSignal): Promise<Layout> {
    const known = layout.value;
    if (known && known.graph_hash === found.graph_hash && known.lanes_by === lanes()) return known;
    return readLayout(found.run.workflow, found.run.version_no, lanes(), signal);
  }

  function follow(found: Snapshot): void {
    stop?.();
    stop = null;
    if (at() !== null) return;
    const listener = {
      onChanges(changes: { runs: Record<string, RunChange> }) {
        const change = changes.runs[String(found.run.run_id)];
        if (change) take(change);
      },
      onReset: () => void read(),
    };
    stop = listen(`run:${found.run.run_id}`, listener, found.position);
  }

  /** However many changes come at once, they are painted in one frame. */
  function take(change: RunChange): void {
    pending.push(change);
    frame ||= requestAnimationFrame(apply);
  }

  function apply(): void {
    frame = 0;
    const [changes, before] = [pending, snapshot.value];
    pending = [];
    const last = changes.at(-1);
    if (!before || !last) return;
    steps.value = changes.reduce(withChanges, steps.value);
    snapshot.value = {
      ...before,
      last_event_id: lastEventId.value ?? before.last_event_id,
      run: { ...before.run, state: last.state, colour: last.colour, counts: last.counts, finished_at: last.finished_at },
    };
    // What the whole run says of itself (why, path, expected end) is worked out by the server.
    window.clearTimeout(again);
    again = window.setTimeout(() => void refresh(), againMilliseconds);
  }

  async function refresh(): Promise<void> {
    if (at() !== null || document.visibilityState !== "visible") return;
    try {
      const found = await readSnapshot(run(), null);
      const before = snapshot.value;
      if (!before || found.run.run_id !== before.run.run_id || at() !== null) return;
      const { why, critical_path, expected_end, milestones = [], rollup, actions = [], behind = {} } = found;
      snapshot.value = { ...before, why, critical_path, expected_end, milestones, rollup, actions, behind };
    } catch {
      // The last answer stays; the connection tells that it is lost.
    }
  }

  async function changeLanes(): Promise<void> {
    const before = snapshot.value;
    if (!before) return;
    try {
      layout.value = await readLayout(before.run.workflow, before.run.version_no, lanes());
    } catch (cause) {
      problem.value = asProblem(cause);
    }
  }

  watch(run, () => {
    snapshot.value = null;
    layout.value = null;
    void read();
  }, { immediate: true });
  watch(at, () => void read());
  watch(lanes, () => void changeLanes());
  onUnmounted(() => {
    reading?.abort();
    stop?.();
    cancelAnimationFrame(frame);
    window.clearTimeout(again);
  });

  const itemsByMap = computed(() => {
    const found = new Map<number, StepState[]>();
    for (const step of steps.value.values()) {
      if (step.mapNo === null) continue;
      const list = found.get(step.mapNo);
      if (list) list.push(step);
      else found.set(step.mapNo, [step]);
    }
    return found;
  });

  return { snapshot, steps, layout, problem, readAt, ahead, itemsByMap, read };
}
