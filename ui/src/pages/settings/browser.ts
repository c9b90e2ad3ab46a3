// Which program a session is used from: receives what it says of itself, returns a few words.

/** The first that is found counts: many browsers also give the names of others. */
const programs: [pattern: RegExp, name: string][] = [
  [/Edg(?:e|A|iOS)?\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/(?:Headless)?(?:Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/Version\/(\d+).*Safari/, "Safari"],
];
const systems: [pattern: RegExp, name: string][] = [
  [/Windows/, "Windows"],
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Linux|X11/, "Linux"],
];

/** `Chrome 150 · Linux`; of a program that is no browser its first word. */
export function programName(userAgent: string | null): string {
  if (!userAgent) return "";
  const program = programs.find(([pattern]) => pattern.test(userAgent));
  if (!program) return (userAgent.split(" ")[0] ?? "").slice(0, 40);
  const system = systems.find(([pattern]) => pattern.test(userAgent));
  const version = program[0].exec(userAgent)?.[1] ?? "";
  return `${program[1]} ${version}${system ? ` · ${system[1]}` : ""}`;
}
