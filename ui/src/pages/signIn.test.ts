import { describe, expect, it } from "vitest";

import { destination, linkIn } from "./signIn";

describe("the link in an address", () => {
  it.each([
    ["#link=swl_0aF", { kind: "link", text: "swl_0aF" }],
    ["#once=swl_1", { kind: "once", text: "swl_1" }],
    ["#other=swl_1", null],
    ["#link=", null],
    ["#link=a&b=c", null],
    ["", null],
  ])("%s", (hash, found) => {
    expect(linkIn(hash)).toEqual(found);
  });
});

describe("the page after signing in", () => {
  it.each([
    ["/approvals/7?state=all", "/approvals/7?state=all"],
    ["//elsewhere.example", "/governance/problems"],
    ["/\\elsewhere.example", "/governance/problems"],
    ["https://elsewhere.example", "/governance/problems"],
    ["/sign-in", "/governance/problems"],
    ["/", "/governance/problems"],
    [undefined, "/governance/problems"],
    [["/a", "/b"], "/governance/problems"],
  ])("%s", (asked, found) => {
    expect(destination(asked)).toBe(found);
  });
});
