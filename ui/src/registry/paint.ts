import type { Schemas } from "../api/types";

// The colours of the registry as one style sheet: what has the attribute data-tl gets --fg and --bg.

export type Pair = Schemas["Pair"];
export type ColourToken = Schemas["ColourToken"];

const prefix = "ui.traffic_light.";
const colourPattern = /^#[0-9a-f]{6}$/i;
const namePattern = /^[a-z0-9_]+$/;

/** `ui.traffic_light.green` → `green`; a colour outside the traffic light has no name. */
export function tokenName(token: string): string {
  const name = token.startsWith(prefix) ? token.slice(prefix.length) : "";
  return namePattern.test(name) ? name : "";
}

function variables(colours: ColourToken[], pairOf: (colour: ColourToken) => Pair): string {
  return colours.map((colour) => {
    const [name, pair] = [tokenName(colour.token), pairOf(colour)];
    return `--tl-${name}-fg: ${pair.fg}; --tl-${name}-bg: ${pair.bg};`;
  }).join(" ");
}

/** Dark and high contrast use the high-contrast pair. A row that is no colour is left out. */
export function sheetOf(colours: ColourToken[]): string {
  const known = colours.filter(
    (colour) =>
      tokenName(colour.token) !== "" &&
      [colour.fg, colour.bg, colour.high_contrast.fg, colour.high_contrast.bg].every((hex) => colourPattern.test(hex)),
  );
  return [
    `:root { ${variables(known, (colour) => colour)} }`,
    `:root[data-theme="dark"], :root[data-theme="contrast"] { ${variables(known, (colour) => colour.high_contrast)} }`,
    ...known.map((colour) => {
      const name = tokenName(colour.token);
      return `[data-tl="${name}"] { --fg: var(--tl-${name}-fg); --bg: var(--tl-${name}-bg); }`;
    }),
  ].join("\n");
}

let sheet: CSSStyleSheet | null = null;

export function paint(colours: ColourToken[]): void {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  sheet.replaceSync(sheetOf(colours));
}
