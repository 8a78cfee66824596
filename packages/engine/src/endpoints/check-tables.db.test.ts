import type { ManifestColumn } from "@appdb/contract/manifest";
import { aColumn, aComputed, aManifest, anIndex, aTable, aUuid7Key, call, col } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { checkTables, findIncompatibilities } from "./check-tables.ts";

let catalog: TestCatalog;
/** A separate folder for each test. */
let target: string;
let count = 0;

beforeAll(async () => {
  catalog = await openTestCatalog();
});
beforeEach(() => {
  target = `main/f${++count}`;
});
afterAll(async () => {
  await catalog[Symbol.asyncDispose]();
});

const KEY = aUuid7Key();
const TITLE = aColumn("title", "string");
const BODY = aColumn("body", "string", { nullable: true });
const UPPER = aComputed("title_upper", call("string.upper", "string", col("title", "string")));

const docs = (columns: ManifestColumn[], indexed: string[] = []) =>
  aManifest({ tables: [aTable("docs", columns, { indexes: indexed.map((name) => anIndex([name])) })] });

/** Checks a service with the tables `service` against the tables of a later update, `current`. */
async function check(service: ReturnType<typeof docs>, current: ReturnType<typeof docs>): Promise<void> {
  await catalog.apply(current, { allow_destructive: true, target });
  checkTables({ manifest: service, target }, await loadCatalog(catalog.sql));
}

test("a service starts again after an update that only added things", async () => {
  await check(docs([KEY, TITLE]), docs([KEY, TITLE, BODY, UPPER], ["title"]));
});

test("a service starts again after a dropped index or changed expression", async () => {
  const lower = aComputed("title_upper", call("string.lower", "string", col("title", "string")));
  await check(docs([KEY, TITLE, UPPER], ["title"]), docs([KEY, TITLE, lower]));
});

const INT_BODY = aColumn("body", "int");
const AUTHOR = aColumn("author", "string");
const STRICT_BODY = aColumn("body", "string");
const CALLED_TEXT = aColumn("text", "string", { nullable: true, renamed_from: "body" });
const STORED_UPPER = aColumn("title_upper", "string", { nullable: true });

test.each([
  ["lack a known column", [KEY, TITLE, BODY], docs([KEY, TITLE]), "docs.body is missing"],
  ["have a renamed column", [KEY, TITLE, BODY], docs([KEY, TITLE, CALLED_TEXT]), "docs.body is missing"],
  [
    "have a column of another type",
    ...([[KEY, TITLE, BODY], docs([KEY, TITLE, INT_BODY]), "docs.body is Int and not String | None"] as const),
  ],
  [
    "have a new required column",
    ...([[KEY, TITLE], docs([KEY, TITLE, AUTHOR]), "docs.author is unknown to it and required"] as const),
  ],
  [
    "refuse null where it is allowed",
    ...([[KEY, TITLE, BODY], docs([KEY, TITLE, STRICT_BODY]), "docs.body may not be null"] as const),
  ],
  [
    "store a computed column",
    ...([[KEY, TITLE, UPPER], docs([KEY, TITLE, STORED_UPPER]), "docs.title_upper is stored"] as const),
  ],
  [
    "lack its table",
    ...([[KEY, TITLE], aManifest({ tables: [aTable("other", [KEY, TITLE])] }), "table docs is missing"] as const),
  ],
])("a service does not start on tables that %s", async (_case, service, current, reason) => {
  const manifest = docs([...service]);
  await expect(check(manifest, current)).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: `Update the tables: cli schema update app.py ${target}`,
  });
  expect(findIncompatibilities({ manifest, target }, await loadCatalog(catalog.sql))).toEqual([
    { table: "docs", reason },
  ]);
});
