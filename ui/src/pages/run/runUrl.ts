import { computed } from "vue";
import { useRoute, useRouter, type LocationQueryRaw } from "vue-router";

import { laneKinds, type LaneKind } from "../../api/runs";

export const tabs = ["graph", "list", "timeline"] as const;
export type Tab = (typeof tabs)[number];

/** What the address of a run says: tab, step, section, position, window of the timeline, map and item. A copied link shows the same. */
export function useRunUrl() {
  const route = useRoute();
  const router = useRouter();

  function word(name: string): string | null {
    const value = route.query[name];
    return typeof value === "string" && value !== "" ? value : null;
  }

  function number(name: string): number | null {
    const value = word(name);
    return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : null;
  }

  /** `null` removes a part. A step back in the browser undoes a choice, not each move of the slider. */
  function change(parts: Record<string, string | number | null>, replace = false): void {
    const kept = Object.entries(route.query).filter(([name]) => !Object.hasOwn(parts, name));
    const given = Object.entries(parts).filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]);
    const query = Object.fromEntries([...kept, ...given]) as LocationQueryRaw;
    void (replace ? router.replace({ query }) : router.push({ query }));
  }

  const isNarrow = window.matchMedia("(max-width: 720px)").matches;

  return {
    run: computed(() => String(route.params.id ?? "")),
    tab: computed<Tab>(() => tabs.find((tab) => tab === word("tab")) ?? (isNarrow ? "list" : "graph")),
    step: computed(() => number("step")),
    section: computed(() => word("open")),
    at: computed(() => word("at")),
    map: computed(() => number("map")),
    item: computed(() => number("item") ?? 0),
    span: computed(() => word("span")),
    lanes: computed<LaneKind>(() => laneKinds.find((kind) => kind === word("lanes")) ?? "role"),
    change,
  };
}
