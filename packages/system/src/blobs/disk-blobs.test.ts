import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDiskBlobs } from "./disk-blobs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-blobs-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");
const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));
async function textOf(blob: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const piece of blob) text += Buffer.from(piece).toString();
  return text;
}
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

test("returns stored bytes to their owner only", async () => {
  const blobs = createDiskBlobs(folder);
  const digest = digestOf("one two");
  expect(await blobs.has("acme", digest)).toBe(false);
  await blobs.put("acme", digest, bytes("one ", "two"));
  expect(await textOf(blobs.get("acme", digest))).toBe("one two");
  expect(await blobs.has("acme", digest)).toBe(true);
  expect(await blobs.has("other", digest)).toBe(false);
  await expect(textOf(blobs.get("other", digest))).rejects.toMatchObject({ code: "blobs_missing" });
});

test("stores nothing when the bytes do not match the digest or are cut off", async () => {
  const blobs = createDiskBlobs(folder);
  await expect(blobs.put("acme", digestOf("one"), bytes("two"))).rejects.toMatchObject({ code: "blob_invalid" });
  async function* cut() {
    yield Buffer.from("one");
    throw new Error("cut off");
  }
  await expect(blobs.put("acme", digestOf("one"), cut())).rejects.toThrow("cut off");
  expect(await blobs.has("acme", digestOf("one"))).toBe(false);
  expect(files()).toEqual([]);
});

test("stores the same bytes once when several callers send them concurrently", async () => {
  const blobs = createDiskBlobs(folder);
  await Promise.all([1, 2, 3, 4].map(() => blobs.put("acme", digestOf("same"), bytes("same"))));
  expect(files()).toEqual([digestOf("same")]);
  await blobs.delete("acme", digestOf("same"));
  await blobs.delete("acme", digestOf("same"));
  expect(await blobs.has("acme", digestOf("same"))).toBe(false);
});

test("builds no path from an invalid digest or owner", async () => {
  const blobs = createDiskBlobs(folder);
  for (const [owner, digest] of [
    ["acme", "../../etc/passwd"],
    ["..", digestOf("")],
    ["a/b", digestOf("")],
    ["acme", digestOf("").toUpperCase()],
  ] as const) {
    await expect(blobs.put(owner, digest, [])).rejects.toThrow("Invalid owner or digest");
  }
  expect(readdirSync(folder)).toEqual([]);
});

test("removes writes of a killed server and keeps running writes", async () => {
  const blobs = createDiskBlobs(folder);
  await blobs.put("acme", digestOf("kept"), bytes("kept"));
  for (const [name, ageS] of [
    ["old", 100_000],
    ["new", 0],
  ] as const) {
    const path = join(folder, "acme/drafts", name);
    writeFileSync(path, "half");
    const at = Date.now() / 1_000 - ageS;
    utimesSync(path, at, at);
  }
  await blobs.clean(new Date(Date.now() - 86_400_000));
  expect(files().sort()).toEqual([digestOf("kept"), "new"].sort());
});
