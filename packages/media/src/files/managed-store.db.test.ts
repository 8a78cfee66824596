import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { objectKey } from "@appdb/contract/media-uri";
import { MediaNames } from "@appdb/engine/media/media-names";
import { MEDIA_LIMIT, MediaObjects } from "@appdb/engine/media/media-objects";
import type { SqlPool } from "@appdb/engine/ports";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDiskStore } from "../stores/disk-store.ts";
import { ManagedStore } from "./managed-store.ts";
import { StoreTokens } from "./store-tokens.ts";

const URI = "mediafs://acme:main/home";
const PNG = Buffer.from("89504e470d0a1a0a0000", "hex");

let folder: string;
let tested: TestCatalog;
let store: ManagedStore;
let room: number | undefined;
let measuredAt: number;
let now: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-managed-"));
  for (const name of ["home", "uploads"]) mkdirSync(join(folder, name));
  tested = await openTestCatalog();
  room = undefined;
  measuredAt = 0;
  now = Date.now();
  openOn(tested.sql);
});

function openOn(sql: SqlPool): void {
  store = new ManagedStore({
    sql,
    names: new MediaNames(sql, "home"),
    objects: new MediaObjects(sql, { uri: URI }),
    store_name: "home",
    store: openDiskStore(join(folder, "home")),
    uri: URI,
    uploads_folder: join(folder, "uploads"),
    tokens: new StoreTokens("secret", "main", () => now),
    mark: { [Symbol.dispose]() {} },
    room: async () => (room === undefined ? undefined : { bytes: room, measured_at: measuredAt }),
    log: createSilentLog(),
  });
}
afterEach(async () => {
  await tested[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

async function* inPieces(content: Buffer, cut?: Error): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 4) yield content.subarray(at, at + 4);
  if (cut !== undefined) throw cut;
}

interface Given {
  readonly method?: string;
  readonly body?: Buffer;
  readonly cut?: Error;
  readonly headers?: Record<string, string>;
}

async function ask(
  address: string | null | undefined,
  { body = Buffer.alloc(0), cut, headers = {}, method = "GET" }: Given = {},
) {
  const token = address?.slice(address.indexOf("?") + 1) ?? "";
  const signal = new AbortController().signal;
  const answer = await store.handle({ method, token, headers, body: inPieces(body, cut), id: "r1", signal });
  const pieces: Buffer[] = [];
  if (typeof answer.body === "string" || Buffer.isBuffer(answer.body)) pieces.push(Buffer.from(answer.body));
  else for await (const piece of answer.body) pieces.push(Buffer.from(piece as Uint8Array));
  const bytes = Buffer.concat(pieces);
  const isJson = answer.headers["content-type"]?.includes("json") === true;
  return { ...answer, bytes, json: isJson ? JSON.parse(bytes.toString()) : undefined };
}

async function putAddress(name: string | null, content: Buffer, sha256?: string): Promise<string | null | undefined> {
  const { address } = (await store.write([{ name, bytes: content.length, sha256 }], 60))[0] ?? {};
  return address;
}

async function put(name: string | null, content: Buffer) {
  return await ask(await putAddress(name, content, hashOf(content)), { method: "PUT", body: content });
}

async function get(name: string, given: Given = {}) {
  return await ask((await store.read([name], 60))[0]?.address, given);
}

const namesOf = async () =>
  (await store.list({ name: "", is_deep: true, objects: false, after: "", limit: 100 })).items.map(({ name }) => name);

test("a file is put and read by its name, whole and in parts", async () => {
  const stored = await put("写真/東京.png", PNG);
  expect(stored).toMatchObject({
    status: 201,
    json: { name: "写真/東京.png", bytes: 10, type: "image/png", sha256: hashOf(PNG) },
  });
  const whole = await get("写真/東京.png");
  expect([whole.status, whole.bytes]).toEqual([200, PNG]);
  expect(whole.headers).toMatchObject({
    "content-type": "image/png",
    "content-length": "10",
    "accept-ranges": "bytes",
  });
  const part = await get("写真/東京.png", { headers: { range: "bytes=2-4" } });
  expect([part.status, part.bytes]).toEqual([206, PNG.subarray(2, 5)]);
  expect((await get("写真/東京.png", { method: "HEAD" })).bytes).toHaveLength(0);
  expect((await get("写真/東京.png", { headers: { "if-none-match": String(whole.headers["etag"]) } })).status).toBe(
    304,
  );
  expect(readdirSync(join(folder, "uploads"))).toEqual([]);
});

test("a folder of two hex digits holds files by name, or else the objects of this prefix", async () => {
  await put("a.png", PNG);
  const prefix = hashOf(PNG).slice(0, 2);
  const listed = async () =>
    (await store.list({ name: prefix, is_deep: true, objects: false, after: "", limit: 100 })).items.map(
      ({ name }) => name,
    );
  expect(await listed()).toEqual([objectKey(hashOf(PNG), "png")]);
  await put(`${prefix}/june.png`, PNG);
  expect(await listed()).toEqual([`${prefix}/june.png`]);
  expect((await get(`${prefix}/june.png`)).bytes).toEqual(PNG);
  expect(await store.remove([`${prefix}/june.png`], undefined)).toMatchObject({ removed: 1 });
  expect(await listed()).toEqual([objectKey(hashOf(PNG), "png")]);
});

test("equal content is stored once, and needs no second upload", async () => {
  await put("a.png", PNG);
  const [second] = await store.write([{ name: "b.png", bytes: PNG.length, sha256: hashOf(PNG) }], 60);
  expect(second).toMatchObject({ address: null, is_same: false, stored: { name: "b.png", type: "image/png" } });
  expect((await store.write([{ name: "b.png", bytes: PNG.length, sha256: hashOf(PNG) }], 60))[0]?.is_same).toBe(true);
  expect(await store.usage("")).toMatchObject({ files: 2, bytes: 20, stored: { objects: 1 } });
  expect((await get("b.png")).bytes).toEqual(PNG);
});

test("a file that takes the place of other content is announced as such", async () => {
  await put("a.png", PNG);
  await put("b.png", Buffer.concat([PNG, PNG]));
  const [png, other] = [PNG, Buffer.from("other")].map((content) => ({
    bytes: content.length,
    sha256: hashOf(content),
  }));
  const written = await store.write(
    [
      { name: "a.png", ...png },
      { name: "b.png", ...png },
      { name: "a.png", ...other },
      { name: "a.png", bytes: PNG.length },
      { name: "new.png", ...other },
      { name: null, ...other },
    ] as Parameters<ManagedStore["write"]>[0],
    60,
  );
  expect(written.map(({ replaces }) => replaces)).toEqual([false, true, true, true, false, false]);
});

test("another put under a name replaces it for the next readers, and not for addresses that were given", async () => {
  await put("a.png", PNG);
  const before = (await store.read(["a.png"], 60))[0]?.address;
  const other = Buffer.from("a text");
  await put("a.png", other);
  expect((await get("a.png")).bytes).toEqual(other);
  expect((await ask(before)).bytes).toEqual(PNG);
});

test("with if-none-match: * a put replaces nothing", async () => {
  const address = await putAddress("a.txt", Buffer.from("two!"));
  await put("a.txt", Buffer.from("one"));
  const headers = { "if-none-match": "*" };
  const refused = await ask(address, { method: "PUT", body: Buffer.from("two!"), headers });
  expect(refused).toMatchObject({ status: 412, json: { code: "media_exists" } });
  expect((await get("a.txt")).bytes.toString()).toBe("one");
});

test("an address that was given for a new name replaces nothing, and takes equal content again", async () => {
  const [one, two] = [Buffer.from("one!"), Buffer.from("two!")];
  const [early, late] = [await putAddress("a.txt", two), await putAddress("a.txt", one)];
  for (let at = 0; at < 2; at += 1) expect((await ask(late, { method: "PUT", body: one })).status).toBe(201);
  expect(await ask(early, { method: "PUT", body: two })).toMatchObject({
    status: 412,
    json: { code: "media_exists", hint: expect.stringContaining("ask for a new address") },
  });
  expect(await ask(late, { method: "PUT", body: two })).toMatchObject({ status: 412 });
  expect((await get("a.txt")).bytes).toEqual(one);
  const [renewed] = await store.write([{ name: "a.txt", bytes: 4 }], 60);
  expect(renewed?.replaces).toBe(true);
  expect((await ask(renewed?.address, { method: "PUT", body: two })).status).toBe(201);
  expect((await get("a.txt")).bytes).toEqual(two);
});

test("an address for a new name takes a file whose name was removed meanwhile", async () => {
  const address = await putAddress("a.txt", Buffer.from("two!"));
  await put("a.txt", Buffer.from("one"));
  await store.remove(["a.txt"], undefined);
  expect((await ask(address, { method: "PUT", body: Buffer.from("two!") })).status).toBe(201);
});

test("a name that gets stored content twice in one request is announced as replaced", async () => {
  await put("a.png", PNG);
  const other = Buffer.from("other");
  await put("b.txt", other);
  const of = (content: Buffer) => ({ name: "new", bytes: content.length, sha256: hashOf(content) });
  const written = await store.write([of(PNG), of(PNG), of(other)], 60);
  expect(written.map(({ is_same: isSame, replaces }) => [isSame, replaces])).toEqual([
    [false, false],
    [true, false],
    [false, true],
  ]);
  expect((await get("new")).bytes).toEqual(other);
});

test.each([
  ["more bytes than announced", Buffer.from("12345"), undefined, "media_invalid"],
  ["fewer bytes than announced", Buffer.from("123"), undefined, "media_invalid"],
  ["other content than announced", Buffer.from("4321"), undefined, "media_invalid"],
  ["a body that breaks off", Buffer.from("1234"), new Error("the connection broke"), "internal_error"],
])("%s leaves nothing behind", async (_what, body, cut, code) => {
  const content = Buffer.from("1234");
  const address = await putAddress("a.txt", content, hashOf(content));
  const refused = await ask(address, { method: "PUT", body, ...(cut === undefined ? {} : { cut }) });
  expect(refused.json.code).toBe(code);
  expect(await namesOf()).toEqual([]);
  expect(readdirSync(join(folder, "uploads"))).toEqual([]);
  expect(readdirSync(join(folder, "home"))).toEqual([]);
});

test("an announced length is compared before the body is read", async () => {
  const address = await putAddress("a.txt", Buffer.from("1234"));
  const headers = { "content-length": "5" };
  expect(await ask(address, { method: "PUT", body: Buffer.from("12345"), headers })).toMatchObject({ status: 422 });
});

test("an address is for its method and its time", async () => {
  await put("a.png", PNG);
  const putting = await putAddress("b.png", Buffer.from("text"));
  const reading = (await store.read(["a.png"], 60))[0]?.address;
  expect(await ask(putting)).toMatchObject({ status: 405 });
  expect(await ask(reading, { method: "PUT", body: PNG })).toMatchObject({ status: 405 });
  now += 62_000;
  expect(await ask(reading)).toMatchObject({ status: 403, json: { code: "media_address_invalid" } });
  expect(await ask("/a?forged")).toMatchObject({ status: 403 });
});

test("a put is refused before the store is full", async () => {
  room = 100;
  await expect(putAddress("a.bin", Buffer.alloc(101))).rejects.toMatchObject({ code: "media_store_full" });
  const two = [60, 60].map((bytes, at) => ({ name: `${at}.bin`, bytes }));
  await expect(store.write(two, 60)).rejects.toMatchObject({ code: "media_store_full" });
  const content = Buffer.alloc(80);
  const address = await putAddress("a.bin", content);
  room = 79;
  const refused = await ask(address, { method: "PUT", body: content });
  expect(refused).toMatchObject({ status: 507, json: { code: "media_store_full" } });
  expect(refused.json.hint).toContain(`cli media du ${URI}`);
  room = 80;
  expect((await ask(address, { method: "PUT", body: content })).status).toBe(201);
});

test("puts at the same time share the room, and what one has stored counts until the disk is measured", async () => {
  const contents = [1, 2, 3].map((byte) => Buffer.alloc(60, byte));
  const addresses = await Promise.all(contents.map((content, at) => putAddress(`${at}.bin`, content)));
  room = 100;
  const puts = addresses.map((address, at) => ask(address, { method: "PUT", body: contents[at] ?? PNG }));
  expect((await Promise.all(puts)).map(({ status }) => status).sort()).toEqual([201, 507, 507]);
  const second = await putAddress("b.bin", Buffer.alloc(10));
  expect((await ask(addresses[1], { method: "PUT", body: contents[1] ?? PNG })).status).toBe(507);
  expect((await ask(second, { method: "PUT", body: Buffer.alloc(10) })).status).toBe(201);
  measuredAt = performance.now();
  expect((await ask(addresses[2], { method: "PUT", body: contents[2] ?? PNG })).status).toBe(201);
});

test("a store with a limit refuses puts that do not fit in it, before an address is made and before they are stored", async () => {
  const { rows } = await tested.sql.query({ text: "select current_database()" });
  await tested.sql.query({ text: `alter database "${rows[0]?.[0]}" set ${MEDIA_LIMIT} = '100'` });
  await using sql = createPgPool({
    dsn: tested.dsn,
    max: 4,
    statement_timeout_ms: 30_000,
    application_name: "test",
    log: createSilentLog(),
  });
  openOn(sql);
  room = 10 ** 9;
  const contents = [1, 2, 3].map((byte) => Buffer.alloc(40, byte));
  const addresses = await Promise.all(contents.map((content, at) => putAddress(`${at}.bin`, content)));
  const puts = addresses.map((address, at) => ask(address, { method: "PUT", body: contents[at] ?? PNG }));
  expect((await Promise.all(puts)).map(({ status }) => status).sort()).toEqual([201, 201, 507]);
  expect(await store.usage("")).toMatchObject({
    stored: { objects: 2, bytes: 80 },
    room_bytes: 20,
    room_of: "media_gb",
  });
  await expect(putAddress("d.bin", Buffer.alloc(21))).rejects.toMatchObject({
    code: "media_store_full",
    message: `A file has 21 bytes, and the media store ${URI} has room for 20: 0.00 GB are used by 2 files, and media_gb is 0.`,
  });
  const fits = await putAddress("e.bin", Buffer.alloc(20));
  expect((await ask(fits, { method: "PUT", body: Buffer.alloc(20) })).status).toBe(201);
  expect(await namesOf()).toContain("e.bin");
  expect((await get("e.bin")).status).toBe(200);
  expect(await store.remove(["e.bin"], undefined)).toMatchObject({ removed: 1 });
});

test("an object in use refuses a removal before any name is removed", async () => {
  const { key } = (await put("used.png", PNG)).json;
  await expect(store.remove(["used.png", key], undefined)).rejects.toMatchObject({ code: "media_in_use" });
  expect((await get("used.png")).bytes).toEqual(PNG);
});

test("names that the store keeps for itself, and missing ones, are refused by name", async () => {
  await expect(putAddress(objectKey(hashOf(PNG), "png"), PNG)).rejects.toMatchObject({ code: "invalid_name" });
  await expect(putAddress("../a", PNG)).rejects.toMatchObject({ code: "invalid_name" });
  await expect(store.read(["none.jpg"], 60)).rejects.toMatchObject({
    code: "media_not_found",
    message: expect.stringContaining("none.jpg"),
  });
});

test.each([
  ["file:///srv/media%20files", "cp '/srv/media files/KEY' FILE"],
  ["mediafs://acme:main/home/local/main-1", "cli media cp 'mediafs://acme:main/home/local/main-1/KEY' FILE"],
  ["s3://bucket/thumbs", "Copy s3://bucket/thumbs/KEY with a program of its cloud"],
])("a row's file in the store %s is refused with its place", async (other, step) => {
  const key = objectKey(hashOf(PNG), "png");
  await new MediaObjects(tested.sql, { uri: URI }).record({ store: other, key, bytes: PNG.length });
  await expect(store.read([key], 60)).rejects.toMatchObject({
    code: "media_not_found",
    message: `${URI}/${key} is a row's file in the store ${other}, and not in ${URI}.`,
    hint: expect.stringContaining(step.replace("KEY", key)),
  });
  await put(null, PNG);
  expect((await get(key)).bytes).toEqual(PNG);
});

test("an object without a name is read by its key, and removed by hand only when it was given long ago", async () => {
  const { key } = (await put(null, PNG)).json;
  expect((await get(key)).bytes).toEqual(PNG);
  await expect(store.remove([key], undefined)).rejects.toMatchObject({
    code: "media_in_use",
    message: expect.stringContaining("within the last hour"),
  });
  await put("a.png", PNG);
  await tested.sql.query({ text: "update appdb.media_objects set put_at = now() - interval '3 days'" });
  await expect(store.remove([key], undefined)).rejects.toMatchObject({
    message: expect.stringContaining('it is the file "a.png"'),
  });
  expect(await store.remove(["a.png", "none"], undefined)).toEqual({ removed: 1, missing: ["none"] });
  // its content went with its last name, because it was given long ago
  await expect(store.read([key], 60)).rejects.toMatchObject({ code: "media_not_found" });
  expect(await store.usage("")).toMatchObject({ stored: { objects: 0, bytes: 0 } });
});

test("puts of one content at once all succeed", async () => {
  const content = Buffer.alloc(100_000, 7);
  const addresses = await Promise.all(Array.from({ length: 8 }, (_, at) => putAddress(`${at}.bin`, content)));
  const answers = await Promise.all(addresses.map((address) => ask(address, { method: "PUT", body: content })));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
  expect(await store.usage("")).toMatchObject({ files: 8, stored: { objects: 1 } });
});
