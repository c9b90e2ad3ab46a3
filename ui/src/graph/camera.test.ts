import { describe, expect, test } from "vitest";

import { between, centred, clamp, fit, holds, opening, seen, zoomAt, zoomMax, zoomMin } from "./camera";

const view = { width: 800, height: 600 };
const world = { width: 4000, height: 3000 };

describe("the camera", () => {
  test("keeps the point under the pointer when it zooms", () => {
    const before = { x: -100, y: -50, zoom: 1 };
    const after = zoomAt(before, 1.5, { x: 300, y: 200 });
    expect((300 - after.x) / after.zoom).toBeCloseTo(400);
    expect((200 - after.y) / after.zoom).toBeCloseTo(250);
  });

  test("zooms from 25 to 200 %", () => {
    expect(zoomAt({ x: 0, y: 0, zoom: 1 }, 100, { x: 0, y: 0 }).zoom).toBe(zoomMax);
    expect(zoomAt({ x: 0, y: 0, zoom: 1 }, 0.001, { x: 0, y: 0 }).zoom).toBe(zoomMin);
  });

  test("shows all of a graph, and never larger than it is", () => {
    const whole = fit(world, view);
    expect(holds(seen(whole, view, 1), { x: 0, y: 0, ...{ width: world.width, height: 2400 } })).toBe(false);
    expect(fit({ width: 1600, height: 600 }, view).zoom).toBe(0.5);
    expect(fit({ width: 10, height: 10 }, view).zoom).toBe(1);
  });

  test("opens a graph whole, or as large as its words can be read", () => {
    expect(opening({ width: 900, height: 500 }, view).zoom).toBeCloseTo(0.889, 2);
    expect(opening({ width: 1300, height: 600 }, view).zoom).toBe(0.8);
    expect(opening(world, view).zoom).toBe(zoomMin);
  });

  test("never loses the graph", () => {
    const far = clamp({ x: 99_999, y: -99_999, zoom: 1 }, world, view);
    const shown = seen(far, view, 0);
    expect(shown.x).toBeLessThan(world.width);
    expect(shown.y).toBeLessThan(world.height);
    expect(shown.x + shown.width).toBeGreaterThan(0);
  });

  test("puts a box into the middle", () => {
    const camera = centred({ x: 0, y: 0, zoom: 2 }, { x: 100, y: 100, width: 20, height: 20 }, view);
    expect(110 * 2 + camera.x).toBe(400);
    expect(110 * 2 + camera.y).toBe(300);
  });

  test("glides from one place to the other and ends there", () => {
    const [from, to] = [{ x: 0, y: 0, zoom: 1 }, { x: 10, y: 20, zoom: 2 }];
    expect(between(from, to, 0)).toEqual(from);
    expect(between(from, to, 1)).toEqual(to);
  });
});
