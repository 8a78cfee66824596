import { CONTROL_API } from "@appdb/contract/routes/control-api";
import { findTooMany, MAX_MEMBERS, MAX_VALUES } from "@appdb/http/value-bounds";
import { expect, test } from "vitest";
import * as z from "zod";
import { parseInput } from "./problems.ts";

test.each<[string, unknown, string]>([
  ["a long list", { a: [{ b: Array(MAX_MEMBERS + 1).fill(0) }] }, "50000 members"],
  ["a large object", Object.fromEntries(Array.from({ length: MAX_MEMBERS + 1 }, (_, at) => [at, 0])), "50000 members"],
  ["many lists", Array(MAX_VALUES / MAX_MEMBERS + 1).fill(Array(MAX_MEMBERS).fill(null)), "2000000 values"],
])("finds %s", (_what, document, said) => {
  expect(findTooMany(document)).toContain(said);
});

test.each([[undefined], [null], ["x"], [[null, undefined, [1, { a: null }]]], [Array(MAX_MEMBERS).fill({ a: 1 })]])(
  "finds nothing in a document within the bounds",
  (document) => {
    expect(findTooMany(document)).toBeUndefined();
  },
);

test("checks a document of any depth", () => {
  const depth = 1_000_000;
  expect(findTooMany(JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`))).toBeUndefined();
});

const bodies = Object.entries(CONTROL_API).flatMap(([name, one]): [string, z.ZodType][] =>
  "body" in one ? [[name, one.body]] : [],
);

// a schema error for each member would take seconds
test.each(bodies)("a body of %s is refused by size before its members are checked", (_name, schema) => {
  for (const [path, wrong] of wrongValues(schema)) {
    const body = path.reduceRight<unknown>((value, part) => (part === "*" ? [value] : { [part]: value }), wrong);
    expect(() => parseInput(schema, body, "body"), path.join("/")).toThrow(`${MAX_MEMBERS} members`);
  }
});

const LIST = Array(MAX_MEMBERS + 1).fill(0);
const OBJECT = Object.fromEntries(LIST.map((_, at) => [`k${at}`, 0]));

/** Creates many invalid members for each list and object of a schema. */
function wrongValues(schema: z.ZodType): [string[], unknown][] {
  // forms of a union have many paths in common
  const found = new Map<string, [string[], unknown]>();
  const look = (part: z.core.JSONSchema.BaseSchema | boolean | undefined, path: string[]): void => {
    if (typeof part !== "object" || path.length > 8) return;
    for (const one of [...(part.anyOf ?? []), ...(part.oneOf ?? []), ...(part.allOf ?? [])]) look(one, path);
    if (part.type === "array") {
      found.set(`list ${path.join("/")}`, [path, LIST]);
      if (!Array.isArray(part.items)) look(part.items, [...path, "*"]);
    }
    if (part.type !== "object") return;
    found.set(`object ${path.join("/")}`, [path, OBJECT]);
    for (const [name, one] of Object.entries(part.properties ?? {})) look(one, [...path, name]);
  };
  look(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), []);
  return [...found.values()];
}
