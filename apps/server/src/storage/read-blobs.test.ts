import { gzipSync } from "node:zlib";
import { CHUNK_BYTES } from "@appdb/contract/control/project-tree";
import { expect, test } from "vitest";
import { digestOf, type TarEntry, tarOf, tarOfBlobs } from "../testing/tar.ts";
import { readBlobs } from "./read-blobs.ts";

async function read(
  body: Buffer,
  { encoding, piece_bytes: pieceBytes = 65_536 }: { encoding?: string; piece_bytes?: number } = {},
) {
  async function* source() {
    for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
  }
  const found: string[] = [];
  for await (const { digest, bytes } of readBlobs(source(), encoding)) found.push(`${digest} ${bytes}`);
  return found;
}

const BLOBS = ["one", "", "three".repeat(1_000)];
const READ = BLOBS.map((blob) => `${digestOf(blob)} ${blob}`);

test.each([1, 100, 512, 513, 65_536])("reads blobs from an archive in pieces of %d bytes", async (bytes) => {
  expect(await read(tarOfBlobs(BLOBS), { piece_bytes: bytes })).toEqual(READ);
  expect(await read(gzipSync(tarOfBlobs(BLOBS)), { encoding: "gzip", piece_bytes: bytes })).toEqual(READ);
});

test("reads nothing from an empty archive", async () => {
  expect(await read(tarOfBlobs([]))).toEqual([]);
});

const name = digestOf("x");
const HOSTILE: Record<string, readonly TarEntry[]> = {
  "a path out of it": [{ path: "../../etc/passwd", bytes: Buffer.from("x") }],
  "an absolute path": [{ path: `/${name}`, bytes: Buffer.from("x") }],
  "a folder before the name": [{ path: `a/${name}`, bytes: Buffer.from("x") }],
  "a name in upper case": [{ path: name.toUpperCase(), bytes: Buffer.from("x") }],
  "a symbolic link": [{ path: name, type: "SymbolicLink", linkpath: "/etc/passwd" }],
  "a hard link": [{ path: name, type: "Link", linkpath: "/etc/passwd" }],
  "a device": [{ path: name, type: "CharacterDevice" }],
  "a pipe": [{ path: name, type: "FIFO" }],
  "a folder": [{ path: name, type: "Directory" }],
  "a size above a chunk's": [{ path: name, size: CHUNK_BYTES + 1 }],
  "a size above the data's": [{ path: name, bytes: Buffer.from("x"), size: 5_000 }],
  "a size of terabytes": [{ path: name, bytes: Buffer.from("x"), size: 2 ** 41 }],
};

test.each(Object.entries(HOSTILE))("refuses an archive with %s", async (_what, entries) => {
  await expect(read(tarOf(entries))).rejects.toMatchObject({ code: "blob_invalid" });
});

test.each<[string, Buffer, string | undefined, string]>([
  ["what is not an archive", Buffer.from("hello ".repeat(500)), undefined, "blob_invalid"],
  ["nothing at all", Buffer.alloc(0), undefined, "blob_invalid"],
  ["undeclared compression", gzipSync(tarOfBlobs(BLOBS)), undefined, "blob_invalid"],
  ["another compression than declared", tarOfBlobs(BLOBS), "gzip", "invalid_encoding"],
  ["an unsupported compression", tarOfBlobs(BLOBS), "br", "invalid_encoding"],
  ["one that was cut off", tarOfBlobs(BLOBS).subarray(0, 1_500), undefined, "blob_invalid"],
  ["a packed one that was cut off", gzipSync(tarOfBlobs(BLOBS)).subarray(0, 60), "gzip", "invalid_encoding"],
  ["a bomb", gzipSync(Buffer.alloc(64 * 1024 * 1024)), "gzip", "blob_invalid"],
])("refuses %s", async (_what, body, encoding, code) => {
  await expect(read(body, encoding === undefined ? {} : { encoding })).rejects.toMatchObject({ code });
});

test("returns blobs before an interruption, then its error", async () => {
  const whole = tarOfBlobs(BLOBS);
  async function* source() {
    yield whole.subarray(0, 2_048);
    throw new Error("the connection was lost");
  }
  for (const encoding of [undefined, "gzip"]) {
    const found: string[] = [];
    const reading = async () => {
      async function* packed() {
        yield gzipSync(whole).subarray(0, 100);
        throw new Error("the connection was lost");
      }
      for await (const { digest } of readBlobs(encoding === undefined ? source() : packed(), encoding))
        found.push(digest);
    };
    await expect(reading()).rejects.toThrow("the connection was lost");
    if (encoding === undefined) expect(found).toEqual([digestOf("one"), digestOf("")]);
  }
});
