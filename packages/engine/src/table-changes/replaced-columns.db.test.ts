import type { ManifestColumn } from "@appdb/contract/manifest";
import { tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aManifest, anIndex, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { changeTable } from "./change-table.ts";

const bench = useJobsBench();

const length = call("string.len", "int", col("title", "string"));
const W = aComputed("w", length);
const W2 = aComputed("w2", call("op.mul", "int", col("w", "int"), lit("2", "int")));
const AS_TEXT = aComputed("w", call("string.upper", "string", col("title", "string")));
const TWICE = aComputed("w2", call("op.add", "string", col("w", "string"), col("w", "string")));

async function open(...columns: ManifestColumn[]): Promise<void> {
  const table = aTable("docs", [aColumn("title", "string"), ...columns], { indexes: [anIndex(["w"])] });
  const view = aTable("wide", [], {
    view: {
      base: "docs",
      filter: { text: "w > 1", expr: call("op.gt", "bool", col("w", "int"), lit("1", "int")) },
      columns: null,
    },
  });
  await bench.apply(aManifest({ tables: columns.includes(W2) ? [table] : [table, view] }));
  await bench.execute({ text: "insert into docs (_row, title, w) values (uuidv7(), 'abc', 3)" });
}

async function replace(...columns: ManifestColumn[]): Promise<readonly string[]> {
  await using sql = createPgPool({ dsn: bench.dsn(), max: 2, application_name: "replaced" });
  const change = tableChangeSchema.parse({ change: "add_columns", table: "docs", columns, if_exists: "replace" });
  const code = { functions: [], resource_pools: [], runtime_id: null };
  const request = { ...code, change, database: "main", on_error: "abort", dry_run: false } as const;
  const { jobs } = await changeTable({ sql, clock: { now: Date.now }, log: createSilentLog() }, request);
  return jobs;
}

test("a column does not get another type while another column reads it", async () => {
  await open(W, W2);
  await expect(replace(AS_TEXT)).rejects.toMatchObject({
    code: "has_dependents",
    message:
      "Column 'w' of main/docs cannot change from Int to String: it is needed by column 'w2'. Nothing was changed.",
    hint: "Drop what reads it first, and add it again afterwards.",
  });
  await expect(replace(aComputed("w", call("op.add", "int", length, lit("1", "int"))))).resolves.toHaveLength(1);
});

test("columns that read each other get other types in one change", async () => {
  await open(W, W2);
  await bench.finish(await replace(AS_TEXT, TWICE));
  expect(await bench.rows("select w, w2 from docs")).toEqual([["ABC", "ABCABC"]]);
});

test("a column does not get another type while the condition of a view reads it", async () => {
  await open(W);
  await expect(replace(AS_TEXT)).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("it is needed by the condition of the view 'wide'"),
  });
});
