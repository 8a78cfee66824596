import type { ManifestTable } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { readSources } from "../data-queries/read-sources.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { readableTables } from "../views/view-tables.ts";
import { changeTable } from "./change-table.ts";
import { declarationOf, requireStored } from "./read-declaration.ts";

/** Iterator views over filtered views of a table, one with a condition that is stored. */
const APP = `
import appdb as db
from appdb.functions import upper
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    text: db.String
    n: db.Int

class Many(Base, name="many", base=Doc.where(Doc.n > 1)):
    loud = upper(Doc.text)

class Even(Base, name="even", base=Many.where(Many.n % 2 == 0)):
    pass

class Sentence(Base, name="sentences", base=Many, iterator=string_splitter(Many.loud, separators="sentence")):
    whole = upper(Many.loud)

class Few(Base, name="few", base=Even.where(Even.n < 9), iterator=string_splitter(Even.text, separators="sentence")):
    pass

class Odd(Base, name="odd", base=Many.where(Many.n % 2 == 1), iterator=string_splitter(Many.text, separators="sentence")):
    pass

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
`;

/** Rows of rows, which are made of a column of the filtered view. */
const LETTERS = `${APP}
class Letter(Base, name="letters", base=Sentence, iterator=string_splitter(Sentence.loud, separators="char_limit", limit=1)):
    pass
`;

const NAMES = ["docs", "many", "even", "sentences", "few", "odd", "letters"];

function changing({ sql }: TestApplication) {
  return async (change: Record<string, unknown>): Promise<void> => {
    const request = { database: "main", functions: [], resource_pools: [], runtime_id: null, dry_run: false };
    const deps = { sql, clock: { now: Date.now }, log: createSilentLog() };
    await changeTable(deps, { ...request, on_error: "abort", change: change as TableChange });
  };
}

async function declared({ sql }: TestApplication, name: string): Promise<ManifestTable> {
  const catalog = await loadCatalog(sql);
  return declarationOf(catalog, requireStored(catalog, parseTablePath(`main/${name}`)));
}

const names = async ({ sql }: TestApplication) => readableTables(await loadCatalog(sql)).map(({ name }) => name);

test("iterator views over filtered views are declared as their file does", async () => {
  await using tested = await openTestApplication(LETTERS);
  const tables: ManifestTable[] = [];
  for (const name of NAMES) tables.push(await declared(tested, name));
  const catalog = await loadCatalog(tested.sql);
  const { plan } = planSchema({ manifest: { ...tested.manifest, tables }, catalog, target: "main" });
  expect(plan.tables.flatMap(({ ops, path }) => ops.map(({ description, name }) => [path, name, description]))).toEqual(
    [],
  );
  for (const { name, view } of tested.manifest.tables) {
    const now = tables.find((table) => table.name === name)?.view;
    expect(now?.base).toBe(view?.base);
    expect(now?.iterator).toEqual(view?.iterator);
    expect(now?.filter?.expr).toEqual(view?.filter?.expr);
  }
});

test("a filtered view is dropped with the iterator views over it only", async () => {
  await using tested = await openTestApplication(LETTERS);
  const change = changing(tested);
  const drop = { change: "drop_table", table: "many", if_not_exists: "error" };
  const refused = change({ ...drop, force: false });
  await expect(refused).rejects.toMatchObject({
    code: "has_dependents",
    meta: { dependents: expect.arrayContaining(["the view 'sentences'", "the view 'few'", "the view 'letters'"]) },
  });
  await expect(change({ change: "drop_columns", table: "many", columns: ["loud"] })).rejects.toMatchObject({
    code: "has_dependents",
    meta: { dependents: expect.arrayContaining(["the view 'sentences'"]) },
  });
  await change({ ...drop, force: true });
  expect(await names(tested)).toEqual(["docs"]);
  expect((await loadCatalog(tested.sql)).tables[0]?.columns.map(({ name }) => name)).toEqual(["id", "text", "n"]);
});

test("iterator views follow the names of a filtered view and of its columns", async () => {
  await using tested = await openTestApplication(APP);
  const change = changing(tested);
  await change({ change: "rename_column", table: "many", column: "loud", to: "cry" });
  await change({ change: "rename_column", table: "docs", column: "text", to: "body" });
  await change({ change: "move_table", table: "many", to: "lots", if_exists: "error", if_not_exists: "error" });
  const sentences = await declared(tested, "sentences");
  expect(sentences.view).toMatchObject({ base: "lots", iterator: { args: [{ name: "cry" }, {}] } });
  expect(sentences.columns).toMatchObject([{ name: "whole", computed: { expr: { args: [{ name: "cry" }] } } }]);
  expect((await declared(tested, "few")).view).toMatchObject({
    base: "even",
    iterator: { args: [{ name: "body" }, {}] },
  });
  const shown = [
    ...(readSources(await loadCatalog(tested.sql))
      .get("sentences")
      ?.columns.keys() ?? []),
  ];
  expect(shown.toSorted()).toEqual(["body", "cry", "id", "n", "pos", "text", "whole"]);
});

test("rows of rows have a column of the filtered view below", async () => {
  await using tested = await openTestApplication(LETTERS);
  await tested.post("/add", [
    { id: 1, text: "ab", n: 2 },
    { id: 2, text: "c", n: 1 },
  ]);
  const { rows } = await tested.sql.query({ text: "select text from letters order by pos" });
  expect(rows).toEqual([["A"], ["B"]]);
  expect((await tested.sql.query({ text: "select whole from sentences" })).rows).toEqual([["AB"]]);
});
