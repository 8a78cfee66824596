import type { TableChange } from "@appdb/contract/routes/table-changes";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { readSources } from "../data-queries/read-sources.ts";
import { readableTables, rowsSql } from "../views/view-tables.ts";
import { changeTable } from "./change-table.ts";

const APP = `
import appdb as db
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    text: db.String
    kind: db.String

class Sentence(Base, name="sentences", base=Doc, iterator=string_splitter(Doc.text, separators="sentence")):
    pass

class Late(Base, name="late", base=Sentence.where(Sentence.pos > 0)):
    pass

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
`;

test("an iterator view and one over it follow renamed, new and dropped columns of their base", async () => {
  await using tested = await openTestApplication(APP);
  await tested.post("/add", [{ id: 1, text: "One. Two.", kind: "k" }]);
  const change = async (asked: Record<string, unknown>): Promise<void> => {
    const request = { database: "main", functions: [], resource_pools: [], runtime_id: null, dry_run: false };
    const deps = { sql: tested.sql, clock: { now: Date.now }, log: createSilentLog() };
    await changeTable(deps, { ...request, on_error: "abort", change: { table: "docs", ...asked } as TableChange });
  };
  const shown = async (name: string): Promise<readonly string[]> => {
    const catalog = await loadCatalog(tested.sql);
    const view = readableTables(catalog).find((one) => one.name === name);
    const names = view?.columns.map((column) => column.name).filter((column) => !column.includes(".")) ?? [];
    expect([...(readSources(catalog).get(name)?.columns.keys() ?? [])].toSorted()).toEqual(names.toSorted());
    await tested.sql.query({ text: `select ${names.join(", ")} from ${view === undefined ? "" : rowsSql(view)}` });
    return names;
  };
  for (const name of ["sentences", "late"]) expect(await shown(name)).toEqual(["id", "pos", "text", "kind"]);

  await change({ change: "rename_column", column: "kind", to: "sort" });
  for (const name of ["sentences", "late"]) expect(await shown(name)).toEqual(["id", "pos", "text", "sort"]);

  await change({ change: "rename_column", column: "text", to: "body" });
  expect(await shown("sentences")).toEqual(["id", "pos", "text", "body", "sort"]);

  const column = { name: "note", type: { kind: "string" }, nullable: true, primary_key: false, computed: null };
  const plain = { ...column, comment: null, custom_metadata: null, renamed_from: null, source: { file: "a", line: 1 } };
  await change({ change: "add_columns", columns: [plain], if_exists: "error" });
  expect(await shown("sentences")).toEqual(["id", "pos", "text", "body", "sort", "note"]);

  await change({ change: "drop_columns", columns: ["sort"], if_not_exists: "error" });
  for (const name of ["sentences", "late"]) expect(await shown(name)).not.toContain("sort");
});
