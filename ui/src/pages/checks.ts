import type { Check, CheckStatus } from "../api/health";

const urgency: Record<CheckStatus, number> = { failed: 0, warning: 1, ok: 2 };

/** Problems come first; the rest keeps the order of the server. */
export function mostUrgentFirst(checks: Check[]): Check[] {
  return [...checks].sort((a, b) => urgency[a.status] - urgency[b.status]);
}

const registryPrefix = "registry ";

/** All rules of the registry that hold are one line; each failed rule has its own line. */
export function foldRegistry(checks: Check[], describe: (count: number) => string): Check[] {
  const holds = (check: Check) => check.code.startsWith(registryPrefix) && check.status === "ok";
  const count = checks.filter(holds).length;
  if (count === 0) return checks;
  const first = checks.findIndex(holds);
  const folded: Check = { code: "registry", status: "ok", detail: describe(count), remedy: null };
  return checks.flatMap((check, index) => (index === first ? [folded] : holds(check) ? [] : [check]));
}
