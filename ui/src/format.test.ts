import { describe, expect, test } from "vitest";

import { formatBytes, formatCount, formatRelative, runName, shortNumber, starter } from "./format";

const now = new Date("2026-03-01T12:00:00Z");
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);

describe("formatBytes", () => {
  test("keeps one decimal only where it says something", () => {
    expect(formatBytes(512, "en")).toBe("512 byte");
    expect(formatBytes(1_572_864, "en")).toBe("1.5 MB");
    expect(formatBytes(31 * 1024 * 1024, "en")).toBe("31 MB");
  });
  test("stops at terabytes", () => {
    expect(formatBytes(5 * 1024 ** 5, "en")).toBe("5,120 TB");
  });
});

test("counts are grouped as the language does", () => {
  expect(formatCount(1234567, "en")).toBe("1,234,567");
  expect(formatCount(1234567, "vi")).toBe("1.234.567");
});

describe("formatRelative", () => {
  test("never rounds up to the next unit", () => {
    expect(formatRelative(ago(119), now, "en")).toBe("1 minute ago");
    expect(formatRelative(ago(3_599), now, "en")).toBe("59 minutes ago");
    expect(formatRelative(ago(86_399), now, "en")).toBe("23 hours ago");
  });
  test("says now for this very second", () => {
    expect(formatRelative(now, now, "en")).toBe("now");
  });
  test("counts days as hours, not by the calendar", () => {
    expect(formatRelative(ago(86_400 * 1.9), now, "en")).toBe("1 day ago");
    expect(formatRelative(ago(-86_400 * 2.9), now, "vi")).toBe("sau 2 ngày nữa");
  });
  test("looks ahead, and never promises more time than there is", () => {
    expect(formatRelative(ago(-119), now, "en")).toBe("in 1 minute");
    expect(formatRelative(ago(-86_399), now, "en")).toBe("in 23 hours");
    expect(formatRelative(ago(-86_400 * 2.9), now, "en")).toBe("in 2 days");
  });
  test("speaks Vietnamese", () => {
    expect(formatRelative(ago(7_200), now, "vi")).toBe("2 giờ trước");
    expect(formatRelative(ago(-7_200), now, "vi")).toBe("sau 2 giờ nữa");
  });
});

describe("the number of a unit", () => {
  test("is the one that the command line writes", () => {
    expect(shortNumber("217055232")).toBe("207");
    expect(shortNumber(7 * 2 ** 20 + 3)).toBe("7.3");
    expect(shortNumber((1n << 40n).toString())).toBe("1048576.0");
  });
  test("stays as it is when it is no number of the database", () => {
    expect(shortNumber("none")).toBe("none");
  });
});

describe("a run", () => {
  test("is called by the key of its start, or by its number", () => {
    expect(runName({ run_id: "7", trigger_ref: "A-1", parent_run_id: null })).toBe("A-1");
    expect(runName({ run_id: "7", trigger_ref: null, parent_run_id: null })).toBe("#7");
  });
  test("of a sub-workflow shows no number of the engine", () => {
    expect(runName({ run_id: "223", trigger_ref: "179306503:1", parent_run_id: "171" })).toBe("#223");
    expect(starter("unit:179306503")).toBe("171.7");
    expect(starter("hoa")).toBe("hoa");
    expect(starter(null)).toBe("–");
  });
});
