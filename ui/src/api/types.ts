import type { components, operations } from "./openapi";

// `openapi.d.ts` is made from the document of the server (`make docs`). Nothing here repeats its shapes.

export type Schemas = components["schemas"];

type Answers<O extends keyof operations> = operations[O]["responses"][keyof operations[O]["responses"]];

/** What an operation answers. */
export type Answer<O extends keyof operations> =
  Answers<O> extends { content: { "application/json": infer Body } } ? Body : null;

/** What an operation takes. */
export type Body<O extends keyof operations> =
  operations[O] extends { requestBody: { content: { "application/json": infer Taken } } } ? Taken : never;
