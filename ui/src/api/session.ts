import { getJson, sendJson } from "./request";

/** Who is signed in, and what the person may do. */
export interface Account {
  name: string;
  kind: string;
  title: string | null;
  tenant: string;
  roles: string[];
  verbs: string[];
  ends_at: string | null;
  csrf_token: string | null;
}

export interface Entered {
  name: string;
  csrf_token: string;
}

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
