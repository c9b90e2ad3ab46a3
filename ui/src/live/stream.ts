import { ref, shallowRef } from "vue";

import type { StreamChanges } from "../api/runs";

// One connection for each tab, whatever pages it shows. It goes on after the last position it has seen.

export type LiveState = "off" | "connecting" | "live" | "lost";

export type Changes = StreamChanges;

export interface Listener {
  /** Something of the topic changed. */
  onChanges(changes: Changes): void;
  /** What was read is too old to go on from: read it again. */
  onReset(): void;
}

const topicsMax = 16;
export const liveState = ref<LiveState>("off");
export const lastEventId = ref<number | null>(null);
/** When the connection was lost. */
export const lostAt = shallowRef<Date | null>(null);

const listeners = new Map<string, Set<Listener>>();
let source: EventSource | null = null;
let position: string | null = null;
let planned = 0;

/** Listens to a topic from a position on. The answer ends it. */
export function listen(topic: string, listener: Listener, after: string | null): () => void {
  const isNew = !listeners.has(topic);
  const known = listeners.get(topic) ?? new Set();
  listeners.set(topic, known.add(listener));
  if (isNew || after !== null) {
    // Others on the line may have missed what came since their last position.
    if (after !== null && position !== null && source) resetOthers(topic);
    position = after ?? position;
    reconnect();
  }
  return () => {
    known.delete(listener);
    if (known.size === 0 && listeners.get(topic) === known) {
      listeners.delete(topic);
      reconnect();
    }
  };
}

function resetOthers(topic: string): void {
  for (const [name, set] of listeners) if (name !== topic) for (const listener of set) listener.onReset();
}

/** Several pages that open or close at once make one new connection. */
function reconnect(): void {
  window.clearTimeout(planned);
  planned = window.setTimeout(connect, 0);
}

/**
 * A browser opens few connections to one server (six over HTTP/1.1), for all its tabs together: the seventh tab would wait for ever.
 * So a tab that nobody sees has none; when it is seen again it goes on after its last position.
 */
document.addEventListener("visibilitychange", reconnect);

export function connect(): void {
  source?.close();
  source = null;
  if (document.visibilityState === "hidden" && position !== null) {
    liveState.value = "off";
    return;
  }
  const topics = [...listeners.keys()].slice(0, topicsMax);
  if (topics.length === 0) {
    liveState.value = "off";
    position = null;
    return;
  }
  const query = new URLSearchParams({ topics: topics.join(",") });
  if (position !== null) query.set("after", position);
  liveState.value = "connecting";
  const opened = new EventSource(`/api/v1/stream?${query}`);
  source = opened;
  opened.addEventListener("open", () => isNow(opened, () => found()));
  opened.addEventListener("error", () => isNow(opened, () => lose(opened)));
  on(opened, "open", (data: { position: string }) => take(data.position));
  on(opened, "changes", (data: Changes) => {
    take(data.position);
    lastEventId.value = data.last_event_id;
    spread(data);
  });
  on(opened, "reset", (data: { position: string }) => {
    take(data.position);
    for (const set of listeners.values()) for (const listener of set) listener.onReset();
  });
  on(opened, "end", (data: { reason: string }) => {
    if (data.reason === "not_allowed" || data.reason === "signed_out") {
      opened.close();
      liveState.value = "off";
    }
  });
}

function on<T>(opened: EventSource, name: string, act: (data: T) => void): void {
  opened.addEventListener(name, (event) => {
    if (event instanceof MessageEvent) isNow(opened, () => act(JSON.parse(String(event.data)) as T));
  });
}

function isNow(opened: EventSource, act: () => void): void {
  if (opened === source) act();
}

function take(next: string): void {
  position = next;
}

function found(): void {
  liveState.value = "live";
  lostAt.value = null;
}

function lose(opened: EventSource): void {
  liveState.value = "lost";
  lostAt.value ??= new Date();
  // The browser connects again by itself, except after an answer that is no stream.
  if (opened.readyState === EventSource.CLOSED) planned = window.setTimeout(connect, 3_000);
}

function spread(changes: Changes): void {
  for (const topic of Object.keys(changes.topics)) for (const listener of listeners.get(topic) ?? []) listener.onChanges(changes);
}
