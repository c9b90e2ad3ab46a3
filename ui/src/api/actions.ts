import { getJson, postJson } from "./request";
import type { Answer, Schemas } from "./types";

/** What the caller may do with a unit, as the database decides it. */
export type UnitAction = Schemas["ActionView"];
export type Vocabularies = Answer<"list_vocabularies">;

export function readVocabularies(): Promise<Vocabularies> {
  return getJson<Vocabularies>("/registry/vocabularies");
}

/** Those that help now, and the first that somebody else may do: it is shown without effect, with the reason. */
export function shownActions(actions: readonly UnitAction[], left: readonly string[] = []): { can: UnitAction[]; cannot: UnitAction | null } {
  const kept = actions.filter((action) => !left.includes(action.action));
  const can = kept.filter((action) => action.allowed || action.reason?.kind === "approval");
  const others = kept.filter((action) => !action.allowed && action.reason?.kind === "person" && helps.has(action.action));
  return { can, cannot: can.some((action) => helps.has(action.action)) ? null : (others[0] ?? null) };
}

/** Acts that make something go on, as against those that only note or move it. */
const helps = new Set(["claim", "complete", "resume", "unblock", "retry"]);

export function isHelp(action: UnitAction): boolean {
  return helps.has(action.action);
}

export function readUnitActions(unit: string, signal?: AbortSignal): Promise<UnitAction[]> {
  return getJson<Answer<"unit_actions">>(`/units/${encodeURIComponent(unit)}/actions`, signal);
}

export function readRunActions(run: string, signal?: AbortSignal): Promise<UnitAction[]> {
  return getJson<Answer<"run_actions">>(`/runs/${encodeURIComponent(run)}/actions`, signal);
}

/** Makes the call, with the approval that was granted for it. */
export function sendAction(action: UnitAction, body: Record<string, string>): Promise<unknown> {
  const approval = action.approval?.granted;
  return postJson(action.path, { ...body, ...(approval ? { approval_id: Number(approval) } : {}) });
}
