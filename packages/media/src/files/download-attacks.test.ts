import { lookup } from "node:dns";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import type { AddressInfo, Socket } from "node:net";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { publicLookup } from "@appdb/system/network/public-addresses";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type DownloadOptions, download } from "./download.ts";
import { Downloads } from "./downloads.ts";

vi.mock("@appdb/system/network/public-addresses", async (original) => {
  const real = await original<typeof import("@appdb/system/network/public-addresses")>();
  return { ...real, publicLookup: vi.fn(real.publicLookup) };
});
vi.mock("node:dns", async (original) => {
  const real = await original<typeof import("node:dns")>();
  return { ...real, lookup: vi.fn(real.lookup) };
});

const OPEN = { allows_private: true, max_bytes: 100_000, total_ms: 20_000, patience_ms: 10_000 };
/** For servers that only a time ends. Others may be late on a busy machine. */
const HASTY = { ...OPEN, total_ms: 5_000, patience_ms: 300 };
const SLOW_PATHS: ReadonlySet<string> = new Set(["/endless-header", "/endless-notices", "/slow-body", "/silent-body"]);
const BOUNDED = { ...OPEN, allows_private: false };

const BOMB = gzipSync(Buffer.alloc(20_000_000));
/** What a hostile server writes on a connection, by the path of the request. */
const ATTACKS: Readonly<Record<string, (socket: Socket, url: URL) => void>> = {
  "/small": (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\ncontent"),
  "/to": (socket, url) =>
    socket.end(`HTTP/1.1 302 Found\r\nlocation: ${url.searchParams.get("at")}\r\ncontent-length: 0\r\n\r\n`),
  "/huge-header": (socket) => socket.end(`HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(100_000)}\r\n\r\n`),
  "/many-headers": (socket) => socket.end(`HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(10_000)}\r\n`),
  "/endless-header": (socket) => drip(socket, "HTTP/1.1 200 OK\r\n", "x-a: b\r\n"),
  "/endless-notices": (socket) => drip(socket, "", "HTTP/1.1 100 Continue\r\n\r\n"),
  "/slow-body": (socket) => drip(socket, "HTTP/1.1 200 OK\r\n\r\n", "b"),
  "/silent-body": (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nb"),
  "/bomb": (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`);
    socket.end(BOMB);
  },
  "/lying-length": (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nlonger content"),
  "/bad-chunk": (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
  "/both-lengths": (socket) =>
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
  "/no-http": (socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"),
  "/part": (socket) => socket.end("HTTP/1.1 206 Partial\r\ncontent-range: bytes 0-1/9\r\ncontent-length: 2\r\n\r\nab"),
};

let folder: string;
let server: Server;
let port: number;
const connected: Socket[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-attacks-"));
  server = createServer((socket) => {
    connected.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      const url = new URL(bytes.toString("latin1").split(" ")[1] ?? "/", "http://host");
      ATTACKS[url.pathname]?.(socket, url);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(() => {
  vi.mocked(lookup).mockClear();
  for (const socket of connected.splice(0)) socket.destroy();
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a text, and then another one for as long as the client reads. */
function drip(socket: Socket, first: string, next: string): void {
  socket.write(first);
  const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(next)), 20);
}

let count = 0;
const get = (address: string, options: DownloadOptions = OPEN) =>
  download(address, join(folder, `${++count}`), options);
const at = (path: string) => `http://127.0.0.1:${port}${path}`;
const unreachable = (text: string | RegExp) => ({
  code: "media_unreachable",
  message: text instanceof RegExp ? expect.stringMatching(text) : expect.stringContaining(text),
});

/** Names resolve to these addresses, one list for each look-up. */
function resolveTo(...answers: readonly (readonly string[])[]): void {
  const left = [...answers];
  vi.mocked(lookup).mockImplementation(((_name: string, _options: object, done: (...args: unknown[]) => void) => {
    const addresses = left.length > 1 ? left.shift() : left[0];
    done(
      null,
      addresses?.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as unknown as typeof lookup);
}

describe("a hosted service does not connect to", () => {
  test.each([
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "%31%32%37.0.0.1",
    "\u2460\u2461\u2466.0.0.1",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.169.254",
    "2852039166",
    "172.16.0.1",
    "192.0.0.192",
    "192.168.0.1",
    "192.88.99.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2001::1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "localhost",
    "LOCALHOST.",
  ])("%s", async (host) => {
    await expect(get(`http://${host}:${port}/small`, BOUNDED)).rejects.toMatchObject(
      unreachable(/private network|does not exist/),
    );
    expect(connected).toEqual([]);
  });

  test("a name with one private address among public ones", async () => {
    for (const address of ["127.0.0.1", "::1", "fe80::1%2", "::ffff:10.0.0.1", "fd00::1", "2002:a00:1::"]) {
      resolveTo(["203.0.114.1", address]);
      await expect(get(`http://host.test:${port}/small`, BOUNDED)).rejects.toMatchObject(unreachable("its name is of"));
    }
  });

  test("another address than the checked one, when a name resolves differently later", async () => {
    resolveTo(["203.0.114.1"], ["127.0.0.1"]);
    await expect(get(`http://host.test:${port}/small`, { ...BOUNDED, total_ms: 500 })).rejects.toMatchObject({
      code: "media_unreachable",
    });
    expect(vi.mocked(lookup)).toHaveBeenCalledOnce();
    expect(connected).toEqual([]);
  });

  test.each([22, 25, 110, 1023])("port %i of a public host", async (reserved) => {
    await expect(get(`http://203.0.114.1:${reserved}/`, BOUNDED)).rejects.toMatchObject(
      unreachable(`port ${reserved}`),
    );
  });

  test.each(["user:hidden@203.0.114.1", "user@203.0.114.1", ":hidden@203.0.114.1"])("%s", async (host) => {
    const error = await get(`http://${host}/a`, BOUNDED).catch((thrown: Error) => thrown);
    expect(error).toMatchObject(unreachable("a user or a password"));
    expect((error as Error).message).not.toContain("hidden");
  });
});

describe("a redirect is not followed to", () => {
  test.each([
    ["file:///etc/passwd", "another protocol"],
    ["ftp://203.0.114.1/a", "another protocol"],
    ["gopher://203.0.114.1/a", "another protocol"],
    ["data:image/png;base64,AA==", "another protocol"],
    ["http://user:x@127.0.0.1/", "a user or a password"],
    ["http://[::1", "is not valid"],
  ])("%s", async (location, text) => {
    await expect(get(at(`/to?at=${encodeURIComponent(location)}`))).rejects.toMatchObject(unreachable(text));
  });

  test.each(["http://169.254.169.254/latest/meta-data", "http://[::ffff:127.0.0.1]/", "http://2130706433/"])(
    "a private address by a public host: %s",
    async (location) => {
      // The server of the test stands for a public one.
      vi.mocked(publicLookup).mockImplementationOnce((_name, _options, done) =>
        done(null, [{ address: "127.0.0.1", family: 4 }]),
      );
      const refused = get(`http://public.test:${port}/to?at=${encodeURIComponent(location)}`, BOUNDED);
      await expect(refused).rejects.toMatchObject(unreachable("private network"));
      expect(connected).toHaveLength(1);
    },
  );
});

describe("a hostile response", () => {
  test.each([
    ["/huge-header", "its headers are too large"],
    ["/many-headers", "its headers are too large"],
    ["/endless-header", /headers are too large|does not answer within/],
    ["/endless-notices", "does not answer within 0.3 s"],
    ["/slow-body", "less than 1000 bytes in a second"],
    ["/silent-body", "it is silent for 0.3 s"],
    ["/bomb", "its content is encoded (gzip)"],
    ["/bad-chunk", /breaks off|does not speak HTTP/],
    ["/both-lengths", "does not speak HTTP"],
    ["/no-http", "does not speak HTTP"],
    ["/part", "it answers 206"],
  ])("%s ends", async (path, text) => {
    const before = count;
    await expect(get(at(path), SLOW_PATHS.has(path) ? HASTY : OPEN)).rejects.toMatchObject(unreachable(text));
    const written = readdirSync(folder).find((name) => name === `${before + 1}`);
    expect(written === undefined ? 0 : statSync(join(folder, written)).size).toBeLessThan(100_000);
  });

  test("that is longer than it says gives what it says", async () => {
    await get(at("/lying-length"));
    expect(readFileSync(join(folder, `${count}`), "utf8")).toBe("lon");
  });
});

describe("many downloads at once", () => {
  const open = (parts: Partial<ConstructorParameters<typeof Downloads>[0]> = {}) =>
    new Downloads({ ...OPEN, bytes_at_once: 1_000_000, requireWritable: async () => undefined, ...parts });
  const run = (downloads: Downloads, path: string, signal?: AbortSignal) =>
    downloads.run(at(path), join(folder, `${++count}`), { signal });

  test("wait for a place, and are refused when too many wait", async () => {
    const downloads = open({ at_once: 2, max_waiting: 1 });
    const first = [run(downloads, "/silent-body"), run(downloads, "/silent-body")];
    const waiting = run(downloads, "/small");
    await expect(run(downloads, "/small")).rejects.toMatchObject({
      code: "overloaded",
      message: "1 downloads are already waiting.",
    });
    for (const one of first) await expect(one).rejects.toMatchObject({ code: "media_unreachable" });
    expect(await waiting).toMatchObject({ bytes: 7 });
  });

  test("stop waiting with their request", async () => {
    const downloads = open({ at_once: 1 });
    const first = run(downloads, "/silent-body");
    const leaving = new AbortController();
    const waiting = run(downloads, "/small", leaving.signal);
    leaving.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(first).rejects.toMatchObject({ code: "media_unreachable" });
  });

  test("have a number of bytes together, which ended ones give back", async () => {
    const downloads = open({ bytes_at_once: 10 });
    expect(await run(downloads, "/small")).toMatchObject({ bytes: 7 });
    expect(await run(downloads, "/small")).toMatchObject({ bytes: 7 });
    await expect(run(open({ bytes_at_once: 6 }), "/small")).rejects.toMatchObject({ code: "overloaded" });
  });
});
