import { describe, expect, test } from "vitest";

import { stateDrawings, stateIcon } from "../icons";
import { sheetOf, tokenName } from "./paint";
import { fill } from "./words";

const green = {
  token: "ui.traffic_light.green", fg: "#FFFFFF", bg: "#04875E", shape: "triangle_filled",
  high_contrast: { fg: "#000000", bg: "#34D399" },
};

describe("the style sheet of the tokens", () => {
  test("has the usual pair, and the high-contrast pair for dark themes", () => {
    const [usual, dark, rule] = sheetOf([green]).split("\n");
    expect(usual).toBe(":root { --tl-green-fg: #FFFFFF; --tl-green-bg: #04875E; }");
    expect(dark).toContain('[data-theme="contrast"]');
    expect(dark).toContain("--tl-green-bg: #34D399");
    expect(rule).toBe('[data-tl="green"] { --fg: var(--tl-green-fg); --bg: var(--tl-green-bg); }');
  });

  test("leaves out what is no colour or no name", () => {
    expect(sheetOf([{ ...green, bg: "red} body{display:none" }])).not.toContain("display");
    expect(sheetOf([{ ...green, token: "ui.traffic_light.x] {} [y" }])).not.toContain("[y");
    expect(tokenName("ui.other.green")).toBe("");
  });
});

test("no two states have the same drawing, and an unknown icon is drawn quietly", () => {
  const drawings = Object.values(stateDrawings).map((strokes) => JSON.stringify(strokes));
  expect(new Set(drawings).size).toBe(drawings.length);
  expect(stateIcon("icon.unheard_of")).toHaveLength(1);
  expect(stateIcon("icon.constructor")).toEqual(stateIcon("icon.unheard_of"));
});

test("values fill a text of the registry", () => {
  expect(fill("Retrying ({attempt}/{max_attempts})", { attempt: 2, max_attempts: 5 })).toBe("Retrying (2/5)");
});
