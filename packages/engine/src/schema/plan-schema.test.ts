import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import { schemaPlanSchema } from "@appdb/contract/plan";
import {
  aColumn,
  aComputed,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { emptyCatalog } from "../catalog/load-catalog.ts";
import { identityOf } from "../catalog/operations.ts";
import { indexName } from "../catalog/sql-names.ts";
import { planSchema } from "./plan-schema.ts";

const title = col("title", "string");
const BASE = aTable("docs", [aColumn("title", "string"), aComputed("up", call("string.upper", "string", title))], {
  indexes: [anIndex(["title"])],
});

/** The catalog after the tables were created. */
function catalogOf(tables: readonly ManifestTable[], parts: Partial<CatalogTable> = {}): Catalog {
  return {
    version: 3,
    views: [],
    functions: new Map(),
    tables: tables.map((table, at) => ({
      id: at + 1,
      folder: "public",
      name: table.name,
      version: 1,
      model: table.model,
      comment: table.comment,
      custom_metadata: table.custom_metadata,
      primary_key: table.primary_key,
      has_default_idxs: table.has_default_idxs,
      identity: identityOf(table),
      has_rows: true,
      columns: table.columns.map((column, id) => ({ ...column, id, state: "ready" as const })),
      indexes: table.indexes.map((index, id) => ({
        ...index,
        id,
        sql_name: indexName(table.name, index),
        state: "ready" as const,
      })),
      ...parts,
    })),
  };
}

function planOf(tables: readonly ManifestTable[], catalog: Catalog, target = "main") {
  return planSchema({ manifest: aManifest({ tables: [...tables] }), catalog, target });
}

test("a plan matches its document in contract", () => {
  const { plan } = planOf([BASE, aTable("more", [aUuid7Key()])], catalogOf([BASE]));
  expect(schemaPlanSchema.parse(plan)).toEqual(plan);
});

test("every table is created on an empty target", () => {
  const { plan, operations } = planOf([BASE], emptyCatalog());
  expect(plan).toMatchObject({
    catalog_version: 0,
    in_agreement: false,
    extras: [],
    tables: [{ path: "main/docs", model_cls: "Docs", exists: false, resolution: "create", ops: [] }],
    summary: { create: 1, up_to_date: 0 },
  });
  expect(operations.map((operation) => operation.kind)).toEqual(["create_table"]);
});

test("tables of other folders are neither changed nor extras", () => {
  const { plan } = planOf([BASE], catalogOf([BASE]), "main/reports");
  expect(plan.extras).toEqual([]);
  expect(plan.tables[0]).toMatchObject({ path: "main/reports/docs", resolution: "create" });
});

test("a table declared twice is refused with both places", () => {
  const twin = { ...BASE, model: "Twin", source: { file: "more.py", line: 9 } };
  expect(() => planOf([BASE, twin], emptyCatalog())).toThrow("by Docs (app.py:1) and by Twin (more.py:9)");
});

test("a column that is no longer stored loses its values, and gets them when it is stored again", () => {
  const [up] = BASE.columns.filter((column) => column.computed !== null);
  if (up === undefined) throw new TypeError("The table has no computed column.");
  const unstored = { ...BASE, columns: BASE.columns.filter((column) => column !== up), unstored: [up] };
  const describe = (to: typeof BASE, from: typeof BASE) =>
    planOf([to], catalogOf([from])).plan.tables[0]?.ops.map((op) => [op.op, op.severity, op.description]);
  expect(describe(unstored, BASE)).toEqual([
    [
      "drop",
      "destructive",
      "column 'up' will no longer be stored: its values are dropped, and computed whenever they are read",
    ],
  ]);
  expect(describe(BASE, unstored)).toEqual([["add", "additive", expect.stringContaining("'up' will be added")]]);
  expect(describe(unstored, unstored)).toEqual([]);
});

test("operations are plain sentences with a severity", () => {
  const to = aTable(
    "docs",
    [
      aComputed("up", call("op.add", "string", title, lit("!", "string"))),
      aColumn("author", "string", { nullable: true }),
      aColumn("size", "int"),
    ],
    { indexes: [anIndex(["author"], "by_author")], comment: "texts" },
  );
  const { plan } = planOf([to], catalogOf([BASE]));
  expect(plan.tables[0]?.ops.map((op) => [op.op, op.target, op.severity, op.description])).toEqual([
    ["drop", "index", "destructive", "index on (title) will be dropped"],
    ["drop", "column", "destructive", "column 'title' will be dropped with all its values"],
    ["alter", "column", "additive", "column 'up': its expression will change and every row will be recomputed"],
    ["add", "column", "additive", "column 'author' will be added"],
    [
      "add",
      "column",
      "unsupported",
      "column 'size' is not nullable and cannot be added: table 'docs' has rows without a value for it. Give it a default (db.Column(type=..., default=...)), or declare it as Int | None, give every row a value, and remove \"| None\" in a later update",
    ],
    ["add", "index", "additive", "index 'by_author' on (author) will be built"],
    ["alter", "table", "additive", "the table's comment will be updated"],
  ]);
  expect(plan.tables[0]?.resolution).toBe("unsupported");
  expect(plan.summary).toMatchObject({ unsupported: 1, destructive: 2 });
});

test("a filling column counts as existing", () => {
  const catalog = catalogOf([BASE]);
  const filling = catalog.tables.map((table) => ({
    ...table,
    columns: table.columns.map((column) => ({ ...column, state: "filling" as const })),
  }));
  expect(planOf([BASE], { ...catalog, tables: filling }).plan.in_agreement).toBe(true);
});

test("a stale column is recomputed by the next update", () => {
  const catalog = catalogOf([BASE]);
  const stale = catalog.tables.map((table) => ({
    ...table,
    columns: table.columns.map((column) => ({ ...column, stale: column.name === "up" })),
  }));
  const [op] = planOf([BASE], { ...catalog, tables: stale }).plan.tables[0]?.ops ?? [];
  expect(op).toMatchObject({ name: "up", severity: "additive", details: { changes: ["stale"] } });
});

test("without information on rows, a table counts as having some", () => {
  const { has_rows: _unknown, ...table } = catalogOf([BASE]).tables[0] as CatalogTable;
  const to: Manifest["tables"] = [{ ...BASE, columns: [...BASE.columns, aColumn("size", "int")] }];
  expect(planOf(to, { ...emptyCatalog(), tables: [table] }).plan.tables[0]?.resolution).toBe("unsupported");
});

test("a nullable input makes readers nullable but does not recompute them", () => {
  const to = aTable(
    "docs",
    [
      aColumn("title", "string", { nullable: true }),
      aComputed("up", call("string.upper", "string", col("title", "string", true))),
    ],
    { indexes: [anIndex(["title"])] },
  );
  const { plan } = planOf([to], catalogOf([BASE]));
  expect(plan.tables[0]?.ops.map((op) => op.details.changes)).toEqual([["nullability"], ["nullability"]]);
  expect(plan.tables[0]?.resolution).toBe("update_additive");
});

test("an unknown renamed_from= is reported with the most likely column", () => {
  const before = aTable("docs", [aColumn("title", "string"), aColumn("area", "string")]);
  const zone = aColumn("zone", "string", { nullable: true, renamed_from: "arae" });
  const { plan } = planOf([{ ...before, columns: [before.columns[0] ?? zone, zone] }], catalogOf([before]));
  expect(plan.tables[0]?.ops.map(({ description }) => description)).toEqual([
    "column 'area' will be dropped with all its values; if 'zone' is the same column, write renamed_from=\"area\" there, and its values stay",
    expect.stringMatching(
      /^column 'zone' will be added.*; no column 'arae' is stored, as renamed_from= says; did you mean 'area'\?$/,
    ),
  ]);
});

test("a dropped column and a new one of another type are not a rename", () => {
  const before = aTable("docs", [aColumn("title", "string"), aColumn("area", "string")]);
  const zone = aColumn("zone", "int", { nullable: true });
  const { plan } = planOf([{ ...before, columns: [before.columns[0] ?? zone, zone] }], catalogOf([before]));
  expect(plan.tables[0]?.ops[0]?.description).toBe("column 'area' will be dropped with all its values");
});

function shots(...columns: ManifestTable["columns"]): ManifestTable {
  return aTable("shots", columns);
}

test("media_validation= changes at any time, without a recompute", () => {
  const written = shots(
    aColumn("photo", "image"),
    aComputed("small", call("image.resize", "image", col("photo", "image"))),
  );
  const read = { type: { kind: "image", validation: "on_read" } } as const;
  const onRead = shots(aColumn("photo", "image", read), ...written.columns.slice(1));
  const change = (before: ManifestTable, after: ManifestTable) =>
    planOf([after], catalogOf([before])).plan.tables[0]?.ops.map((op) => [op.severity, op.description]);
  expect(change(written, onRead)).toEqual([
    ["additive", "column 'photo': new files will be checked when they are read; stored ones stay"],
  ]);
  expect(change(onRead, written)).toEqual([
    ["additive", "column 'photo': new files will be checked when they are written; stored ones stay"],
  ]);
  expect(change(onRead, onRead)).toEqual([]);
});

test("shows the address of another destination=, and stored files stay", () => {
  const at = (destination: string | undefined) =>
    shots(aColumn("photo", "image", { type: { kind: "image", mode: "L", ...(destination && { destination }) } }));
  const change = (before: ManifestTable, after: ManifestTable) =>
    planOf([after], catalogOf([before])).plan.tables[0]?.ops.map((op) => [op.severity, op.description]);
  expect(change(at(undefined), at("s3://bucket/out"))).toEqual([
    ["additive", "column 'photo': new files will go to s3://bucket/out; stored ones stay"],
  ]);
  expect(change(at("s3://bucket/out"), at(undefined))).toEqual([
    ["additive", "column 'photo': new files will go to the store of the database; stored ones stay"],
  ]);
});

test("a column of images takes further modes, and fewer while it has no rows", () => {
  const grey = shots(aColumn("photo", "image", { type: { kind: "image", mode: "L" } }));
  const any = shots(aColumn("photo", "image"));
  const resolve = (before: ManifestTable, after: ManifestTable, parts?: Partial<CatalogTable>) =>
    planOf([after], catalogOf([before], parts)).plan.tables[0]?.resolution;
  expect(resolve(grey, any)).toBe("update_additive");
  expect(resolve(any, grey)).toBe("unsupported");
  expect(resolve(any, grey, { has_rows: false })).toBe("update_additive");
  expect(resolve(any, shots(aColumn("photo", "video")), { has_rows: false })).toBe("unsupported");
});

test("refusals of media columns advise what media can do", () => {
  const describe = (before: ManifestTable, after: ManifestTable) =>
    planOf([after], catalogOf([before])).plan.tables[0]?.ops.map(({ description }) => description);
  const name = aColumn("name", "string");
  expect(describe(shots(name), shots(name, aColumn("photo", "image")))).toEqual([
    "column 'photo' is not nullable and cannot be added: table 'shots' has rows without a value for it. Declare it as Image | None, give every row a value, and remove \"| None\" in a later update",
  ]);
  expect(describe(shots(name), shots(aColumn("name", "image")))).toEqual([
    "column 'name': its type would change from String to Image, which is not possible. Declare a column of the new type under another name, fill it through a route, and drop this one in a later update",
  ]);
});

test("functions that moved to another module are named as the reason of a recompute", () => {
  const of = (expr: ReturnType<typeof udf>) => shots(aColumn("title", "string"), aComputed("up", expr));
  const describe = (before: string, after: string, input = title) =>
    planOf([of(udf(after, "string", input))], catalogOf([of(udf(before, "string", title))])).plan.tables[0]?.ops.map(
      ({ description }) => description,
    );
  expect(describe("app:shout", "app2:shout")).toEqual([
    "column 'up': its functions moved from the module app to app2 and every row will be recomputed",
  ]);
  const other = ["column 'up': its expression will change and every row will be recomputed"];
  expect(describe("app:shout", "app2:cry")).toEqual(other);
  expect(describe("app:shout", "app2:shout", call("string.upper", "string", title))).toEqual(other);
});
