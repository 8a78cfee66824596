import type { EngineValue } from "@appdb/contract/types";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Slot } from "../compute/row-layout.ts";
import { JSON_TYPE, STRING_TYPE } from "../kinds/kinds.ts";
import { transportType } from "../kinds/storage-type.ts";
import type { SqlPool } from "../ports.ts";
import { arrayParameters } from "./row-parameters.ts";

let database: TestDatabase;
let sql: SqlPool;

beforeEach(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 1, application_name: "parameters test" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

async function stored(type: Slot["type"], values: readonly EngineValue[]): Promise<unknown[]> {
  const slot: Slot = { name: "value", type, nullable: true, at: 0, origin: "input" };
  const parameters = arrayParameters(
    [slot],
    values.map((value) => [value]),
  );
  expect(parameters[0]).toBeInstanceOf(Buffer);
  const { rows } = await sql.query({
    text: `select value from unnest($1::${transportType(type)}[]) as u(value)`,
    values: parameters,
  });
  return rows.map(([value]) => value);
}

const LONG = "x".repeat(5_000);

test("long texts arrive as they are, with quotes, nulls and characters of every length", async () => {
  const texts = [LONG, null, "", "NULL", `"\\{},'`, "é\u2028😀", `${LONG}"\\`, "\ufeff\u0001\n"];
  expect(await stored(STRING_TYPE, texts)).toEqual(texts);
});

test("long Json keeps its text", async () => {
  const texts = [`{"a" : "${LONG}", "b":1.50}`, null, '"\\u0000"', "12345678901234567890", '{"a":1,"a":2}'];
  expect(await stored(JSON_TYPE, texts)).toEqual(texts);
});

test("long arrays of texts arrive with all their elements", async () => {
  const type = { kind: "array", dtype: "string", shape: [null] } as unknown as Slot["type"];
  const rows = await stored(type, [JSON.stringify([LONG, 'a"b\\', "é"]), null]);
  expect(rows).toEqual([`{"${LONG}","a\\"b\\\\","é"}`, null]);
});
