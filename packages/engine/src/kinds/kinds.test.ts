import { REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import { type EngineValue, TYPE_KINDS } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { literalValue } from "../expressions/testing/random-trees.ts";
import { ValueError } from "../values/value-error.ts";
import { KINDS, kindOf } from "./kinds.ts";
import { isMedia } from "./media.ts";

const SAMPLES = TYPE_KINDS.flatMap((kind) => KINDS[kind].samples.values.map((value) => ({ kind, value })));

/** Some readers return bytes as Buffers, others as arrays. */
function plain(value: EngineValue | ValueError): unknown {
  return value instanceof Uint8Array ? [...value] : value;
}

test.each(SAMPLES)("a $kind survives its JSON: $value", ({ kind, value }) => {
  const { parse, toJson, samples } = KINDS[kind];
  if (isMedia(kind)) {
    expect(toJson(String(value))).toBe(REFERENCE_START + value + REFERENCE_END);
    return;
  }
  const json = value === null ? "null" : toJson(value);
  const parsed = parse(JSON.parse(json), () => json, samples.type);
  // The samples include Json that no column can store.
  if (!(parsed instanceof ValueError)) expect(plain(parsed)).toStrictEqual(plain(value));
  else expect(samples.type).toEqual({ kind: "json" });
});

test.each(SAMPLES)("a $kind survives its literal: $value", ({ kind, value }) => {
  const { fromLiteral, literalSql, samples } = KINDS[kind];
  const literal = literalValue(kind, value);
  expect(literal).not.toBeNull();
  expect(plain(fromLiteral(literal as string))).toStrictEqual(plain(value));
  expect(literalSql(literal as string, samples.type)).toBeDefined();
});

test.each(TYPE_KINDS)("the example of a %s is a value of its type", (kind) => {
  const { example, parse, schema } = kindOf({ kind });
  const { type } = KINDS[kind].samples;
  const value = example(type);
  expect(parse(value, () => JSON.stringify(value), type)).not.toBeInstanceOf(ValueError);
  expect(schema(type)).toHaveProperty("type");
});

test.each(TYPE_KINDS)("a %s is only cast to kinds", (kind) => {
  expect(TYPE_KINDS).toEqual(expect.arrayContaining(Object.keys(KINDS[kind].casts)));
});
