/** The least length of a new password; the server has the same. */
export const passwordMin = 10;

export interface Link {
  /** once: it signs in; link: it sets a password. */
  kind: "once" | "link";
  text: string;
}

/** The link in the fragment of an address, such as #link=swl_…; null if there is none. */
export function linkIn(hash: string): Link | null {
  const found = /^#(once|link)=([A-Za-z0-9_]{1,200})$/.exec(hash);
  return found ? { kind: found[1] as Link["kind"], text: found[2] as string } : null;
}

/** Where the work is: whoever asked for no page sees it first. */
const firstPage = "/governance/problems";

/** The page to show after signing in: a path of this server, never an address elsewhere. */
export function destination(asked: unknown): string {
  return typeof asked === "string" && /^\/[^/\\]/.test(asked) && !asked.startsWith("/sign-in") ? asked : firstPage;
}
