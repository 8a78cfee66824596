import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { AppError } from "@appdb/contract/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestHome, type TestHome, waitFor } from "../testing/test-home.ts";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 120_000;

/** `gate`: while this file exists, the functions that replace `text` wait. */
const app = (table: string, column: string, gate: string) => `
import os
import time

import appdb as db

Base = db.model_base()

def slowly(n: int):
    while os.path.exists(${JSON.stringify(gate)}):
        time.sleep(0.02)
    if n == 1:
        raise ValueError("not this one")

@db.udf
def text(n: int) -> str:
    return f"text {n}"

@db.udf
def other(n: int) -> str:
    slowly(n)
    return f"other {n}"

@db.udf
def number(n: int) -> int:
    slowly(n)
    return n + 1000

class Doc(Base, name="${table}"):
    id = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    x = ${column}

class Plain(Base, name="plain"):
    id = db.Column(type=db.Int, primary_key=True)
`;

/** A local or hosted database, by the routes that the command and the library call. Responses and errors are text. */
interface Place {
  /** Applies a file, and waits for its fill. */
  update(source: string): Promise<string>;
  insert(table: string, row: object): Promise<string>;
  change(table: string, row: object): Promise<string>;
  compute(table: string, row: object): Promise<string>;
  recompute(table: string): Promise<string>;
  running(): Promise<readonly string[]>;
  cancel(job: string): Promise<unknown>;
}

let home: TestHome;
let pods: TestPods;
let client: LocalClient;
let pod: StartedPod;

beforeAll(async () => {
  home = openTestHome();
  pods = openTestPods();
  client = await home.startDaemon();
  pod = pods.start(await pods.spec());
  await pod.ready();
}, TIMEOUT);

afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await pods[Symbol.asyncDispose]();
}, TIMEOUT);

interface Jobs {
  readonly jobs: readonly { readonly id: string; readonly state: string }[];
}

const runningOf = ({ jobs }: Jobs) => jobs.flatMap(({ id, state }) => (state === "running" ? [id] : []));

async function textOf(response: Promise<unknown>): Promise<string> {
  try {
    const value = await response;
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.message}` : Promise.reject(error);
  }
}

const RECOMPUTE = { columns: ["x"], cascade: true, on_error: "abort" as const, errors_only: false };

const local: Place = {
  async update(source) {
    writeFileSync(join(home.project_root, "app.py"), source);
    const body = await home.readApp("main");
    const { plan } = await client.call("schemaPlan", { body: { ...body, recompute: false } });
    const { catalog_version: version } = plan;
    const apply = { ...body, catalog_version: version, allow_destructive: true };
    return await textOf(client.call("schemaApply", { body: apply }));
  },
  insert: (table, row) => textOf(client.text("rowInsert", sentTo(table, row))),
  change: (table, row) => textOf(client.call("rowUpdate", sentTo(table, { rows: [row] }))),
  compute: (table, row) => textOf(client.text("rowCompute", sentTo(table, row))),
  recompute: (table) =>
    textOf(client.call("recompute", { body: { ...RECOMPUTE, table: `main/${table}`, runtime: null, manifest: null } })),
  running: async () => runningOf(await client.call("jobList", { query: { target: "main", all: "0" } })),
  cancel: (id) => client.call("jobCancel", { body: { target: "main", id } }),
};

function sentTo(table: string, body: object): never {
  return { params: { db: "main", table }, query: {}, sent: JSON.stringify(body) } as never;
}

const hosted: Place = {
  async update(source) {
    const update = { app_file: "app.py", files: pods.putTree({ "app.py": source }), folders: [] };
    const planned = await pod.ask("POST", "/v1/schema/plan", update);
    const { catalog_version: version } = planned.json<{ plan: { catalog_version: number } }>().plan;
    const apply = { ...update, catalog_version: version, allow_destructive: true };
    return (await pod.ask("POST", "/v1/schema/apply", apply)).text;
  },
  insert: async (table, row) => (await pod.ask("POST", `/v1/tables/${table}/rows`, row)).text,
  change: async (table, row) => (await pod.ask("PATCH", `/v1/tables/${table}/rows`, { rows: [row] })).text,
  compute: async (table, row) => (await pod.ask("POST", `/v1/tables/${table}/compute`, row)).text,
  recompute: async (table) => (await pod.ask("POST", "/v1/recompute", { ...RECOMPUTE, table, files: null })).text,
  running: async () => runningOf((await pod.ask("GET", "/v1/jobs")).json<Jobs & Record<string, unknown>>()),
  cancel: (id) => pod.ask("POST", "/v1/jobs/cancel", { id }),
};

const cases = [
  ["local", "the same", "other(n)"],
  ["local", "another", "number(n)"],
  ["hosted", "the same", "other(n)"],
  ["hosted", "another", "number(n)"],
] as const;

for (const [where, type, replacing] of cases) {
  test(`a ${where} column keeps its function after a replacement by one of ${type} type fails`, {
    timeout: TIMEOUT,
  }, async () => {
    const place = { local, hosted }[where];
    const table = type === "another" ? "retyped" : "replaced";
    const gate = join(home.folder, "gate");
    let next = type === "another" ? 1_000 : 0;
    const worksAsBefore = async () => {
      next += 10;
      expect(await place.insert(table, { id: next, n: next })).toContain(`"x":"text ${next}"`);
      expect(await place.change(table, { id: next, n: next + 1 })).toContain('"updated":1');
      expect(await place.compute(table, { id: 1, n: next })).toContain(`"x":"text ${next}"`);
      expect(await place.insert("plain", { id: next })).toContain(`"id":${next}`);
    };
    await place.update(app(table, "text(n)", gate));
    await place.insert(table, { id: 1, n: 1 });

    writeFileSync(gate, "");
    const cancelled = place.update(app(table, replacing, gate));
    try {
      await waitFor(async () => (await place.running()).length > 0);
      // others show new values as they are computed
      if (type === "another") await worksAsBefore();
      for (const id of await place.running()) await place.cancel(id);
      expect(await cancelled).toContain("was cancelled");
    } finally {
      rmSync(gate);
    }
    await worksAsBefore();

    expect(await place.update(app(table, replacing, gate))).toContain("keeps its previous expression and values");
    await worksAsBefore();
    expect(await place.recompute(table)).toMatch(/"rows_done":\d,"errors":0\}\}\s*$/);
    await worksAsBefore();

    await place.update(app(table, replacing, gate).replace("def text", "def renamed"));
    const id = next + 5;
    expect(await place.insert(table, { id, n: id })).toMatch(/function_missing.* it needs app:text, which is missing/);
    expect(await place.insert("plain", { id })).toContain(`"id":${id}`);
    await place.update(app(table, "text(n)", gate));
  });
}
