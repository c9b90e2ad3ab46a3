// The part of JSON Schema that a form is made of. The server checks what is sent; a form only helps to write it.

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

export interface Field {
  name: string;
  label: string;
  hint: string | null;
  kind: "text" | "number" | "boolean" | "choice" | "json";
  choices: string[];
  required: boolean;
  schema: Schema;
}

function typeOf(schema: Schema): string {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null") : [schema.type];
  return types.length === 1 ? (types[0] ?? "") : "";
}

export function fieldsOf(schema: Schema): Field[] {
  return Object.entries(schema.properties ?? {}).map(([name, one]) => {
    const type = typeOf(one);
    const isChoice = Array.isArray(one.enum) && one.enum.every((value) => typeof value === "string");
    const kinds: Record<string, Field["kind"]> = { string: "text", integer: "number", number: "number", boolean: "boolean" };
    return {
      name,
      label: one.title ?? name,
      hint: one.description ?? null,
      kind: isChoice ? "choice" : (kinds[type] ?? "json"),
      choices: isChoice ? (one.enum as string[]) : [],
      required: schema.required?.includes(name) ?? false,
      schema: one,
    };
  });
}

/** The value of what was typed; undefined leaves the field out. Throws for JSON that is none. */
export function valueOf(field: Field, typed: string): unknown {
  if (typed.trim() === "" && field.kind !== "text") return undefined;
  if (typed === "") return undefined;
  if (field.kind === "number") {
    const value = Number(typed);
    if (!Number.isFinite(value)) throw new SyntaxError(typed);
    return value;
  }
  return field.kind === "json" ? (JSON.parse(typed) as unknown) : typed;
}
