import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFileSpool } from "./file-spool.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "spool-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function read(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

test.each([10, 20_000_000])("returns %i bytes unchanged and keeps the file unnamed", async (bytes) => {
  await using spool = createFileSpool(folder);
  const text = "é0123456".repeat(bytes / 10);
  for (let at = 0; at < text.length; at += 100_000) await spool.write(text.slice(at, at + 100_000));
  await spool.write(Buffer.from("end"));
  expect(spool.bytes).toBe(Buffer.byteLength(text) + 3);
  expect(await readdir(folder)).toEqual([]);
  expect((await read(spool.read())) === `${text}end`).toBe(true);
});

test("reads nothing when nothing was written", async () => {
  await using spool = createFileSpool(folder);
  expect(await read(spool.read())).toBe("");
});
