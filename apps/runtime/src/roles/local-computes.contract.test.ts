import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestHome, type TestHome } from "../testing/test-home.ts";

const TIMEOUT = 180_000;

const app = (more: string) => `
import appdb as db
from appdb.functions.string import string_splitter

Base = db.model_base()

@db.udf
def shouted(text: str) -> str:
    if text == "bad":
        raise ValueError("bad text")
    return text.upper() + "!"

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    loud = shouted(title)
    late = db.Column(value=shouted(loud), stored=False)
${more}

class Long(Base, name="longs", base=Doc.where(Doc.title != "x")):
    twice = shouted(Doc.loud)

class Part(Base, name="parts", base=Doc, iterator=string_splitter(Doc.title, separators="sentence")):
    cry = shouted(text)

class Small(Base, name="smalls", base=Part.where(Part.pos < 1)):
    pass
`;

let tested: TestHome;
let client: LocalClient;

beforeAll(async () => {
  tested = openTestHome();
  client = await tested.startDaemon();
  await update("");
}, TIMEOUT);
afterAll(() => tested[Symbol.asyncDispose](), TIMEOUT);

async function update(more: string): Promise<void> {
  writeFileSync(join(tested.project_root, "app.py"), app(more));
  const body = await tested.readApp("main");
  const { catalog_version: version } = (await client.call("schemaPlan", { body: { ...body, recompute: false } })).plan;
  await client.call("schemaApply", { body: { ...body, catalog_version: version, allow_destructive: true } });
}

const compute = async (rows: unknown, query: object = {}, table = "docs"): Promise<unknown> => {
  const params = { db: "main", table };
  return JSON.parse(await client.text("rowCompute", { params, query, sent: JSON.stringify(rows) } as never));
};

test("rows of tables and of all views are computed, and none is stored", { timeout: TIMEOUT }, async () => {
  const row = { id: 1, title: "A b. C d." };
  const loud = "A B. C D.!";
  expect(await compute(row)).toEqual([{ ...row, loud }]);
  expect(await compute([{ title: "a" }], { outputs: "late,title" })).toEqual([{ late: "A!!", title: "a" }]);
  expect(await compute([row, { id: 2, title: "x" }], {}, "longs")).toEqual([{ ...row, loud, twice: `${loud}!` }]);
  expect(await compute([row], { outputs: "id,pos,cry" }, "parts")).toEqual([
    { id: 1, pos: 0, cry: "A B.!" },
    { id: 1, pos: 1, cry: "C D.!" },
  ]);
  expect(await compute([row], {}, "smalls")).toEqual([expect.objectContaining({ ...row, pos: 0, cry: "A B.!" })]);
  expect(await client.call("rowCount", { params: { db: "main", table: "docs" } })).toEqual({ count: 0 });
});

test("errors name the row, or are in it", { timeout: TIMEOUT }, async () => {
  const rows = [
    { id: 1, title: "a" },
    { id: 2, title: "bad" },
  ];
  await expect(compute(rows)).rejects.toMatchObject({ code: "function_failed", meta: { row: 1 } });
  expect(await compute(rows, { on_error: "ignore", outputs: "loud" })).toEqual([
    { loud: "A!" },
    { loud: null, _errors: { loud: expect.objectContaining({ type: "ValueError", message: "bad text" }) } },
  ]);
  await expect(compute(rows, { outputs: "loud,lout" })).rejects.toMatchObject({
    code: "column_not_found",
    hint: expect.stringContaining("loud"),
  });
  await expect(compute(rows, {}, "none")).rejects.toMatchObject({ code: "table_not_found" });
});

test("more outputs than stay open, at once, and an update count for the next rows", { timeout: TIMEOUT }, async () => {
  const names = Array.from({ length: 5 }, (_, at) => ["id", "title", "loud", "late"].slice(0, (at % 4) + 1));
  const orders = names.flatMap((some) => some.map((_, at) => [...some.slice(at), ...some.slice(0, at)].join(",")));
  const all = [...orders, ...orders].flatMap((outputs) => [
    compute([{ id: 1, title: "a" }], { outputs }),
    compute([{ id: 1, title: "a" }], { outputs, on_error: "ignore" }),
  ]);
  for (const answer of await Promise.all(all)) expect(answer).toHaveLength(1);
  await update('    more = shouted(title + "s")');
  expect(await compute([{ title: "a" }], { outputs: "more" })).toEqual([{ more: "AS!" }]);
});
