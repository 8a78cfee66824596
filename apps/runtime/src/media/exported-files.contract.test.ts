import { rmSync } from "node:fs";
import { join } from "node:path";
import { readReference } from "@appdb/contract/media";
import { collectMedia } from "@appdb/engine/media/collect-media";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Json, LIMITED_KEY, type MediaService, startMediaService } from "../testing/media-service.ts";

/** The store's address in exports. */
const OWN = "mediafs://media/home";
const MISSING = `${OWN}/00/${"0".repeat(64)}.png`;

let database: TestDatabase;
let service: MediaService;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startMediaService({ database, runtimeIn: testRuntime, log: createSilentLog() });
  await put("/kept", { picture: "whole.png" }, { key: "first" });
  await put("/files", { text: "a.md" }, { key: "first" });
}, 60_000);

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

async function put(path: string, files: Record<string, string>, fields: Record<string, string>): Promise<Json> {
  const answer = await service.send(path, service.formOf(files, fields));
  expect(answer).toMatchObject({ status: 200 });
  return answer.json;
}

/** The store and key of a cell. */
async function cellOf(table: string, key: string, column: string) {
  const [row] = await service.query(`select ${column} from ${table} where key = '${key}'`);
  const { key: object = "", store } = readReference(row?.[0] ?? "");
  return { store, key: object, exported: `${OWN}/${object}` };
}

async function contentOf(address: unknown): Promise<Buffer> {
  return Buffer.from(await (await fetch(String(address))).arrayBuffer());
}

test.each(["picture", "thumb"])(
  "a row gets the stored file of the exported cell %s, in whichever store it is",
  async (column) => {
    const first = await cellOf("kept", "first", column);
    expect(first.store).toMatch(column === "picture" ? /^home$/ : /^file:\/\//);
    const { json, status } = await service.send("/kept", { key: column, picture: first.exported });
    expect(status, JSON.stringify(json)).toBe(200);
    expect(await cellOf("kept", column, "picture")).toEqual(first);
    const { json: shown } = await service.send("/kept", { key: `${column} again`, picture: String(json.picture) });
    expect(await contentOf(shown.picture)).toEqual(await contentOf(json.picture));
  },
);

const refused: readonly [what: string, address: () => Promise<string>, code: string, detail: RegExp][] = [
  ["content that no row had", async () => MISSING, "invalid_request", /does not exist/],
  [
    "the same content of another database",
    async () => (await cellOf("kept", "first", "picture")).exported.replace("media/home", "other/home"),
    "invalid_request",
    /in the media store of another database/,
  ],
  [
    "the same content of a hosted database",
    async () => (await cellOf("kept", "first", "picture")).exported.replace("media/home", "acme:media/home"),
    "media_source_not_allowed",
    /not in a store that this database reads/,
  ],
  ["another kind", async () => (await cellOf("files", "first", "text")).exported, "media_invalid", /not valid image/],
  [
    "a name of a path",
    async () => `${OWN}/../${(await cellOf("kept", "first", "thumb")).key}`,
    "invalid_name",
    /a part of it is '\.\.'/,
  ],
  [
    "a name that differs from its hash",
    async () => `${(await cellOf("kept", "first", "picture")).exported}.png`,
    "invalid_request",
    /does not exist/,
  ],
  [
    "a folder of the server",
    async () => {
      const { key, store } = await cellOf("kept", "first", "thumb");
      return `${store}/${key}`;
    },
    "invalid_request",
    /begins with https/,
  ],
];

test.each(refused)("a row does not get %s", async (_, addressOf, code, detail) => {
  const { json, status } = await service.send("/kept", { key: "forged", picture: await addressOf() });
  expect(status).toBe(422);
  expect(json).toMatchObject({ code });
  expect(`${json.detail} ${JSON.stringify(json.errors)}`).toMatch(detail);
  expect(await service.query("select from kept where key = 'forged'")).toEqual([]);
});

test("a key without the media store names no exported file, and does not learn which exist", async () => {
  const answers = [];
  for (const picture of [MISSING, (await cellOf("kept", "first", "thumb")).exported]) {
    const { json, status } = await service.send("/kept", { key: "limited", picture }, LIMITED_KEY);
    expect([status, json.code]).toEqual([403, "forbidden"]);
    answers.push(json.detail);
  }
  expect(answers[0]).toBe(answers[1]);
});

test("an object that two rows refer to stays until both are gone", async () => {
  await put("/files", { text: "a.md" }, { key: "one" });
  const { exported } = await cellOf("files", "one", "text");
  expect((await service.send("/files", { key: "two", text: exported })).status).toBe(200);
  await using sql = createPgPool({ dsn: database.dsn, max: 2, application_name: "exported files test" });
  const remove = async (_store: string, keys: readonly string[]) => {
    for (const key of keys) rmSync(join(service.mediaFolder, "home", key));
  };
  const collect = async () => {
    await service.query("update appdb.media_objects set put_at = now() - interval '3 days', checked_at = null");
    await collectMedia(sql, { remove }, 86_400_000, "home");
  };
  await service.query("delete from files where key in ('first', 'one')");
  await collect();
  const { json, status } = await service.send("/files", { key: "three", text: exported });
  expect(status, JSON.stringify(json)).toBe(200);
  await service.query("delete from files");
  await collect();
  const late = await service.send("/files", { key: "four", text: exported });
  expect([late.status, late.json]).toEqual([
    422,
    expect.objectContaining({ code: "invalid_request", hint: expect.stringContaining("Insert the file again") }),
  ]);
});

test("a description of a file in place of its address is refused with what to write", async () => {
  const { exported } = await cellOf("kept", "first", "picture");
  const picture = { address: "/v1/x", uri: exported };
  const { json } = await service.send("/kept", { key: "object", picture });
  expect(json).toMatchObject({ code: "invalid_request", detail: expect.stringContaining('Write its "uri"') });
});
