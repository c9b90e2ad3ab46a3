import { getJson } from "./request";
import type { Answer, Schemas } from "./types";

export type Health = Answer<"read_health">;
export type Check = Schemas["Check"];
export type CheckStatus = Check["status"];
export type Count = Schemas["Count"];

export function readHealth(signal?: AbortSignal): Promise<Health> {
  return getJson<Health>("/health", signal);
}
