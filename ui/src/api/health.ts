import { getJson } from "./request";

export type CheckStatus = "ok" | "warning" | "failed";

export interface Check {
  code: string;
  status: CheckStatus;
  detail: string;
  remedy: string | null;
  /** Missing for messages of the database or the system. */
  detail_vi?: string | null;
  remedy_vi?: string | null;
}

export interface Database {
  kind: "embedded" | "external";
  version: string;
  started_at: string;
  size_bytes: number;
  connection_count: number;
  connection_limit: number;
}

export interface Schema {
  status: "current" | "pending" | "drifted";
  migration_count: number;
  latest_migration: string | null;
}

export interface Count {
  code: string;
  count: number;
  /** Counting stopped at a limit: there may be more. */
  is_at_least: boolean;
}

export interface Health {
  status: CheckStatus;
  version: string;
  python_version: string;
  checked_at: string;
  server_started_at: string;
  mode: "development" | "strict" | null;
  /** Who acts in development mode where nobody is bound. */
  person: string | null;
  database: Database | null;
  schema: Schema | null;
  counts: Count[];
  checks: Check[];
}

export function readHealth(signal?: AbortSignal): Promise<Health> {
  return getJson<Health>("/health", signal);
}
