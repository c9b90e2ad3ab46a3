// The drawing of each icon name. Which state has which icon is said by the registry of the server.

export interface Stroke {
  d: string;
  filled?: boolean;
  width?: number;
}

function ring(x: number, y: number, radius: number): string {
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
}

function thick(d: string): Stroke[] {
  return [{ d, width: 2 }];
}

function thin(...parts: string[]): Stroke[] {
  return [{ d: parts.join("") }];
}

/** Icons of states and facets; their names come from the registry. */
export const stateDrawings: Record<string, Stroke[]> = {
  circle_hollow: thin(ring(8, 8, 4.5)),
  play_outline: thin("M5.5 4l6 4-6 4z"),
  play_filled: [{ d: "M5.5 3.6l6.6 4.4-6.6 4.4z", filled: true }],
  triangle_filled: [{ d: "M5 3.4l7 4.6-7 4.6z", filled: true }],
  triangle_outline: thin("M5 3.8l6.6 4.2L5 12.2z"),
  hourglass: thin(
    "M4.5 2.8h7M4.5 13.2h7M5.3 2.8c0 2.9 2.7 3.4 2.7 5.2s-2.7 2.3-2.7 5.2M10.7 2.8c0 2.9-2.7 3.4-2.7 5.2s2.7 2.3 2.7 5.2",
  ),
  warn_filled: thin("M8 2.6L14 13H2zM8 6.4v3M8 11.2v.1"),
  clock_alert: thin(ring(8, 8.4, 5), "M8 5.6v2.9l1.9 1.3M3 3.2L4.6 2M13 3.2L11.4 2"),
  cross_filled: thick("M4.4 4.4l7.2 7.2M11.6 4.4l-7.2 7.2"),
  stop_filled: [{ d: "M5.6 2.6h4.8l3 3v4.8l-3 3H5.6l-3-3V5.6z" }, { d: "M5.4 8h5.2", width: 2 }],
  check_filled: thick("M3.6 8.4l3 3 5.8-6.2"),
  pause_filled: thick("M5.6 4v8M10.4 4v8"),
  cancel_filled: thin(ring(8, 8, 5.2), "M4.5 11.5l7-7"),
  skip_outline: thin("M3 10.5c0-3 2-5 4.6-5 2.3 0 3.9 1.3 4.6 3.4M12.8 5.2l-.4 3.9-3.8-.6"),
  undo: thin("M5 3L2.5 5.5 5 8M2.5 5.5H9a4 4 0 0 1 0 8H6"),
  link: thin(ring(4, 8, 2), ring(12, 8, 2), "M6 8h4"),
  person: thin(ring(8, 5.2, 2.5), "M3.2 13.2c.5-2.6 2.3-4 4.8-4s4.3 1.4 4.8 4"),
  globe: thin("M6 3H3.5v9.5H13V10M9 3h4v4M13 3L7.5 8.5"),
  clock: thin(ring(8, 8, 5.4), "M8 5v3.2l2.1 1.3"),
  retry: thin("M13 8a5 5 0 1 1-1.6-3.7M13 2.6v3h-3"),
};

/** Icons of the console itself. */
const ownDrawings: Record<string, Stroke[]> = {
  dot: [{ d: ring(8, 8, 2.5), filled: true }],
  branch: thin("M8 2.5L13.5 8 8 13.5 2.5 8z"),
  health: thin("M2 8.5h3l1.6-4 2.6 7 1.6-3H14"),
  runs: thin(ring(3.6, 8, 1.6), ring(12.4, 4, 1.6), ring(12.4, 12, 1.6), "M5.2 8h2.3c1.8 0 1.4-4 3.3-4M7.5 8c1.8 0 1.4 4 3.3 4"),
  flows: thin("M2.5 3.5a1 1 0 0 1 1-1h2.4a1 1 0 0 1 1 1v2.4a1 1 0 0 1-1 1H3.5a1 1 0 0 1-1-1zM9.1 10.1a1 1 0 0 1 1-1h2.4a1 1 0 0 1 1 1v2.4a1 1 0 0 1-1 1h-2.4a1 1 0 0 1-1-1zM4.7 6.9v4.4h4.4"),
  graphs: thin(ring(3.6, 4, 1.6), ring(3.6, 12, 1.6), ring(12.4, 8, 1.6), "M5.2 4.4L10.9 7.4M5.2 11.6l5.7-3"),
  approve: thin("M8 2l5 1.8v4c0 3-2 5.2-5 6.2-3-1-5-3.2-5-6.2v-4zM5.8 7.9l1.6 1.6 2.9-3"),
  audit: thin("M4 2.5h5.5L12.5 5.5v8H4zM9.3 2.5v3.2h3.2M6 8.5h4.4M6 10.9h4.4"),
  problems: thin("M8 2.4l5.8 10.3H2.2zM8 6.4v3M8 11v.1"),
  dead: thin("M2.5 4h11v8.5h-11zM2.5 4.5L8 9l5.5-4.5"),
  workers: thin("M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1M8 5h3M8 11h3"),
  inbox: thin("M2.5 9.5h3l1 2h3l1-2h3M2.5 9.5v3.5h11V9.5L11.6 3.5H4.4z"),
  settings: thin(ring(8, 8, 2.1), "M8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6l1.4 1.4M11 11l1.4 1.4M12.4 3.6L11 5M5 11l-1.4 1.4"),
  search: thin(ring(7, 7, 4.2), "M10.2 10.2l3.3 3.3"),
  close: thin("M4.5 4.5l7 7M11.5 4.5l-7 7"),
  down: thin("M4.5 6.5L8 10l3.5-3.5"),
  up: thin("M4.5 9.5L8 6l3.5 3.5"),
  right: thin("M6.5 4.5L10 8l-3.5 3.5"),
  left: thin("M9.5 4.5L6 8l3.5 3.5"),
  plus: thin("M8 3.5v9M3.5 8h9"),
  minus: thin("M3.5 8h9"),
  copy: thin("M5.5 7a1.5 1.5 0 0 1 1.5-1.5h5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5H7A1.5 1.5 0 0 1 5.5 12zM10.5 5.5v-3h-8v8h3"),
  share: thin("M6.8 9.2l2.4-2.4M7.4 5l1.2-1.2a2.5 2.5 0 0 1 3.6 3.6L11 8.6M8.6 11l-1.2 1.2a2.5 2.5 0 0 1-3.6-3.6L5 7.4"),
  pause: thin("M5.8 4v8M10.2 4v8"),
  play: thin("M5.5 3.6l6.6 4.4-6.6 4.4z"),
  list: thin("M5.5 4h8M5.5 8h8M5.5 12h8M2.6 4h.1M2.6 8h.1M2.6 12h.1"),
  gantt: thick("M2.5 4H8M5 8h6M8.5 12h5"),
  fit: thin("M3 6V3h3M13 6V3h-3M3 10v3h3M13 10v3h-3"),
  sub: thin("M2.5 5A1.5 1.5 0 0 1 4 3.5h8A1.5 1.5 0 0 1 13.5 5v6a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 11zM6.5 6l2 2-2 2"),
  map: thin("M3 4h7v7H3zM6 13h7V6"),
  pin: thin("M8 9.8V14M5 9.8h6l-1.2-2.2V3.2h.7M9.8 3.2H5.5M6.2 3.2v4.4L5 9.8"),
  seal: thin(ring(8, 6.4, 3.9), "M5.6 9.6L4.6 14 8 12.3 11.4 14l-1-4.4M6.4 6.5l1.1 1.1 2-2.2"),
  code: thin("M5.5 5L2.5 8l3 3M10.5 5l3 3-3 3"),
  flag: thin("M4 14V2.5M4 3h7.5L10 6l1.5 3H4"),
  leave: thin("M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3"),
  menu: thin("M2.5 4.5h11M2.5 8h11M2.5 11.5h11"),
};

const unknown: Stroke[] = thin(ring(8, 8, 3));

/** The drawing of an icon of the registry, such as `icon.hourglass`; an unknown one is a small ring. */
export function stateIcon(iconToken: string): Stroke[] {
  const name = iconToken.replace(/^icon\./, "");
  return (Object.hasOwn(stateDrawings, name) ? stateDrawings[name] : undefined) ?? unknown;
}

export function ownIcon(name: string): Stroke[] {
  const all = Object.hasOwn(ownDrawings, name) ? ownDrawings : stateDrawings;
  return all[name] ?? unknown;
}
