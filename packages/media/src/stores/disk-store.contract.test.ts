import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testMediaStore } from "@appdb/testkit/contracts/media-store";
import { afterAll, expect, test } from "vitest";
import { bytesContent, fileContent } from "./content.ts";
import { openDiskStore } from "./disk-store.ts";

const folder = mkdtempSync(join(tmpdir(), "appdb-media-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
function makeStore() {
  const path = join(folder, `${++count}`);
  mkdirSync(path);
  return path;
}

testMediaStore({
  name: "disk",
  signing: "none",
  open: async () => openDiskStore(makeStore()),
  openDenied: async () => undefined,
  openMissing: async () => openDiskStore(join(folder, "missing")),
  openUnreachable: async () => undefined,
});

test("a file is stored by its path, and drafts of killed programs are removed", async () => {
  const path = makeStore();
  await using store = openDiskStore(path);
  const file = join(folder, "file");
  writeFileSync(file, "content");
  expect(await store.put("a/file", await fileContent(file), { content_type: "text/plain" })).toEqual({ created: true });
  expect(statSync(join(path, "a/file")).mode & 0o777).toBe(0o400);
  const { body } = await store.get("a/file");
  expect(Buffer.concat(await drain(body)).toString()).toBe("content");
  expect(readdirSync(join(path, ".drafts"))).toEqual([]);
  expect((await store.list()).objects.map(({ key }) => key)).toEqual(["a/file"]);
});

test("objects are read-only, and a damaged one is replaced by its content", async () => {
  const path = makeStore();
  await using store = openDiskStore(path);
  const options = { content_type: "text/plain", sha256: createHash("sha256").update("content").digest("hex") };
  const key = `a/${options.sha256}`;
  const put = () => store.put(key, bytesContent(Buffer.from("content")), options);
  await put();
  expect(statSync(join(path, key)).mode & 0o777).toBe(0o400);
  expect(await put()).toEqual({ created: false });
  chmodSync(join(path, key), 0o600);
  writeFileSync(join(path, key), "changed by a program");
  expect(await put()).toEqual({ created: true });
  expect(readFileSync(join(path, key), "utf8")).toBe("content");
});

async function drain(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return pieces;
}
