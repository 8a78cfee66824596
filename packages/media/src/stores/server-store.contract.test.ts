import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testMediaStore } from "@appdb/testkit/contracts/media-store";
import { eventually } from "@appdb/testkit/eventually";
import { type ObjectStore, startObjectStore, whyNoStore } from "@appdb/testkit/object-stores";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bytesContent } from "./content.ts";
import { openDiskStore } from "./disk-store.ts";
import { withEarlier } from "./home-store.ts";
import { parseStoreAddress, type StoreAddress } from "./media-address.ts";
import type { MediaStore } from "./media-store.ts";
import { openStore } from "./open-store.ts";
import { openServerStore } from "./server-store.ts";
import { emptyStore, storeBelow } from "./store-below.ts";
import { STORE_LIMITS, StoreBounds } from "./store-bounds.ts";
import { createStoreServer } from "./store-server.ts";

const TYPE = { content_type: "image/png" };
const ADDRESS = "mediafs://acme:main/home";
const TOKEN = "the token of the database";

let folder: string;
let servers: Server[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-served-"));
  servers = [];
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Serves a store at a new socket. */
async function serve(store: MediaStore, notes: string[] = [], bounds = new StoreBounds()) {
  const socket = join(folder, `${randomBytes(4).toString("hex")}.sock`);
  const server = createStoreServer({
    open: async () => store,
    org_id: "one",
    bounds,
    isAllowed: async (token) => token === TOKEN,
    note: (action, failure) => notes.push(`${action} ${(failure as { code?: string } | undefined)?.code ?? "done"}`),
  });
  servers.push(server);
  server.listen(socket);
  await once(server, "listening");
  return { server, socket };
}

const openAt = (socket: string, token = TOKEN) => openServerStore({ socket, token }, ADDRESS);

function newFolder(): string {
  const path = join(folder, randomBytes(6).toString("hex"));
  mkdirSync(path);
  return path;
}

function testServed(name: string, open: (isThere: boolean) => Promise<MediaStore>): void {
  testMediaStore({
    name,
    signing: "none",
    open: async () => openAt((await serve(storeBelow(await open(true), "org/database/"))).socket),
    openDenied: async () => undefined,
    openMissing: async () => openAt((await serve(storeBelow(await open(false), "org/database/"))).socket),
    openUnreachable: async () => openAt(join(folder, "nothing.sock")),
  });
}

describe("over a folder", () => {
  testServed("served from a folder", async (isThere) => openDiskStore(isThere ? newFolder() : join(folder, "missing")));

  test("a client reaches the objects below its prefix, and no others", async () => {
    const whole = openDiskStore(newFolder());
    for (const key of ["a/one/x", "a/two/x", "a/one-x/x"]) await whole.put(key, bytesContent(Buffer.from(key)), TYPE);
    await using one = openAt((await serve(storeBelow(whole, "a/one/"))).socket);
    expect((await one.list()).objects.map(({ key }) => key)).toEqual(["x"]);
    expect((await one.list({ after: "a/t" })).objects).toEqual([]);
    expect(await one.head("two/x")).toBeUndefined();
    await one.delete(["x"]);
    expect((await whole.list()).objects.map(({ key }) => key)).toEqual(["a/one-x/x", "a/two/x"]);
    expect(await emptyStore(storeBelow(whole, "a/two/"))).toBe(1);
    expect((await whole.list()).objects.map(({ key }) => key)).toEqual(["a/one-x/x"]);
  });

  test("a path that leaves the prefix, a wrong token and another method reach nothing", async () => {
    const whole = openDiskStore(newFolder());
    const notes: string[] = [];
    const { socket } = await serve(storeBelow(whole, "a/one/"), notes);
    await whole.put("a/two/x", bytesContent(Buffer.from("theirs")), TYPE);
    for (const path of ["/../two/x", "/%2e%2e/two/x", "/..%2ftwo/x", "//a/two/x", "/x/../../two/x", "/.drafts/x"]) {
      expect(await sendRaw(socket, `GET ${path} HTTP/1.1\r\nauthorization: Bearer ${TOKEN}`)).toContain(" 422 ");
    }
    expect(await sendRaw(socket, "GET /x HTTP/1.1\r\nauthorization: Bearer other")).toContain(" 401 ");
    expect(await sendRaw(socket, "GET /x HTTP/1.1")).toContain(" 401 ");
    expect(await sendRaw(socket, `DELETE /x HTTP/1.1\r\nauthorization: Bearer ${TOKEN}`)).toContain(" 422 ");
    await using other = openAt(socket, "other");
    await expect(other.put("x", bytesContent(Buffer.from("x")), TYPE)).rejects.toMatchObject({
      code: "media_unavailable",
    });
    expect(notes).toEqual([]);
  });

  test("an error names the database's store and not the bucket", async () => {
    const notes: string[] = [];
    const missing = openDiskStore(join(folder, "the-bucket-of-the-operator"));
    await using store = openAt((await serve(missing, notes)).socket);
    const error = await store.put("x", bytesContent(Buffer.from("x")), TYPE).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      code: "media_store_not_found",
      message: `The store ${ADDRESS} cannot be used: the object store of the server does not exist.`,
    });
    expect(JSON.stringify(error) + String(error)).not.toContain("the-bucket-of");
    expect(notes).toEqual(["write media_store_not_found"]);
  });

  test("a server that starts again gets the requests that were lost", async () => {
    const inner = openDiskStore(newFolder());
    const { server, socket } = await serve(inner);
    await using store = openAt(socket);
    await store.put("x", bytesContent(Buffer.from("x")), TYPE);
    server.close();
    server.closeAllConnections();
    const head = store.head("x");
    const next = createStoreServer({
      open: async () => inner,
      org_id: "one",
      bounds: new StoreBounds(),
      isAllowed: async () => true,
      note: () => undefined,
    });
    servers.push(next);
    next.listen(socket);
    expect(await head).toMatchObject({ key: "x", bytes: 1 });
  });

  test("an upload that is cut leaves no object, and its place is free again", async () => {
    const inner = openDiskStore(newFolder());
    const bounds = new StoreBounds({ ...STORE_LIMITS, org_requests: 1 });
    const { socket } = await serve(inner, [], bounds);
    const client = connect(socket);
    client.write(`PUT /cut HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 1000\r\n\r\nabc`);
    await once(client, "connect");
    setTimeout(() => client.destroy(), 50);
    await using store = openAt(socket);
    await store.put("whole", bytesContent(Buffer.from("x")), TYPE);
    await eventually(async () => expect((await inner.list()).objects.map(({ key }) => key)).toEqual(["whole"]));
  });

  test("an upload that comes too slowly is cut, and its place is free again", async () => {
    const inner = openDiskStore(newFolder());
    const bounds = new StoreBounds({
      ...STORE_LIMITS,
      org_requests: 1,
      put_wait_ms: 2_000,
      put_bytes_per_s: 1_000_000,
    });
    const notes: string[] = [];
    const { socket } = await serve(inner, notes, bounds);
    const client = connect(socket);
    client.on("error", () => undefined);
    client.write(`PUT /slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\ncontent-length: 1000\r\n\r\n`);
    const trickle = setInterval(() => client.write("a"), 20);
    try {
      // a write after the cut is an error, with which once() would fail
      await new Promise((resolve) => client.once("close", resolve));
    } finally {
      clearInterval(trickle);
      client.destroy();
    }
    await using store = openAt(socket);
    await store.put("whole", bytesContent(Buffer.from("x")), TYPE);
    await eventually(async () => expect((await inner.list()).objects.map(({ key }) => key)).toEqual(["whole"]));
    expect(notes.filter((note) => note.includes("unavailable"))).toEqual([]);
  });

  test("objects that were stored before are found where they are", async () => {
    const [earlier, later] = [openDiskStore(newFolder()), openDiskStore(newFolder())];
    await earlier.put("a", bytesContent(Buffer.from("before")), TYPE);
    const served = openAt((await serve(later)).socket);
    await using store = withEarlier(served, earlier);
    expect(await store.put("a", bytesContent(Buffer.from("before")), TYPE)).toEqual({ created: false });
    expect(await store.put("b", bytesContent(Buffer.from("after")), TYPE)).toEqual({ created: true });
    expect([store.pathOf("a"), store.pathOf("b")]).toEqual([earlier.pathOf("a"), undefined]);
    expect([(await store.head("a"))?.bytes, (await store.head("b"))?.bytes]).toEqual([6, 5]);
    const keys: string[] = [];
    for (let after: string | undefined, i = 0; i < 5; i += 1) {
      const page = await store.list({ after, limit: 1 });
      keys.push(...page.objects.map(({ key }) => key));
      after = page.next;
      if (after === undefined) break;
    }
    expect(keys).toEqual(["a", "b"]);
    await store.delete(["a", "b"]);
    expect([await earlier.head("a"), await later.head("b")]).toEqual([undefined, undefined]);
  });
});

for (const cloud of ["s3", "gcs", "azure"] as const) {
  describe.skipIf(whyNoStore(cloud) !== undefined)(`over a bucket of ${cloud}`, () => {
    let bucket: ObjectStore;
    beforeAll(async () => {
      bucket = await startObjectStore(cloud);
    }, 180_000);
    afterAll(() => bucket?.[Symbol.asyncDispose]());

    testServed(`served from ${cloud}`, (isThere) => {
      const name = isThere ? "media" : "missing-bucket";
      const address = `${bucket.address.replace("media", name)}/${randomBytes(6).toString("hex")}`;
      const place = parseStoreAddress(address) as Exclude<StoreAddress, { kind: "mediafs" }>;
      return openStore(place, { environment: bucket.environment });
    });
  });
}

/** The first line of the response to a request, as it is written. */
async function sendRaw(socket: string, head: string): Promise<string> {
  const client = connect(socket);
  client.write(`${head}\r\nhost: x\r\nconnection: close\r\n\r\n`);
  let text = "";
  for await (const piece of client) text += piece;
  return text.slice(0, text.indexOf("\r\n"));
}
