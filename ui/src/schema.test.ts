import { expect, test } from "vitest";

import { fieldsOf, valueOf, type Field } from "./schema";

const fields = fieldsOf({
  type: "object",
  required: ["order"],
  properties: {
    order: { type: "string", title: "Order" },
    count: { type: ["integer", "null"] },
    kind: { enum: ["small", "large"] },
    fast: { type: "boolean" },
    lines: { type: "array", items: { type: "string" } },
  },
});

test("each property is a field of its kind", () => {
  expect(fields.map((field) => [field.name, field.kind, field.required])).toEqual([
    ["order", "text", true], ["count", "number", false], ["kind", "choice", false], ["fast", "boolean", false], ["lines", "json", false],
  ]);
  expect(fields[0]?.label).toBe("Order");
});

test("what is typed becomes a value, and an empty field is left out", () => {
  const [order, count, , , lines] = fields as [Field, Field, Field, Field, Field];
  expect(valueOf(count, "4")).toBe(4);
  expect(valueOf(count, " ")).toBeUndefined();
  expect(valueOf(order, "")).toBeUndefined();
  expect(valueOf(lines, '["a"]')).toEqual(["a"]);
  expect(() => valueOf(lines, "[")).toThrow(SyntaxError);
  expect(() => valueOf(count, "four")).toThrow(SyntaxError);
});
