import { useI18n } from "vue-i18n";

import { formatCount } from "../../format";

/** How many of something a hold stops, in words that fit the number. */
export function useCounted(): (what: "steps" | "jobs" | "runs" | "clocks" | "deadlines" | "working", count: number) => string {
  const { t, locale } = useI18n();
  return (what, count) => t(`holds.count.${what}`, { count: formatCount(count, locale.value) }, count);
}
