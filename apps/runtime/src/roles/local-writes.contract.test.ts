import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { HOME_PATHS } from "@appdb/contract/home";
import { COLUMNS_TYPE } from "@appdb/contract/routes/data-writes";
import { CLIENT_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import { columnFrame } from "@appdb/engine/rows/testing/column-frames";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { openTestHome, type TestHome } from "../testing/test-home.ts";

const TIMEOUT = 180_000;

const app = (more: string) => `
import appdb as db
from appdb.functions import upper

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
${more}

class Long(Base, name="longs", base=Doc.where(Doc.title != "x")):
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

beforeEach(async () => {
  await remove({ where: null });
});

async function update(more: string): Promise<void> {
  writeFileSync(join(tested.project_root, "app.py"), app(more));
  const body = await tested.readApp("main");
  const { catalog_version: version } = (await client.call("schemaPlan", { body: { ...body, recompute: false } })).plan;
  await client.call("schemaApply", { body: { ...body, catalog_version: version, allow_destructive: true } });
}

const at = (table = "docs") => ({ db: "main", table });
const insert = async (rows: unknown, query: object = {}, table?: string): Promise<unknown> =>
  JSON.parse(await client.text("rowInsert", { params: at(table), query, sent: JSON.stringify(rows) } as never));
const change = (body: object, table?: string) =>
  client.call("rowUpdate", { params: at(table), sent: JSON.stringify(body) });
const remove = (body: object, table?: string) =>
  client.call("rowDelete", { params: at(table), sent: JSON.stringify(body) });
const rows = async () => JSON.parse(await client.text("rowList", { params: at(), query: {} } as never)).rows;
const count = async () => (await client.call("rowCount", { params: at() })).count;

test("rows are inserted, changed and deleted with their computed columns", { timeout: TIMEOUT }, async () => {
  expect(await insert([{ id: 1, title: "a" }])).toEqual([{ id: 1, title: "a", loud: "A!" }]);
  const more = [
    { id: 2, title: "b" },
    { id: 3, title: "bad" },
  ];
  await expect(insert(more)).rejects.toMatchObject({ code: "function_failed", meta: { row: 1 } });
  expect(await insert(more, { on_error: "ignore", return_rows: "0" })).toEqual({
    inserted: 2,
    updated: 0,
    deleted: 0,
    errors: 1,
  });
  expect(await insert({ id: 4, title: "d" }, { return_rows: "0" })).toMatchObject({ inserted: 1, errors: 0 });
  expect(await change({ rows: [{ id: 1, title: "z" }] })).toMatchObject({ updated: 1 });
  expect(await remove({ where: "id > 2 and errortype(loud) = 'ValueError'" })).toMatchObject({ deleted: 1 });
  expect(await remove({ keys: [[4]] })).toMatchObject({ deleted: 1 });
  expect(await rows()).toEqual([
    { id: 2, title: "b", loud: "B!" },
    { id: 1, title: "z", loud: "Z!" },
  ]);
});

test("the update of the tables counts for the next row", { timeout: TIMEOUT }, async () => {
  await insert({ id: 1, title: "a" });
  await update("    big = upper(title)");
  expect(await insert({ id: 2, title: "b" })).toEqual({ id: 2, title: "b", loud: "B!", big: "B" });
  expect(await change({ where: null, set: { title: literal("c") } })).toMatchObject({ updated: 2 });
  expect((await rows())[1]).toEqual({ id: 1, title: "c", loud: "C!", big: "C" });
});

test("a manifest that is not stored is read from the file", { timeout: TIMEOUT }, async () => {
  const folder = join(tested.home, HOME_PATHS.manifests);
  expect(readdirSync(folder)).toHaveLength(1);
  rmSync(folder, { recursive: true });
  await client.call("stop", {});
  client = await tested.startDaemon();
  expect(await insert({ id: 1, title: "a" })).toMatchObject({ loud: "A!" });
});

test("lines are stored all or not at all, also when the client leaves", { timeout: TIMEOUT }, async () => {
  const lines = Array.from({ length: 5_000 }, (_, id) => `{"id": ${id}, "title": "t"}\n`).join("");
  const sending = send();
  sending.end(lines);
  const [answer] = await once(sending, "response");
  expect(answer.statusCode).toBe(200);
  answer.resume();
  await once(answer, "end");
  expect(await count()).toBe(5_000);

  const leaving = send();
  leaving.write(Array.from({ length: 3_000 }, (_, id) => `{"id": ${id + 5_000}, "title": "t"}\n`).join(""));
  await new Promise((resolve) => setTimeout(resolve, 500));
  await new Promise((resolve) => leaving.destroy().once("close", resolve));
  expect(await insert({ id: 20_000, title: "t" })).toMatchObject({ id: 20_000 });
  expect(await count()).toBe(5_001);
});

test("rows come in frames of columns too, with computed columns", { timeout: TIMEOUT }, async () => {
  const columns = [
    { name: "id", form: "i64", values: [1, 2, 3] },
    { name: "title", form: "utf8", values: ["a", "bad", null] },
  ] as const;
  const sendFrame = async (query: string, sent: Uint8Array): Promise<unknown> => {
    const sending = send(query, COLUMNS_TYPE);
    sending.end(sent);
    const [answer] = await once(sending, "response");
    return JSON.parse((await answer.toArray()).join(""));
  };
  expect(await sendFrame("return_rows=1", columnFrame(columns))).toMatchObject({
    errors: [{ pointer: "/2/title", detail: 'Line 3: title: The field "title" must not be null.' }],
  });
  const two = columns.map((column) => ({ ...column, values: column.values.slice(0, 2) }));
  const written = await sendFrame("on_error=ignore&return_rows=0", columnFrame(two));
  expect(written).toEqual({ inserted: 2, updated: 0, deleted: 0, errors: 1 });
  expect(await sendFrame("return_rows=0", Buffer.alloc(0))).toMatchObject({ inserted: 0 });
  expect(await count()).toBe(2);
});

test("views, wrong conditions and wrong bodies are refused", async () => {
  const view = { code: "invalid_request", message: expect.stringContaining("longs is a view"), meta: { base: "docs" } };
  await expect(insert({ id: 1, title: "a" }, {}, "longs")).rejects.toMatchObject(view);
  await expect(change({ where: null, set: { title: literal("c") } }, "longs")).rejects.toMatchObject(view);
  await expect(remove({ where: null }, "longs")).rejects.toMatchObject(view);
  await expect(remove({ where: "id >" })).rejects.toMatchObject({ code: "invalid_condition" });
  await expect(remove({ where: "idd > 1" })).rejects.toMatchObject({
    code: "column_not_found",
    hint: "Did you mean id?",
  });
  await expect(change({ rows: [] })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(change({ rows: [{ id: "x", title: "y" }] })).rejects.toMatchObject({
    errors: [{ pointer: "/rows/0/id", detail: expect.stringContaining("[0]: id: Expected an integer") }],
  });
  await expect(client.call("rowDelete", { params: at(), sent: `{"where":${nested(20_000)}}` })).rejects.toMatchObject({
    code: "invalid_request",
  });
});

function literal(value: string): object {
  return { node: "literal", value, type: { kind: "string" }, nullable: false };
}

/** JSON of an expression with so many levels. */
function nested(levels: number): string {
  const open = '{"node":"call","fn":"op.not","args":[';
  const close = '],"kwargs":{},"type":{"kind":"bool"},"nullable":true}';
  return open.repeat(levels) + JSON.stringify(literal("x")) + close.repeat(levels);
}

function send(query = "return_rows=0", type = "application/x-ndjson") {
  const { port } = tested.readDaemonFile() ?? { port: 0 };
  const token = readFileSync(join(tested.home, HOME_PATHS.token), "utf8").trim();
  const sending = request({
    port,
    host: "127.0.0.1",
    method: "POST",
    path: `/v1/databases/main/tables/docs/rows?${query}`,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": type,
      [CLIENT_VERSION_HEADER]: VERSION,
    },
  });
  sending.on("error", () => undefined);
  return sending;
}
