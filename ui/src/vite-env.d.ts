/// <reference types="vite/client" />

/** The verifier of evidence bundles: the file that every bundle contains. */
declare module "*/verify.mjs" {
  export interface Finding {
    code: string;
    place: string;
    kind: string;
    detail: string;
  }
  export interface Trust {
    head: string | null;
    anchored: object[] | null;
    later: unknown;
    keys: string[] | null;
  }
  type Text = string | null;
  export interface Vote {
    voter: Text;
    decision: Text;
    reason: Text;
  }
  export interface Documents {
    manifest: { run_id: bigint; workflow: Text; state: Text; head: { block_no: bigint; block_hash: string } };
    records: {
      "events.jsonl": object[];
      "approvals.json": [{ approval_id: bigint; action: Text; state_code: Text; requested_by: Text; votes: Vote[] }[]];
      "decisions.json": [{ verdict_id: bigint | null; effect: Text; operation: Text; target: Text; reason: Text }[]];
      "receipts.json": [{ receipt_id: bigint; operation: Text; target: Text; state_code: Text }[]];
    };
  }
  export function verify(data: Uint8Array, trust: Trust): Finding[];
  export function read(data: Uint8Array): Documents;
  export function readAnchor(data: Uint8Array): object[];
  export function readKeys(data: Uint8Array): string[];
  export function parse(text: string, isStrict: boolean): unknown;
  export function sha256(data: Uint8Array): Uint8Array;
}
