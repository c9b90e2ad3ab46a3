import { getJson, sendJson } from "./request";
import type { Answer, Body, Schemas } from "./types";

export type Person = Schemas["PersonView"];
export type Role = Schemas["RoleView"];
export type Token = Schemas["TokenView"];
export type Session = Schemas["SessionView"];
export type NewPerson = Body<"add_person">;
export type PersonChange = Body<"change_person">;
export type NewToken = Body<"make_token">;

const one = encodeURIComponent;

export function readPeople(cursor: string | null, signal?: AbortSignal): Promise<Answer<"list_people">> {
  const query = new URLSearchParams({ limit: "200", ...(cursor === null ? {} : { cursor }) });
  return getJson<Answer<"list_people">>(`/people?${query}`, signal);
}

export function readPerson(name: string, signal?: AbortSignal): Promise<Person> {
  return getJson<Person>(`/people/${one(name)}`, signal);
}

export function addPerson(person: NewPerson): Promise<Person> {
  return sendJson<Person>("POST", "/people", person);
}

export function changePerson(name: string, change: PersonChange): Promise<Person> {
  return sendJson<Person>("PATCH", `/people/${one(name)}`, change);
}

export function makeLink(name: string): Promise<Answer<"make_link">> {
  return sendJson<Answer<"make_link">>("POST", `/people/${one(name)}/links`, {});
}

export function readRoles(signal?: AbortSignal): Promise<Role[]> {
  return getJson<Answer<"list_roles">>("/roles", signal).then((page) => page.items);
}

export function readTokens(everybody: boolean, signal?: AbortSignal): Promise<Token[]> {
  return getJson<Answer<"list_tokens">>(`/tokens?limit=200&everybody=${everybody}`, signal).then((page) => page.items);
}

export function makeToken(token: NewToken): Promise<Answer<"make_token">> {
  return sendJson<Answer<"make_token">>("POST", "/tokens", token);
}

export function revokeToken(id: string): Promise<unknown> {
  return sendJson("DELETE", `/tokens/${one(id)}`);
}

export function readSessions(person: string | null, signal?: AbortSignal): Promise<Session[]> {
  const path = person === null ? "/sessions" : `/people/${one(person)}/sessions`;
  return getJson<Answer<"list_sessions">>(path, signal).then((page) => page.items);
}

export function endSession(id: string): Promise<unknown> {
  return sendJson("DELETE", `/sessions/${one(id)}`);
}

export function endSessions(person: string): Promise<Answer<"end_sessions_of">> {
  return sendJson<Answer<"end_sessions_of">>("DELETE", `/people/${one(person)}/sessions`);
}
