import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { CatalogTable } from "../catalog/catalog.ts";
import { layOutRow } from "../compute/row-layout.ts";
import type { SqlPool } from "../ports.ts";
import { planTableVersion } from "./table-version.ts";
import { TableVersionGuard } from "./table-version-guard.ts";
import { planUpdate } from "./update-shape.ts";
import { updateVerb } from "./update-verb.ts";

const column = (id: number, name: string, primaryKey = false): CatalogTable["columns"][number] => ({
  id,
  name,
  type: { kind: "int" },
  nullable: false,
  primary_key: primaryKey,
  computed: null,
  state: "ready",
  comment: null,
  custom_metadata: null,
  stale: false,
});

const TABLE: CatalogTable = {
  id: 7,
  folder: "public",
  name: "items",
  version: 1,
  model: "Items",
  comment: null,
  custom_metadata: null,
  primary_key: ["sku"],
  has_default_idxs: false,
  identity: "_row",
  has_rows: true,
  indexes: [],
  columns: [column(1, "sku", true), column(2, "n")],
};

/** A database that contains every row. */
const sql = { query: async () => ({ rows: [["1"]], row_count: 1 }) } as unknown as SqlPool;

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

test("cached data of an update's columns is released with them", async () => {
  const layout = layOutRow(TABLE);
  const service = { app_file: "app.py", target: "main" };
  const now = planTableVersion(layout, { version: 1, tables: [TABLE], views: [], functions: new Map() }, service);
  const guard = new TableVersionGuard(sql, layout, service, now);
  const verb = updateVerb({ limits: { statement_timeout_ms: 1_000 } }, { layout, read: new Set(), guard });
  async function update(): Promise<WeakRef<object>> {
    const shape = { ...planUpdate(layout, new Map(), ["n"]), is_kept: false };
    const row = ["1", "2", null];
    const write = { row, request: undefined, shape, kind: "computing", stored: null, pending: [] } as const;
    const written = await verb.statement([write], now, sql);
    expect(written).toEqual([{ answer: "written" }]);
    return new WeakRef(shape);
  }
  const shape = await update();
  // A WeakRef keeps its target alive until the current turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(shape.deref()).toBeUndefined();
  // Keeps the verb alive.
  expect(verb.plan([])).toEqual([]);
});
