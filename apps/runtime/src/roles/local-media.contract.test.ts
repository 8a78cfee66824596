import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestHome, ROOT, type TestHome } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
const PARAMS = { db: "main" };

let tested: TestHome;
let client: LocalClient;
let origin: string;

beforeAll(async () => {
  tested = openTestHome();
  client = await tested.startDaemon();
  origin = `http://127.0.0.1:${tested.readDaemonFile()?.port}`;
  const app = await tested.readApp("main");
  const { plan } = await client.call("schemaPlan", { body: app });
  const { catalog_version } = plan;
  await client.call("schemaApply", { body: { ...app, catalog_version, allow_destructive: false } });
}, TIMEOUT);
afterAll(async () => {
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

async function addressFor(name: string, bytes: number): Promise<string> {
  const { files } = await client.call("mediaWrite", { params: PARAMS, body: { files: [{ name, bytes }] } });
  return `${origin}${files[0]?.address}`;
}

test("a local database has a media store, whose addresses need no token of the home", {
  timeout: TIMEOUT,
}, async () => {
  const name = "Bilder/größe – 東京.txt";
  const put = await fetch(await addressFor(name, 4), { method: "PUT", body: "abcd" });
  expect([put.status, await put.json()]).toEqual([
    201,
    expect.objectContaining({ name, bytes: 4, type: "text/plain" }),
  ]);
  const { items } = await client.call("mediaList", { params: PARAMS, query: { deep: "1" } });
  expect(items).toMatchObject([{ name, bytes: 4 }]);
  const { files } = await client.call("mediaRead", { params: PARAMS, body: { names: [name] } });
  const address = `${origin}${files[0]?.address}`;
  expect(await (await fetch(address)).text()).toBe("abcd");
  const part = await fetch(address, { headers: { range: "bytes=1-2" } });
  expect([part.status, await part.text()]).toEqual([206, "bc"]);
  const head = await fetch(address, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "4"]);
  expect(await client.call("mediaUsage", { params: PARAMS, query: {} })).toMatchObject({ files: 1, room_bytes: null });
});

test("the library uploads files of this machine, and sends equal content once", { timeout: TIMEOUT }, async () => {
  const script = `
import json, sys
from appdb.uploads import upload
seen = []
found = upload("main", sys.argv[1:], progress=lambda progress: seen.append(progress.files_done))
print(json.dumps([found, seen]))`;
  const paths = ["one", "two", "one"].map((content, at) => {
    const path = join(tested.folder, `${at}.txt`);
    writeFileSync(path, content);
    return path;
  });
  const run = async () => {
    const env = { ...process.env, SERVICE_HOME: tested.home, PYTHONPATH: join(ROOT, "python") };
    const ran = await promisify(execFile)(join(ROOT, ".tools", "bin", "python"), ["-c", script, ...paths], { env });
    return JSON.parse(ran.stdout) as [string[], number[]];
  };
  const [addresses, seen] = await run();
  expect([addresses[0], seen.at(-1)]).toEqual([addresses[2], 3]);
  expect(addresses[1]).toMatch(/^mediafs:\/\/main\/home\/[0-9a-f]{2}\/[0-9a-f]{64}\.txt$/);
  expect(await run()).toEqual([addresses, expect.anything()]);
  const names = addresses.map((address) => address.slice("mediafs://main/home/".length));
  const { files } = await client.call("mediaRead", { params: PARAMS, body: { names } });
  expect(await (await fetch(`${origin}${files[1]?.address}`)).text()).toBe("two");
});

test("addresses of other databases, and forged or cut requests, are refused", { timeout: TIMEOUT }, async () => {
  const address = await addressFor("a.txt", 4);
  expect((await fetch(address.replace("?", "?x"), { method: "PUT", body: "abcd" })).status).toBe(403);
  expect(
    (await fetch(address.replace("/_media/main/", "/_media/other/"), { method: "PUT", body: "abcd" })).status,
  ).toBe(403);
  // names of databases cannot be guessed
  for (const pathOf of [
    (db: string) => `/_media/${db}/a.txt?forged`,
    (db: string) => `/v1/databases/${db}/file?token=forged`,
  ]) {
    const answers = await Promise.all(["main", "none", "-x"].map((db) => fetch(origin + pathOf(db))));
    const problems = await Promise.all(
      answers.map(async (answer) => ({ ...Object(await answer.json()), instance: "" })),
    );
    expect(problems[0]).toMatchObject({ code: "media_address_invalid", status: 403 });
    expect(problems.slice(1)).toEqual([problems[0], problems[0]]);
  }
  expect((await fetch(address, { method: "PUT", body: "abc" })).status).toBe(422);
  expect((await fetch(address)).status).toBe(405);
  for (const path of ["/v1/databases", "/_media/main/../../v1/databases", "/_media/main/a.txt/"]) {
    expect([401, 403, 404]).toContain((await fetch(`${origin}${path}`)).status);
  }
  expect((await client.call("mediaList", { params: PARAMS, query: {} })).items.map(({ name }) => name)).toEqual([
    "Bilder",
  ]);
  await expect(client.call("mediaList", { params: { db: "none" }, query: {} })).rejects.toMatchObject({
    code: "table_not_found",
  });
});

test("a killed daemon's mark goes when the next one opens the store, and a stopped one leaves none", {
  timeout: TIMEOUT,
}, async () => {
  const uploads = join(tested.home, "media", "main", "uploads");
  const marks = () => readdirSync(uploads).filter((name) => name.endsWith(".live"));
  const pid = tested.readDaemonFile()?.pid ?? 0;
  const [killed] = marks();
  expect(killed).toBeDefined();
  process.kill(pid, "SIGKILL");
  client = await tested.startDaemon();
  await client.call("mediaList", { params: PARAMS, query: {} });
  expect(marks()).toEqual([expect.not.stringContaining(killed ?? "")]);
  await client.call("stop", {});
  await eventually(() => expect(marks()).toEqual([]), { timeout_ms: 20_000 });
});
