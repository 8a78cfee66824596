import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { bytesContent } from "@appdb/media/stores/content";
import { openDiskStore } from "@appdb/media/stores/disk-store";
import { openServerStore } from "@appdb/media/stores/server-store";
import { emptyStore, storeBelow } from "@appdb/media/stores/store-below";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databasePaths, OBJECTS_SOCKET } from "../../pods/database-paths.ts";
import { ensurePodToken } from "../../pods/pod-token.ts";
import { mediaLinkToken, objectsToken } from "../../pods/service-token.ts";
import type { MediaBucket } from "../../storage/media-bucket.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople } from "../../testing/people.ts";
import { openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

const TYPE = { content_type: "text/plain" };

let server: TestServer;
let gateway: TestGateway;
let whole: ReturnType<typeof openDiskStore>;
/** Of sockets. They stay when a gateway stops, for pods that it leaves running. */
const folders: string[] = [];

/** A folder in place of a bucket. */
function openBucket(): MediaBucket {
  const folder = join(server.home, "bucket");
  mkdirSync(folder);
  whole = openDiskStore(folder);
  const open: MediaBucket["open"] = async ({ id, org_id: orgId }) => storeBelow(whole, `${orgId}/${id}/`);
  return {
    default_gb: 100,
    open,
    check: async () => undefined,
    endAbandoned: async () => 0,
    empty: async (part) => await emptyStore(await open(part)),
    async [Symbol.asyncDispose]() {},
  };
}

beforeAll(async () => {
  server = await openServer();
  gateway = await openTestGateway(server, { deps: { bucket: openBucket() } });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function makePart() {
  const { org } = await makePeople(server);
  const { id } = await gateway.makeDatabase(org, { name: "main" });
  const token = objectsToken(mediaLinkToken(await ensurePodToken(server.deps, { id, org_id: org.id }), id)).reveal();
  const { objects_folder: folder } = databasePaths({ home: server.home, runtime_base: undefined }, id);
  const socket = join(folder, OBJECTS_SOCKET);
  folders.push(folder);
  await eventually(() => statSync(socket));
  return { id, org, token, socket, folder };
}

test("a database has a socket to its own objects, which are below its organization and its id", async () => {
  const [one, other] = [await makePart(), await makePart()];
  await using store = openServerStore(one, "mediafs://one:main/home");
  await using theirs = openServerStore(other, "mediafs://other:main/home");
  await store.put("ab/x", bytesContent(Buffer.from("mine")), TYPE);
  expect((await whole.list()).objects.map(({ key }) => key)).toEqual([`${one.org.id}/${one.id}/ab/x`]);
  expect([(await store.head("ab/x"))?.bytes, await theirs.head("ab/x")]).toEqual([4, undefined]);
  const swapped = openServerStore({ socket: other.socket, token: one.token }, "mediafs://other:main/home");
  await expect(swapped.head("ab/x")).rejects.toMatchObject({ code: "media_unavailable" });
  expect([statSync(one.folder).mode & 0o777, statSync(one.socket).mode & 0o777]).toEqual([0o755, 0o666]);
});

test("a database that is being deleted has no socket, and an undeleted one has it again", async () => {
  const one = await makePart();
  const setState = (state: string) =>
    sql`update control.databases set state = ${state},
      purge_at = ${state === "DELETING" ? sql`now() + interval '1 day'` : null} where id = ${one.id}`.execute(
      server.deps.db,
    );
  await setState("DELETING");
  await eventually(() => expect(statSync(one.socket, { throwIfNoEntry: false })).toBeUndefined());
  expect(statSync(one.folder).isDirectory()).toBe(true);
  await setState("AVAILABLE");
  await using store = openServerStore(one, "mediafs://one:main/home");
  expect(await store.put("ab/y", bytesContent(Buffer.from("again")), TYPE)).toEqual({ created: true });
});
