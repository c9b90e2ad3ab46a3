import { shallowRef } from "vue";

import type { operations } from "./api/openapi";
import { asProblem, onSignedOut, setCsrfToken } from "./api/request";
import { enterByLink, enterByPassword, leave, readSession, type Account } from "./api/session";

/** Who is signed in; null: nobody; undefined: not read yet. The session itself is a cookie that no script can read. */
export const account = shallowRef<Account | null | undefined>(undefined);

onSignedOut(() => {
  account.value = null;
});

/** Reads who is signed in. Without an answer of the server it stays unknown: the page shows the problem. */
export async function loadSession(): Promise<void> {
  try {
    const found = await readSession();
    setCsrfToken(found.csrf_token);
    account.value = found;
  } catch (cause) {
    if (asProblem(cause).details.status === 401) account.value = null;
  }
}

export async function signIn(tenant: string, name: string, password: string): Promise<void> {
  setCsrfToken((await enterByPassword(tenant, name, password)).csrf_token);
  await loadSession();
}

export async function signInByLink(link: string, password: string | null): Promise<void> {
  setCsrfToken((await enterByLink(link, password)).csrf_token);
  await loadSession();
}

export async function signOut(): Promise<void> {
  await leave();
  setCsrfToken(null);
  account.value = null;
}

/** Whether the server would take this operation from who is signed in. It checks again with each call. */
export function may(operation: keyof operations): boolean {
  return account.value?.operations.includes(operation) ?? false;
}
