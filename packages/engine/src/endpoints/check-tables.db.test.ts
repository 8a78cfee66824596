import type { ManifestColumn } from "@appdb/contract/manifest";
import { aColumn, aComputed, aManifest, anIndex, aTable, aUuid7Key, call, col } from "@appdb/testkit/manifest-builder";
import { openSchemaStage, type SchemaStage } from "@appdb/testkit/schema-stage";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../schema/load-catalog.ts";
import { checkTables } from "./check-tables.ts";

let stage: SchemaStage;

beforeEach(async () => {
  stage = await openSchemaStage();
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const KEY = aUuid7Key();
const TITLE = aColumn("title", "string");
const BODY = aColumn("body", "string", { nullable: true });
const UPPER = aComputed("title_upper", call("string.upper", "string", col("title", "string")));

const docs = (columns: ManifestColumn[], indexed: string[] = []) =>
  aManifest({ tables: [aTable("docs", columns, { indexes: indexed.map((name) => anIndex([name])) })] });

/** Checks a service that knows `service` against tables that an update made `current`. */
async function check(service: ReturnType<typeof docs>, current: ReturnType<typeof docs>): Promise<void> {
  await stage.apply(current, { allow_destructive: true });
  checkTables({ manifest: service, target: "main" }, await loadCatalog(stage.sql));
}

test("a service starts again on tables that a later update added to", async () => {
  await check(docs([KEY, TITLE]), docs([KEY, TITLE, BODY, UPPER], ["title"]));
});

test("a service starts again when an index was dropped or a value's expression changed", async () => {
  const lower = aComputed("title_upper", call("string.lower", "string", col("title", "string")));
  await check(docs([KEY, TITLE, UPPER], ["title"]), docs([KEY, TITLE, lower]));
});

test.each([
  ["lack a column that it knows", docs([KEY, TITLE, BODY]), docs([KEY, TITLE])],
  ["have a column of another type", docs([KEY, TITLE, BODY]), docs([KEY, TITLE, aColumn("body", "int")])],
  ["ask for a value that it does not send", docs([KEY, TITLE]), docs([KEY, TITLE, aColumn("author", "string")])],
  ["take no null where it may send one", docs([KEY, TITLE, BODY]), docs([KEY, TITLE, aColumn("body", "string")])],
  ["do not hold its table", docs([KEY, TITLE]), aManifest({ tables: [aTable("other", [KEY, TITLE])] })],
])("a service does not start on tables that %s", async (_case, service, current) => {
  await expect(check(service, current)).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "Bring the tables up to date: cli schema update app.py main",
  });
});
