import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import { aColumn, aComputed, aFunction, aTable, col, udf } from "@appdb/testkit/manifest-builder";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 180_000;
const SUMMARIZE = `
import appdb as db


@db.udf
def summarize(body: str) -> str:
    return body[:3]
`;
const BODY = aColumn("body", "string");

/** A database without project files. */
let pods: TestPods;
let pod: StartedPod;
let files: string;

beforeAll(async () => {
  pods = openTestPods();
  const spec = await pods.spec();
  mkdirSync(join(spec.files_folder, "none"), { recursive: true });
  files = pods.putTree({ "functions.py": SUMMARIZE });
  pod = pods.start(spec);
  await pod.ready();
  for (const name of ["plain", "news", "paths"]) {
    const definition = aTable(name, [BODY]);
    expect(await change({ change: "create_table", table: name, definition })).toMatchObject({ event: "done" });
  }
}, TIMEOUT);

afterAll(async () => {
  await pods[Symbol.asyncDispose]();
});

async function change(asked: object, code: object = {}) {
  return (await pod.ask("POST", "/v1/changes", { change: asked, files: null, ...code })).lines().at(-1);
}

async function addShort(table: string, id: string, code: object = {}) {
  const short = aComputed("short", udf(id, "string", col("body", "string")));
  const parameters = [{ name: "x", type: { kind: "string" }, nullable: false, kind: "positional" }];
  const functions = [{ ...aFunction(id, "string"), parameters }];
  return await change({ change: "add_columns", table, columns: [short] }, { functions, ...code });
}

async function insert(table: string) {
  const answer = await pod.ask("POST", `/v1/tables/${table}/rows`, { body: "Emma" });
  return { status: answer.status, ...answer.json<{ code?: string; short?: string; hint?: string }>() };
}

test("refuses a function of a module that the database does not have", { timeout: TIMEOUT }, async () => {
  expect(await addShort("news", "functions:summarize")).toMatchObject({
    event: "error",
    problem: {
      code: "function_missing",
      detail: expect.stringMatching(/cloud:\/\/acme:main has no project files\. Nothing was changed\./),
      hint: "Add functions.py to the project, then run: cli db update cloud://acme:main",
    },
  });
  expect(await addShort("news", "texts.other:summarize", { files })).toMatchObject({
    event: "error",
    problem: { code: "function_missing", hint: expect.stringMatching(/^Add texts\/other\.py to the project/) },
  });
  for (const table of ["plain", "news"]) expect(await insert(table)).toMatchObject({ status: 200, body: "Emma" });
});

test("refuses a module that cannot be imported before anything is changed", { timeout: TIMEOUT }, async () => {
  const wrong = pods.putTree({ "functions.py": "raise ValueError('no key')" });
  expect(await addShort("news", "functions:summarize", { files: wrong })).toMatchObject({
    event: "error",
    problem: { code: "app_invalid", detail: expect.stringMatching(/ValueError: no key .*Nothing was changed\./) },
  });
  expect(await insert("news")).toMatchObject({ status: 200 });
});

test("a database without project files calls modules of Python itself", { timeout: TIMEOUT }, async () => {
  expect(await addShort("paths", "posixpath:basename#apply")).toMatchObject({ event: "done" });
  expect(await insert("paths")).toMatchObject({ status: 200, short: "Emma" });
  expect(await insert("plain")).toMatchObject({ status: 200 });
});

test("a table whose module was missing works with the next project files", { timeout: TIMEOUT }, async () => {
  expect(await addShort("news", "functions:summarize", { files })).toMatchObject({ event: "done" });
  expect(await insert("news")).toMatchObject({ status: 200, short: "Emm" });
  // as earlier versions left it
  const { data_folder: dataFolder } = await pods.spec();
  await withClient(clusterDsn(join(dataFolder, "postgres"), "main"), async (client) => {
    await client.query("update appdb.tables set runtime_id = null where name = 'news'");
  });
  expect(await insert("plain")).toMatchObject({ status: 200 });
  expect(await insert("news")).toMatchObject({
    status: 409,
    code: "schema_mismatch",
    hint: "Add functions.py to the project, then run: cli db update",
  });
  const use = async (tree: string) => (await pod.ask("PUT", "/v1/trees", { files: tree })).status;
  expect(await use(pods.putTree({ "other.py": "" }))).toBe(204);
  expect(await insert("news")).toMatchObject({ status: 409 });
  expect(await use(files)).toBe(204);
  expect(await insert("news")).toMatchObject({ status: 200, short: "Emm" });
  expect(await insert("plain")).toMatchObject({ status: 200 });
});
