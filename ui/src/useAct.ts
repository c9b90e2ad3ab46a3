import { ref, shallowRef } from "vue";

import type { Problem } from "./api/problem";
import { asProblem } from "./api/request";

/** One call at a time: whether it is under way, and why the server refused it. */
export function useAct() {
  const busy = ref(false);
  const problem = shallowRef<Problem | null>(null);

  /** True if it was done. */
  async function act(call: () => Promise<unknown>): Promise<boolean> {
    if (busy.value) return false;
    busy.value = true;
    problem.value = null;
    try {
      await call();
      return true;
    } catch (cause) {
      problem.value = asProblem(cause);
      return false;
    } finally {
      busy.value = false;
    }
  }

  return { busy, problem, act };
}
