// A JSON value as lines: receives a value and what is folded, returns the lines that are in view.

export interface JsonLine {
  path: string;
  depth: number;
  name: string | null;
  /** The value as text; for a list or an object how many entries it has. */
  text: string;
  kind: "text" | "number" | "word" | "open";
  isFolded: boolean;
  /** A long text is cut until somebody asks for it. */
  isCut: boolean;
}

export const linesMax = 500;
export const textMax = 400;
const foldFrom = 60;

function entriesOf(value: unknown): [string, unknown][] | null {
  if (Array.isArray(value)) return value.map((one, at) => [String(at), one]);
  return typeof value === "object" && value !== null ? Object.entries(value) : null;
}

/** A long list is folded at first; `turned` holds the paths that the person turned. */
export function jsonLines(
  value: unknown, turned: ReadonlySet<string>, most = linesMax, whole: ReadonlySet<string> = new Set(),
): { lines: JsonLine[]; isCut: boolean } {
  const lines: JsonLine[] = [];
  let isCut = false;
  const walk = (one: unknown, name: string | null, path: string, depth: number): void => {
    if (lines.length >= most) {
      isCut = true;
      return;
    }
    const entries = entriesOf(one);
    if (!entries) {
      const text = JSON.stringify(one) ?? "null";
      const kind = typeof one === "string" ? "text" : typeof one === "number" ? "number" : "word";
      const isLong = text.length > textMax && !whole.has(path);
      lines.push({ path, depth, name, kind, isFolded: false, isCut: isLong, text: isLong ? `${text.slice(0, textMax)}…` : text });
      return;
    }
    const isFolded = (depth > 0 && entries.length > foldFrom) !== turned.has(path);
    const [left, right] = Array.isArray(one) ? ["[", "]"] : ["{", "}"];
    lines.push({ path, depth, name, kind: "open", isFolded, isCut: false, text: `${left}${entries.length}${right}` });
    if (!isFolded) for (const [key, inner] of entries) walk(inner, key, `${path}/${key}`, depth + 1);
  };
  walk(value, null, "", 0);
  return { lines, isCut };
}

/** Lines whose name or value has the words. */
export function matching(lines: readonly JsonLine[], words: string): Set<string> {
  const sought = words.trim().toLowerCase();
  if (sought === "") return new Set();
  return new Set(lines.filter((line) => `${line.name ?? ""} ${line.text}`.toLowerCase().includes(sought)).map((line) => line.path));
}
