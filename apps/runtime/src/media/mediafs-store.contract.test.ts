import { createHash, randomBytes } from "node:crypto";
import { createLocalClient, type LocalClient } from "@appdb/contract/clients/local-client";
import { appError, type ErrorCode } from "@appdb/contract/errors";
import { objectKey } from "@appdb/contract/media-uri";
import { bytesContent } from "@appdb/media/stores/content";
import { type ManagedRoutes, openMediafsStore } from "@appdb/media/stores/mediafs-store";
import { testMediaStore } from "@appdb/testkit/contracts/media-store";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestHome, type TestHome } from "../testing/test-home.ts";

const TYPE = { content_type: "text/plain" };

let tested: TestHome;
let client: LocalClient;
let port: number;

// The daemon answers the same routes for the store of its database as a control plane.
beforeAll(async () => {
  tested = openTestHome();
  client = await tested.startDaemon();
  port = tested.readDaemonFile()?.port ?? 0;
  const app = await tested.readApp("main");
  const { catalog_version } = (await client.call("schemaPlan", { body: app })).plan;
  await client.call("schemaApply", { body: { ...app, catalog_version, allow_destructive: false } });
});
afterAll(async () => {
  await tested[Symbol.asyncDispose]();
});

function routesOf(db: string, of: LocalClient = client): ManagedRoutes {
  return {
    call: (name, input, options) => of.call(name, { ...input, params: { db } } as never, options) as never,
    resolve: (address) => `http://127.0.0.1:${port}${address}`,
  };
}

const open = async (routes: ManagedRoutes, prefix = `t${randomBytes(6).toString("hex")}`) =>
  openMediafsStore({ kind: "mediafs", org: "acme", database: "main", prefix }, routes);

testMediaStore({
  name: "mediafs",
  signing: "none",
  open: () => open(routesOf("main")),
  openDenied: async () => undefined,
  openMissing: () => open(routesOf("none")),
  openUnreachable: () => open(routesOf("main", createLocalClient({ port: 9, token: "t" }))),
});

const contentOf = (text: string) => {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { content: bytesContent(bytes), sha256, key: objectKey(sha256, "txt") };
};

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("content that the store has is not sent, and stays when another client deletes it", async () => {
  const sent: string[] = [];
  const routes = routesOf("main");
  const resolve = (address: string) => {
    sent.push(address);
    return routes.resolve(address);
  };
  const counting: ManagedRoutes = { call: routes.call, resolve };
  await using one = await open(counting);
  await using other = await open(counting);
  const { content, key, sha256 } = contentOf("of two clients");
  expect(await one.put(key, content, { ...TYPE, sha256 })).toEqual({ created: true });
  expect(await other.put(key, content, { ...TYPE, sha256 })).toEqual({ created: true });
  expect(await other.put(key, content, { ...TYPE, sha256 })).toEqual({ created: false });
  expect(sent).toHaveLength(1);
  expect(await read((await one.get(key)).body)).toBe("of two clients");
  await one.delete([key]);
  expect([await one.head(key), (await other.head(key))?.bytes]).toEqual([undefined, 14]);
  await client.call("mediaRemove", { params: { db: "main" }, body: { names: [] } });
  expect(await read((await other.get(key)).body)).toBe("of two clients");
});

test("files are read under names of any alphabet, and a replaced one has its new content at once", async () => {
  await using store = await open(routesOf("main"), "");
  const name = "Bilder/größe – 東京.txt";
  const put = async (text: string) => {
    const body = { files: [{ name, bytes: Buffer.byteLength(text) }] };
    const { files } = await client.call("mediaWrite", { params: { db: "main" }, body });
    expect((await fetch(`http://127.0.0.1:${port}${files[0]?.address}`, { method: "PUT", body: text })).status).toBe(
      201,
    );
  };
  await put("first");
  const { body, version } = await store.get(name);
  expect(await read(body)).toBe("first");
  await put("second");
  expect((await store.head(name))?.version).not.toBe(version);
  expect(await read((await store.get(name, { range: { start: 0, end: 3 } })).body)).toBe("sec");
  const { key } = (await client.call("mediaRead", { params: { db: "main" }, body: { names: [name] } })).files[0] ?? {
    key: "",
  };
  expect((await store.head(key))?.bytes).toBe(6);
});

const REFUSALS: readonly [ErrorCode, ErrorCode][] = [
  ["not_signed_in", "media_denied"],
  ["unauthorized", "media_denied"],
  ["forbidden", "media_denied"],
  ["organization_not_found", "media_store_not_found"],
  ["database_not_found", "media_store_not_found"],
  ["database_not_available", "media_unavailable"],
  ["server_unreachable", "media_unavailable"],
  ["media_store_full", "media_store_full"],
];

for (const [code, expected] of REFUSALS) {
  test(`a server that answers ${code} fails the put with ${expected}, and says what to do`, async () => {
    const call = async () => {
      throw appError(code, { detail: "The server said so.", hint: "Do this." });
    };
    await using store = await open({ call, resolve: (address) => address }, "thumbs");
    const { content, key, sha256 } = contentOf("refused");
    const failed = await store.put(key, content, { ...TYPE, sha256 }).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: expected,
      message: expect.stringContaining("The server said so"),
      hint: expect.stringMatching(expected === "media_denied" ? /cli login\) or SERVICE_API_KEY/ : /./),
    });
  });
}
