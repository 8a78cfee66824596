import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { quoteIdent, quoteLiteral } from "./quote.ts";

let database: TestDatabase;
let pool: SqlPool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPgPool({ dsn: database.dsn, max: 1, application_name: "literals" });
});

afterAll(async () => {
  await pool?.[Symbol.asyncDispose]();
  await database?.drop();
});

const HOSTILE = [
  "'); drop table victim; --",
  "\\'); drop table victim; --",
  "\\\\'; drop table victim; --",
  "$$; drop table victim; $$",
  'a"; drop table victim; --',
  "E'\\047'",
  "line\nbreak\\n\\x41\\u0041",
  "\u2019'\u02bc",
];

test.each(["on", "off"])("hostile text round-trips, standard_conforming_strings %s", async (setting) => {
  await pool.withConnection(async (connection) => {
    await connection.query({ text: `set standard_conforming_strings = ${setting}` });
    await connection.query({ text: "create temp table victim (x int4)" });
    for (const text of HOSTILE) {
      const { rows } = await connection.query({ text: `select ${quoteLiteral(text)}, 1 as ${quoteIdent(text)}` });
      expect(rows).toEqual([[text, "1"]]);
    }
    expect((await connection.query({ text: "select count(*) from victim" })).rows).toEqual([["0"]]);
    await connection.query({ text: "drop table victim" });
  });
});
