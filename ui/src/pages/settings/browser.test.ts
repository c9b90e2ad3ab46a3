import { expect, test } from "vitest";

import { programName } from "./browser";

const webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";

test("a browser is named with its version and its system", () => {
  expect(programName(`Mozilla/5.0 (X11; Linux x86_64) ${webkit} HeadlessChrome/150.0.7871.100 Safari/537.36`)).toBe("Chrome 150 · Linux");
  expect(programName(`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/149.0.0.0 Safari/537.36 Edg/149.0.1.2`)).toBe("Edge 149 · Windows");
  expect(programName("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0")).toBe("Firefox 140 · macOS");
  expect(programName(`Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) ${webkit} Version/19.0 Mobile/15E148 Safari/604.1`)).toBe("Safari 19 · iOS");
});

test("what is no browser is named by its first word, and nothing is nothing", () => {
  expect(programName("curl/8.9.1")).toBe("curl/8.9.1");
  expect(programName("x".repeat(90))).toHaveLength(40);
  expect(programName(null)).toBe("");
});
