import { expect, test } from "vitest";

import { iconOf, icons, labelOf, toneOf } from "./tones";

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

test("a state is named in the language of the page, and by its code where the registry is silent", () => {
  const face = { label_en: "Requested", label_vi: "Chờ duyệt", color_token: "", icon_token: "" };
  expect([labelOf("requested", face, "en"), labelOf("requested", face, "vi")]).toEqual(["Requested", "Chờ duyệt"]);
  expect(labelOf("requested", null, "en")).toBe("requested");
});
