import type { ManifestColumn } from "@appdb/contract/manifest";
import { aColumn, aComputed, aManifest, anIndex, aTable, aUuid7Key, call, col } from "@appdb/testkit/manifest-builder";
import { openSchemaStage, type SchemaStage } from "@appdb/testkit/schema-stage";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { checkTables, findIncompatibilities } from "./check-tables.ts";

let stage: SchemaStage;
/** A folder of each test's own. */
let target: string;
let count = 0;

beforeAll(async () => {
  stage = await openSchemaStage();
});
beforeEach(() => {
  target = `main/f${++count}`;
});
afterAll(async () => {
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
  await stage.apply(current, { allow_destructive: true, target });
  checkTables({ manifest: service, target }, await loadCatalog(stage.sql));
}

test("a service starts again on tables that a later update added to", async () => {
  await check(docs([KEY, TITLE]), docs([KEY, TITLE, BODY, UPPER], ["title"]));
});

test("a service starts again when an index was dropped or a value's expression changed", async () => {
  const lower = aComputed("title_upper", call("string.lower", "string", col("title", "string")));
  await check(docs([KEY, TITLE, UPPER], ["title"]), docs([KEY, TITLE, lower]));
});

const INT_BODY = aColumn("body", "int");
const AUTHOR = aColumn("author", "string");
const STRICT_BODY = aColumn("body", "string");
const CALLED_TEXT = aColumn("text", "string", { nullable: true, renamed_from: "body" });
const STORED_UPPER = aColumn("title_upper", "string", { nullable: true });

test.each([
  ["lack a column that it knows", [KEY, TITLE, BODY], docs([KEY, TITLE]), "docs.body is not there"],
  ["call a column otherwise", [KEY, TITLE, BODY], docs([KEY, TITLE, CALLED_TEXT]), "docs.body is not there"],
  [
    "have a column of another type",
    ...([[KEY, TITLE, BODY], docs([KEY, TITLE, INT_BODY]), "docs.body is Int and not String | None"] as const),
  ],
  [
    "ask for a value that it does not send",
    ...([[KEY, TITLE], docs([KEY, TITLE, AUTHOR]), "docs.author is not known to it and must be given"] as const),
  ],
  [
    "take no null where it may send one",
    ...([[KEY, TITLE, BODY], docs([KEY, TITLE, STRICT_BODY]), "docs.body may not be null"] as const),
  ],
  [
    "store what it computes",
    ...([[KEY, TITLE, UPPER], docs([KEY, TITLE, STORED_UPPER]), "docs.title_upper is stored"] as const),
  ],
  [
    "do not hold its table",
    ...([[KEY, TITLE], aManifest({ tables: [aTable("other", [KEY, TITLE])] }), "there is no table docs"] as const),
  ],
])("a service does not start on tables that %s", async (_case, service, current, reason) => {
  const manifest = docs([...service]);
  await expect(check(manifest, current)).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: `Bring the tables up to date: cli schema update app.py ${target}`,
  });
  expect(findIncompatibilities({ manifest, target }, await loadCatalog(stage.sql))).toEqual([
    { table: "docs", reason },
  ]);
});
