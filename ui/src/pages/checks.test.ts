import { expect, test } from "vitest";

import type { Check, CheckStatus } from "../api/health";
import { foldRegistry, mostUrgentFirst } from "./checks";

const check = (code: string, status: CheckStatus): Check => ({ code, status, detail: "", remedy: null });
const codes = (checks: Check[]) => checks.map((each) => each.code);

test("what failed stands on top, then warnings, else the server's order", () => {
  const checks = [check("a", "ok"), check("b", "warning"), check("c", "failed"), check("d", "ok")];
  expect(codes(mostUrgentFirst(checks))).toEqual(["c", "b", "a", "d"]);
});

test("rules that hold become one line in their place, a broken one stays visible", () => {
  const checks = [
    check("database", "ok"),
    check("registry floor_complete", "ok"),
    check("registry facets_complete", "failed"),
    check("registry dialects_total", "ok"),
    check("workers", "ok"),
  ];
  const folded = foldRegistry(checks, (count) => `${count} hold`);
  expect(codes(folded)).toEqual(["database", "registry", "registry facets_complete", "workers"]);
  expect(folded[1]?.detail).toBe("2 hold");
});

test("without a registry nothing is folded", () => {
  const checks = [check("database", "failed")];
  expect(foldRegistry(checks, String)).toEqual(checks);
});
