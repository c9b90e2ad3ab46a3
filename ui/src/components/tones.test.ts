import { expect, test } from "vitest";

import { iconOf, icons, toneOf } from "./tones";

test("the registry's colour decides the tone", () => {
  expect(["yellow", "green_deep", "red", "gray"].map((name) => toneOf(`ui.traffic_light.${name}`))).toEqual([
    "warning",
    "ok",
    "failed",
    "quiet",
  ]);
});

test("what the registry names and we do not know is drawn quietly", () => {
  expect(toneOf("ui.traffic_light.violet")).toBe("quiet");
  expect(toneOf("green")).toBe("quiet");
  expect(iconOf("icon.unheard_of")).toBe(icons.dot);
});
