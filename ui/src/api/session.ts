import { getJson, sendJson } from "./request";
import type { Answer } from "./types";

/** Who is signed in, and what the person may do. */
export type Account = Answer<"read_session">;
export type Entered = Answer<"sign_in">;

export function readSession(signal?: AbortSignal): Promise<Account> {
  return getJson<Account>("/session", signal);
}

export function enterByPassword(tenant: string, name: string, password: string): Promise<Entered> {
  return sendJson<Entered>("POST", "/session", { tenant, name, password });
}

/** A link that works once. Without a password it is the link of the development mode. */
export function enterByLink(link: string, password: string | null): Promise<Entered> {
  return sendJson<Entered>("POST", "/session/link", { link, password });
}

export function leave(): Promise<unknown> {
  return sendJson("DELETE", "/session");
}
