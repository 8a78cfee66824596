import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { SchemaPlan } from "@appdb/contract/plan";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { applySchema } from "./apply-schema.ts";
import { ensureCatalog } from "./ensure-catalog.ts";
import { loadCatalog } from "./load-catalog.ts";
import { planSchema } from "./plan-schema.ts";

let database: TestDatabase;
let sql: SqlPool;

beforeEach(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 4, application_name: "apply test" });
  await ensureCatalog(sql);
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

async function plan(manifest: Manifest, target = "main"): Promise<SchemaPlan> {
  return planSchema({ manifest, catalog: await loadCatalog(sql), target }).plan;
}

async function apply(
  manifest: Manifest,
  options: { target?: string; allow_destructive?: boolean; catalog_version?: number } = {},
): Promise<{ plan: SchemaPlan; jobs: readonly string[] }> {
  const { version } = await loadCatalog(sql);
  const deps = { sql, clock: { now: Date.now }, log: createSilentLog() };
  const input = { manifest, target: "main", catalog_version: version, allow_destructive: false, runtime_id: "r1" };
  return applySchema(deps, { ...input, ...options });
}

async function rows(text: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await sql.query({ text })).rows;
}

const title = col("title", "string");
const EVERYTHING: readonly ManifestTable[] = [
  aTable("docs", [
    aColumn("title", "string", { comment: "what it is called; it's 100% \\safe" }),
    aColumn("body", "string", { nullable: true }),
    aComputed("title_upper", call("string.upper", "string", title)),
    aComputed("excerpt", udf("app:excerpt", "string", title, lit('{"b":1,"a":[1e400,12345678901234567890]}', "json"))),
    aUuid7Key(),
  ]),
  aTable(
    "kinds",
    [
      aColumn("code", "string", { primary_key: true }),
      aColumn("number", "int", { primary_key: true }),
      aColumn("ratio", "float", { nullable: true }),
      aColumn("is_new", "bool", { nullable: true }),
      aColumn("made_at", "timestamp", { nullable: true }),
      aColumn("day", "date", { nullable: true }),
      aColumn("other", "uuid", { nullable: true }),
      aColumn("data", "json", { nullable: true, custom_metadata: { unit: "kg", n: [1, { deep: true }] } }),
    ],
    { has_default_idxs: true, comment: 'a "quoted" comment', custom_metadata: { owner: "me" } },
  ),
  aTable("keyless", [aColumn("select", "string"), aColumn("table", "int")], {
    indexes: [anIndex(["table"]), anIndex(["select", "table"], "both")],
  }),
];

test("everything that can be declared is created, and then there is nothing left to do", async () => {
  const manifest = aManifest({ tables: [...EVERYTHING], functions: [aFunction("app:excerpt", "string")] });
  const first = await plan(manifest);
  expect(first.summary).toMatchObject({ create: 3, up_to_date: 0 });
  expect(first.in_agreement).toBe(false);
  const applied = await apply(manifest);
  expect(applied.jobs).toEqual([]);
  expect(applied.plan).toMatchObject({ status: "applied", in_agreement: true, catalog_version: 1 });
  const second = await plan(manifest);
  expect(second.in_agreement).toBe(true);
  expect(second.tables.flatMap((table) => table.ops)).toEqual([]);
  expect(second.catalog_version).toBe(applied.plan.catalog_version);
  expect(
    await rows("select obj_description('public.kinds'::regclass), col_description('public.docs'::regclass, 1)"),
  ).toEqual([['a "quoted" comment', "what it is called; it's 100% \\safe"]]);
});
