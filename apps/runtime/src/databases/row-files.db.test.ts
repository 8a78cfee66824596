import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { printReference, REFERENCE_END, REFERENCE_START, readReference } from "@appdb/contract/media";
import { localMediaPlace } from "@appdb/contract/media-place";
import type { FileCell } from "@appdb/contract/routes/data-api";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { afterAll, beforeAll, expect, test } from "vitest";
import { printFileAddress, RowFiles } from "./row-files.ts";

const CONTENT = "not decoded here";
const KNOWN = { type: "image/png", bytes: CONTENT.length, width: 3, height: 2, mode: "RGB", name: "a b.png" };

let folder: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: ReturnType<typeof createPgPool>;
let files: RowFiles;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-row-files-"));
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 2, application_name: "row files test" });
  files = new RowFiles({
    sql,
    log: createSilentLog(),
    // a destination that cannot be parsed refuses inserts only
    place: { ...localMediaPlace(folder, {}), input: "nowhere" },
    env: {},
    printAddress: printFileAddress("cloud://acme:main"),
  });
});
afterAll(async () => {
  await files[Symbol.asyncDispose]();
  await sql[Symbol.asyncDispose]();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function storedCell(): string {
  const sha256 = createHash("sha256").update(CONTENT).digest("hex");
  const key = `${sha256.slice(0, 2)}/${sha256}.png`;
  const path = join(folder, "home", key);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, CONTENT);
  return printReference({ store: "home", key, ...KNOWN });
}

async function describeCells(...cells: readonly string[]): Promise<FileCell[]> {
  const marked = cells.map((cell) => `${REFERENCE_START}${cell}${REFERENCE_END}`).join(",");
  return JSON.parse(await files.describe(`[${marked}]`)) as FileCell[];
}

function tokenOf(address = ""): string {
  return new URL(address, "http://host").searchParams.get("token") ?? "";
}

test("no token is valid in a database without tables", async () => {
  await expect(files.read("x", { method: "GET", headers: {} })).rejects.toMatchObject({
    code: "media_address_invalid",
  });
  await ensureCatalog(sql, readCatalogMigrations());
});

test("a failure to open is not kept", async () => {
  const place = localMediaPlace(folder, {});
  const lost = createPgPool({ dsn: database.dsn, max: 1, application_name: "row files test" });
  let isLost = true;
  const query: typeof lost.query = (input) => (isLost ? Promise.reject(new Error("lost")) : lost.query(input));
  const own = new RowFiles({
    sql: Object.assign(Object.create(lost) as typeof lost, { query }),
    log: createSilentLog(),
    place,
    env: {},
    printAddress: printFileAddress("cloud://acme:main"),
  });
  const row = `[${REFERENCE_START}${storedCell()}${REFERENCE_END}]`;
  await expect(own.describe(row)).rejects.toThrow("lost");
  isLost = false;
  expect(await own.describe(row)).toContain("/file?token=");
  await own[Symbol.asyncDispose]();
  await lost[Symbol.asyncDispose]();
});

test("rows without files stay as they are", async () => {
  expect(await files.describe('[{"a":1.50}]')).toBe('[{"a":1.50}]');
});

test("a cell is shown with an address that gives its content", async () => {
  const [cell] = await describeCells(storedCell());
  expect(cell).toEqual({
    address: expect.stringMatching(/^\/v1\/orgs\/acme\/databases\/main\/file\?token=/),
    uri: `mediafs://${basename(folder)}/home/${readReference(storedCell()).key}`,
    ...KNOWN,
  });
  const answer = await files.read(tokenOf(cell?.address), { method: "GET", headers: { range: "bytes=0-2" } });
  expect(answer).toMatchObject({ status: 206, headers: { "content-type": "image/png" } });
  const pieces: Uint8Array[] = [];
  for await (const piece of answer.body as AsyncIterable<Uint8Array>) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe("not");
});

test("a file is shown while the database refuses writes", async () => {
  const row = `[${REFERENCE_START}${storedCell()}${REFERENCE_END}]`;
  await files.describe(row);
  const dsn = new URL(database.dsn);
  dsn.searchParams.set("options", "-c default_transaction_read_only=on");
  await using reading = createPgPool({ dsn: dsn.href, max: 1, application_name: "row files test" });
  await expect(reading.query({ text: "create table refused ()" })).rejects.toMatchObject({ code: expect.any(String) });
  const place = localMediaPlace(folder, {});
  const printAddress = printFileAddress("cloud://acme:main");
  await using own = new RowFiles({ sql: reading, log: createSilentLog(), place, env: {}, printAddress });
  expect(await own.describe(row)).toContain("/file?token=");
});

test("a range behind the end gives the whole file", async () => {
  const [cell] = await describeCells(storedCell());
  const answer = await files.read(tokenOf(cell?.address), { method: "GET", headers: { range: "bytes=999-" } });
  expect(answer.status).toBe(200);
});

test("a file elsewhere keeps its own address and can be read by a token too", async () => {
  const url = "https://example.com/cat.png";
  const [cell] = await describeCells(printReference({ url, type: "image/png" }));
  expect(cell).toEqual({ address: expect.stringContaining("/file?token="), url, type: "image/png" });
});

test("a changed token is refused, and a lost file is named", async () => {
  const key = `00/${"0".repeat(64)}.png`;
  const [cell] = await describeCells(printReference({ store: "home", key, name: "lost.png" }));
  const token = tokenOf(cell?.address);
  await expect(files.read(token, { method: "GET", headers: {} })).rejects.toMatchObject({ code: "media_not_found" });
  await expect(files.read(`A${token}`, { method: "GET", headers: {} })).rejects.toMatchObject({
    code: "media_address_invalid",
  });
});
