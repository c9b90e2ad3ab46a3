// Where the graph is looked at from: screen = world * zoom + offset. Pure functions.

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Rect extends Size {
  x: number;
  y: number;
}

export const zoomMin = 0.25;
export const zoomMax = 2;
/** Below this zoom a step is a box without text. */
export const detailZoom = 0.5;
/** The words of a step are easy to read from this zoom on. */
const readableZoom = 0.8;
const slack = 160;
/** Room for the names of lanes at the left of a graph that is shown whole. */
export const laneGutter = 140;

export function clampZoom(zoom: number): number {
  return Math.min(zoomMax, Math.max(zoomMin, zoom));
}

function clampOffset(offset: number, zoom: number, world: number, view: number): number {
  const length = world * zoom;
  if (length <= view) return Math.min(Math.max(view - length, slack), Math.max(0, offset));
  return Math.min(slack, Math.max(view - length - slack, offset));
}

/** The graph never leaves the view: it may go only a little past its ends. */
export function clamp(camera: Camera, world: Size, view: Size): Camera {
  const zoom = clampZoom(camera.zoom);
  return {
    zoom,
    x: clampOffset(camera.x, zoom, world.width, view.width),
    y: clampOffset(camera.y, zoom, world.height, view.height),
  };
}

/** The point of the world under `at` (on the screen) stays there. */
export function zoomAt(camera: Camera, factor: number, at: { x: number; y: number }): Camera {
  const zoom = clampZoom(camera.zoom * factor);
  const ratio = zoom / camera.zoom;
  return { zoom, x: at.x - (at.x - camera.x) * ratio, y: at.y - (at.y - camera.y) * ratio };
}

/** The whole graph, at most at 100 %, in the middle of what is left over. */
export function fit(world: Size, view: Size, gutter = 0): Camera {
  const wanted = Math.min((view.width - gutter) / Math.max(1, world.width), view.height / Math.max(1, world.height), 1);
  const zoom = clampZoom(wanted);
  return {
    zoom,
    x: zoom < detailZoom ? gutter : Math.max(0, (view.width - world.width * zoom) / 2),
    y: Math.max(0, (view.height - world.height * zoom) / 2),
  };
}

/** How a graph is shown first: whole, unless its words would be too small to read but still be drawn. */
export function opening(world: Size, view: Size, gutter = 0): Camera {
  const whole = fit(world, view, gutter);
  if (whole.zoom < detailZoom || whole.zoom >= readableZoom) return whole;
  return { zoom: readableZoom, x: 0, y: Math.max(0, (view.height - world.height * readableZoom) / 2) };
}

export function centred(camera: Camera, rect: Rect, view: Size): Camera {
  return {
    zoom: camera.zoom,
    x: view.width / 2 - (rect.x + rect.width / 2) * camera.zoom,
    y: view.height / 2 - (rect.y + rect.height / 2) * camera.zoom,
  };
}

/** What of the world is on the screen, with a margin in pixels of the screen. */
export function seen(camera: Camera, view: Size, margin: number): Rect {
  return {
    x: (-camera.x - margin) / camera.zoom,
    y: (-camera.y - margin) / camera.zoom,
    width: (view.width + 2 * margin) / camera.zoom,
    height: (view.height + 2 * margin) / camera.zoom,
  };
}

export function holds(outer: Rect, inner: Rect): boolean {
  return (
    inner.x >= outer.x && inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height
  );
}

export function between(from: Camera, to: Camera, share: number): Camera {
  const eased = 1 - (1 - share) ** 3;
  const mix = (a: number, b: number) => a + (b - a) * eased;
  return { x: mix(from.x, to.x), y: mix(from.y, to.y), zoom: mix(from.zoom, to.zoom) };
}
