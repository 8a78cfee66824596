import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pieceFreer } from "@appdb/system/files/free-pieces";
import { afterAll, beforeAll, expect, test } from "vitest";
import { download } from "./download.ts";
import { currentDownload, Downloads } from "./downloads.ts";
import { FileCache } from "./file-cache.ts";

const DATE = "Thu, 26 Nov 2026 05:00:00 GMT";
const OPTIONS = { allows_private: true, max_bytes: 100_000, total_ms: 5_000 };
const FILM = randomBytes(90_000);
const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(8_000)]);
const ROUTES: Readonly<Record<string, (res: ServerResponse) => void>> = {
  "/file": (res) => res.setHeader("content-type", "image/png; x=1").end("content"),
  "/moved": (res) => res.writeHead(302, { location: "/file" }).end(),
  "/loop": (res) => res.writeHead(302, { location: "/loop" }).end(),
  "/elsewhere": (res) => res.writeHead(302, { location: "file:///etc/passwd" }).end(),
  "/missing": (res) => res.writeHead(404).end(),
  "/film": (res) => res.end(FILM),
  "/large": (res) => res.end(Buffer.alloc(200_000)),
  "/endless": (res) => {
    const write = () => !res.destroyed && res.write(Buffer.alloc(50_000), () => setImmediate(write));
    write();
  },
  "/picture.mp4": (res) => {
    res.write(JPEG);
    setTimeout(() => res.end(Buffer.alloc(10_000)), 100);
  },
  "/cut": (res) => {
    res.writeHead(200, { "content-length": "1000" });
    res.write("part", () => res.destroy());
  },
  "/silent": () => undefined,
  "/tagged": (res) => {
    const isKnown = res.req.headers["if-none-match"] === '"one"';
    res.writeHead(isKnown ? 304 : 200, { etag: '"one"' }).end(isKnown ? undefined : "content");
  },
  "/dated": (res) => {
    const isKnown = res.req.headers["if-modified-since"] === DATE;
    res.writeHead(isKnown ? 304 : 200, { "last-modified": DATE }).end(isKnown ? undefined : "content");
  },
  "/long-tag": (res) => res.setHeader("etag", `"${"a".repeat(2_000)}"`).end("content"),
};

let folder: string;
let server: Server;
let count = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-download-"));
  server = createServer((req, res) => ROUTES[req.url ?? ""]?.(res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const addressOf = (path: string, host = "127.0.0.1") =>
  `http://${host}:${(server.address() as AddressInfo).port}${path}`;
const fileOf = () => join(folder, `${++count}`);

test.each(["/file", "/moved"])("%s is downloaded with its digest and its type", async (path) => {
  const file = fileOf();
  const found = await download(addressOf(path), file, OPTIONS);
  expect(found).toMatchObject({ bytes: 7, said_type: "image/png" });
  expect(found?.sha256).toMatch(/^ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73$/);
  expect(readFileSync(file, "utf8")).toBe("content");
});

test("frees the pieces of a download once they are written", async () => {
  const free = pieceFreer();
  const freed: Uint8Array[] = [];
  const freeAndNote = (pieces: readonly Uint8Array[]) => {
    free(pieces);
    freed.push(...pieces);
  };
  let head = 0;
  const onHead = (bytes: Uint8Array) => {
    head = bytes.length;
  };
  const file = fileOf();
  await download(addressOf("/film"), file, { ...OPTIONS, onHead, free: freeAndNote });
  expect(readFileSync(file).equals(FILM)).toBe(true);
  expect(head).toBeGreaterThan(0);
  expect(freed.some(({ buffer }) => buffer.byteLength === 0)).toBe(true);
});

test.each([
  ["/missing", "media_unreachable", "answers 404"],
  ["/loop", "media_unreachable", "more than 5 addresses"],
  ["/elsewhere", "media_unreachable", "another protocol"],
  ["/large", "media_too_large", "100000 bytes"],
  ["/endless", "media_too_large", "100000 bytes"],
  ["/cut", "media_unreachable", "breaks off"],
])("%s is refused with %s", async (path, code, text) => {
  const refused = download(addressOf(path), fileOf(), OPTIONS);
  await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
});

test("a server that never answers ends with the time, and with the caller's signal", async () => {
  const late = download(addressOf("/silent"), fileOf(), { ...OPTIONS, total_ms: 50 });
  await expect(late).rejects.toMatchObject({ code: "media_unreachable", message: expect.stringContaining("0.05 s") });
  const signal = AbortSignal.abort(new Error("gone"));
  await expect(download(addressOf("/silent"), fileOf(), { ...OPTIONS, signal })).rejects.toThrow("gone");
});

test.each(["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0"])(
  "the own machine is not reached as %s",
  async (host) => {
    const refused = download(addressOf("/file", host), fileOf(), { ...OPTIONS, allows_private: false });
    await expect(refused).rejects.toMatchObject({
      code: "media_unreachable",
      message: expect.stringMatching(/private|does not exist/),
    });
  },
);

test("an address with a password is refused, and the password is not in the error", async () => {
  const refused = download("http://user:hidden@127.0.0.1/x?token=hidden", fileOf(), OPTIONS);
  const error = await refused.catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: "media_unreachable" });
  expect(JSON.stringify(error) + (error as Error).message).not.toContain("hidden");
});

test.each(["/tagged", "/dated"])("%s is not downloaded again while it is the same", async (path) => {
  const first = await download(addressOf(path), fileOf(), OPTIONS);
  const file = fileOf();
  expect(await download(addressOf(path), file, { ...OPTIONS, known: first })).toBeUndefined();
  expect(existsSync(file)).toBe(false);
  const known = { etag: '"two"', last_modified: DATE };
  if (path === "/tagged")
    expect(await download(addressOf(path), file, { ...OPTIONS, known })).toMatchObject({ bytes: 7 });
});

test("a tag that is too long is not kept, and without one the content is read again", async () => {
  const first = await download(addressOf("/long-tag"), fileOf(), OPTIONS);
  expect(first?.etag).toBeUndefined();
  expect(await download(addressOf("/long-tag"), fileOf(), { ...OPTIONS, known: first })).toMatchObject({ bytes: 7 });
});

test("a column stops a download of another kind by its first bytes, and none of a column of its kind", async () => {
  const cache = new FileCache({ folder, owner: "kinds", max_bytes: 1_000_000, now: Date.now });
  const max = { max_bytes: 9_000, total_ms: 5_000, bytes_at_once: 1_000_000 };
  const of = (more: { max_bytes?: number }) =>
    new Downloads({ ...max, ...more, allows_private: true, requireWritable: async () => undefined });
  const url = addressOf("/picture.mp4");
  const at = (kind: "image" | "video", downloads: Downloads) =>
    currentDownload({ cache, downloads }, url, { kind, signal: undefined });
  // The whole file has too many bytes, so only a refusal by its start names the kind.
  await expect(at("video", of({}))).rejects.toMatchObject({
    code: "media_invalid",
    message: `${url} is not valid video content: it is image/jpeg.`,
  });
  const large = of({ max_bytes: 100_000 });
  const [film, picture] = await Promise.allSettled([at("video", large), at("image", large)]);
  expect(film).toMatchObject({ status: "rejected", reason: { code: "media_invalid" } });
  expect(picture).toMatchObject({ status: "fulfilled" });
});
