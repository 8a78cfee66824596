import { docs, excerptColumn, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { expect, test } from "vitest";
import type { CatalogIndex } from "../catalog/catalog.ts";
import type { SqlConnection, Statement } from "../ports.ts";
import { listRows } from "../queries/list-rows.ts";
import { countErrors, listErrors } from "./list-errors.ts";

const { apply, catalog, deps, execute, insertDocs, insertPending } = useJobsBench();

const error = (type: string, column?: string) => ({
  type,
  message: `why "${type}"`,
  function: "app:excerpt",
  ...(column === undefined ? {} : { column }),
});

async function fail(n: number, errors: object): Promise<void> {
  await execute({ text: "update docs set _errors = $1 where n = $2", values: [JSON.stringify(errors), n] });
}

test("failed cells are counted by column and listed in row order, without pending ones", async () => {
  await apply(docs(excerptColumn(), upperColumn("loud", "excerpt")));
  await insertDocs(10);
  await insertPending("later", ["excerpt"]);
  await fail(3, { excerpt: error("ValueError"), loud: error("CellError", "excerpt") });
  await fail(7, { excerpt: error("KeyError"), loud: "pending" });
  const { tables } = await catalog();
  const [table] = tables;
  if (table === undefined) throw new Error("no table");
  expect(await countErrors(deps().sql, tables)).toEqual(new Map([[table.id, { excerpt: 2, loud: 1 }]]));
  const all = await listErrors(deps().sql, table, { path: "main/docs", tables: [table], columns: null, limit: 10 });
  expect(all).toMatchObject({ table: "main/docs", rows: 2, counts: { excerpt: 2, loud: 1 } });
  expect(all.errors.map(({ column, errortype, cause }) => [column, errortype, cause])).toEqual([
    ["loud", "CellError", "excerpt"],
    ["excerpt", "ValueError", null],
    ["excerpt", "KeyError", null],
  ]);
  const some = await listErrors(deps().sql, table, {
    path: "main/docs",
    tables: [table],
    columns: ["loud"],
    limit: 10,
  });
  expect(some.errors).toEqual([
    {
      key: { _row: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      column: "loud",
      errortype: "CellError",
      errormsg: 'why "CellError"',
      function: "app:excerpt",
      cause: "excerpt",
    },
  ]);
  expect(
    (await listErrors(deps().sql, table, { path: "main/docs", tables: [table], columns: null, limit: 1 })).errors,
  ).toHaveLength(1);
});

test("a page of rows shows why a cell has no value", async () => {
  await apply(docs(excerptColumn(), upperColumn("loud", "excerpt")));
  await insertDocs(2);
  await insertPending("later", ["excerpt"]);
  await fail(1, { excerpt: error("ValueError"), loud: error("CellError", "excerpt") });
  const [table] = (await catalog()).tables;
  if (table === undefined) throw new Error("no table");
  const { rows } = await listRows(deps().sql, table, { limit: 10, cursor: null });
  expect(rows.map((row) => JSON.parse(row)._errors)).toEqual([
    { excerpt: "pending" },
    undefined,
    { excerpt: error("ValueError"), loud: error("CellError", "excerpt") },
  ]);
});

test("counting reads only rows with errors, and ignores dropped tables", async () => {
  await apply(docs(excerptColumn()));
  await insertDocs(5);
  await fail(2, { excerpt: error("ValueError") });
  const { tables } = await catalog();
  const [table] = tables;
  if (table === undefined) throw new Error("no table");
  const counts = await countErrors(deps().sql, [{ ...table, id: 999, name: "gone" }, table]);
  expect(counts).toEqual(new Map([[table.id, { excerpt: 1 }]]));
});

test("counts columns that are named key and value too", async () => {
  await apply(docs(excerptColumn(), upperColumn("key", "excerpt"), upperColumn("value", "excerpt")));
  await insertDocs(2);
  await fail(1, { excerpt: error("ValueError"), key: error("CellError", "excerpt") });
  const { tables } = await catalog();
  expect([...(await countErrors(deps().sql, tables)).values()]).toEqual([{ excerpt: 1, key: 1 }]);
});

test("a large unanalysed table is not scanned to find no failed row", async () => {
  await apply(docs(excerptColumn()));
  await execute({ text: "alter table docs set (autovacuum_enabled = false)" });
  await insertDocs(100_000);
  const plans: string[] = [];
  const explaining: SqlConnection = {
    query: async (statement: Statement) => {
      const { rows } = await deps().sql.query({ ...statement, text: `explain ${statement.text}` });
      plans.push(rows.flat().join("\n"));
      return deps().sql.query(statement);
    },
  };
  const { tables } = await catalog();
  expect(await countErrors(explaining, tables)).toEqual(new Map());
  expect(plans).toHaveLength(1);
  expect(plans[0]).toContain('Scan using "docs.errors"');
  expect(plans[0]).not.toContain("Seq Scan");
  await fail(70_000, { excerpt: error("ValueError") });
  expect([...(await countErrors(explaining, tables)).values()]).toEqual([{ excerpt: 1 }]);
});

test("failed vectors are listed under their index and its column", async () => {
  await apply(docs(excerptColumn(), upperColumn("loud", "excerpt")));
  await insertDocs(3);
  await fail(1, { excerpt: error("ValueError") });
  await fail(2, { excerpt: error("ValueError"), loud: error("CellError", "excerpt") });
  const [stored] = (await catalog()).tables;
  if (stored === undefined) throw new Error("no table");
  const index = (name: string | null, values: string): CatalogIndex => ({
    id: 1,
    kind: "embedding",
    name,
    sql_name: values,
    columns: ["title"],
    state: "ready",
    embedding: { metric: "cosine", precision: "fp16", dimensions: 3, values },
  });
  const table = { ...stored, indexes: [index(null, "excerpt"), index("by_meaning", "loud")] };
  const all = await listErrors(deps().sql, table, { path: "main/docs", tables: [table], columns: null, limit: 10 });
  expect(all.counts).toEqual({ "title (embedding index)": 2, "title (embedding index by_meaning)": 1 });
  const ofTitle = await listErrors(deps().sql, table, {
    path: "main/docs",
    tables: [table],
    columns: ["title"],
    limit: 10,
  });
  expect(ofTitle.errors.map(({ column }) => column).sort()).toEqual([
    "title (embedding index by_meaning)",
    "title (embedding index)",
    "title (embedding index)",
  ]);
});
