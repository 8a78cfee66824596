import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CHUNK_BYTES, type TreeEntry } from "@appdb/contract/control/project-tree";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { uploadBlobs } from "../control-plane/blobs/upload-blobs.ts";
import { databasePaths } from "../pods/database-paths.ts";
import { collectBlobs } from "../reconciler/cleanup/collect-blobs.ts";
import { collectTrees } from "../reconciler/cleanup/collect-trees.ts";
import { makeImage } from "../reconciler/images/make-image.ts";
import { forgetOldLines, openOperationLines } from "../reconciler/images/operation-lines.ts";
import { makeDatabase, makeFiles, makeHostedDatabase, NO_PACKAGES } from "../testing/databases.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, type TestPeople } from "../testing/people.ts";
import { digestOf, tarOfBlobs } from "../testing/tar.ts";
import { createTestMachine } from "../testing/test-machine.ts";
import { announceBlobs } from "./blob-store.ts";
import { reserveImage } from "./image-room.ts";
import { materializeTree } from "./materialize-tree.ts";
import { readStorageUse } from "./storage-use.ts";
import { storeTree } from "./store-tree.ts";

const MAX_FILES = 1_000;
const GIGABYTE = 1024 ** 3;
const TAR = { "content-type": "application/x-tar" };
const never = new AbortController().signal;

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_MAX_STORED_GB: "1", SERVICE_MAX_STORED_FILES: `${MAX_FILES}` } });
});
afterAll(() => server[Symbol.asyncDispose]());

const use = (orgId: string) => readStorageUse(server.deps.db, orgId);
const upload = (setup: TestPeople, texts: readonly string[], as = setup.member, org = setup.org) =>
  server.ask("blobUpload", {
    as,
    params: { org: org.name },
    headers: TAR,
    body: new Uint8Array(tarOfBlobs(texts)),
  } as never);
/** Adds blobs of earlier uploads. */
const fill = (orgId: string, count: number, bytes = 3) =>
  sql`insert into control.blobs (org_id, digest, bytes)
    select ${orgId}, encode(sha256(('filler' || n)::bytea), 'hex'), ${bytes} from generate_series(1, ${count}) n`.execute(
    server.deps.db,
  );
const blobsOnDisk = (orgId: string) => {
  const folder = join(server.home, "server/blobs", orgId);
  return existsSync(folder) ? readdirSync(folder, { recursive: true }).filter((name) => `${name}`.length > 60) : [];
};
const keep = (orgId: string, entries: readonly TreeEntry[]) =>
  server.deps.db.transaction().execute((tx) => storeTree(tx, orgId, entries, server.deps.config.quotas.storage));
const filesOf = (databaseId: string) => databasePaths(server.deps.config, databaseId).files_folder;
const unpack = (orgId: string, databaseId: string, digest: string) =>
  materializeTree(server.deps, { org_id: orgId, digest, files_folder: filesOf(databaseId) }, never);
const collected = () => ({ ...server.deps, machine: createTestMachine(server.home) });

describe("uploads", () => {
  test("small blobs count as blocks and as files", async () => {
    const setup = await makePeople(server);
    await upload(setup, ["one", "two"]);
    expect((await use(setup.org.id)).uploads).toEqual({ bytes: 2 * 4_096, files: 2 });
  });

  test("concurrent uploads stay within the quota, and other organizations are unaffected", async () => {
    const setup = await makePeople(server);
    await fill(setup.org.id, MAX_FILES - 100);
    const texts = (at: number) => Array.from({ length: 30 }, (_, one) => `${at} ${one}`);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => upload(setup, texts(at))));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ json }) => json.code)).toEqual(refused.map(() => "storage_quota"));
    expect(refused[0]?.json).toMatchObject({ status: 409, meta: { most_files: MAX_FILES, most_bytes: GIGABYTE } });
    const { files } = (await use(setup.org.id)).uploads;
    expect(files).toBeLessThanOrEqual(MAX_FILES);
    expect(blobsOnDisk(setup.org.id)).toHaveLength(files - (MAX_FILES - 100));
    expect((await upload(setup, texts(99), setup.outsider, setup.other_org)).status).toBe(200);
  });

  test("bytes that could not be written are released", async () => {
    const setup = await makePeople(server);
    const blobs = {
      ...server.deps.blobs,
      put: (owner: string, digest: string, bytes: Iterable<Uint8Array>) =>
        digest === digestOf("bad")
          ? Promise.reject(new Error("the disk broke"))
          : server.deps.blobs.put(owner, digest, bytes),
    };
    const body = tarOfBlobs(["good", "bad"]);
    const sending = uploadBlobs(
      { ...server.deps, blobs, recheck: async () => undefined } as never,
      setup.org.id,
      (async function* () {
        yield body;
      })(),
      undefined,
    );
    await expect(sending).rejects.toThrow("the disk broke");
    expect((await use(setup.org.id)).uploads.files).toBe(1);
  });

  test("announced blobs of a killed upload count until they are collected", async () => {
    const setup = await makePeople(server);
    const { blobs, db } = server.deps;
    const digest = digestOf("killed");
    await db.transaction().execute((tx) => announceBlobs(tx, setup.org.id, [{ digest, bytes: 6 }]));
    await blobs.put(setup.org.id, digest, [Buffer.from("killed")]);
    const ask = { as: setup.member, params: { org: setup.org.name }, body: { digests: [digest] } };
    expect((await server.ask("blobMissing", ask)).json.missing).toEqual([digest]);
    expect((await use(setup.org.id)).uploads.files).toBe(1);
    await collectBlobs(server.deps);
    expect((await use(setup.org.id)).uploads.files).toBe(1);
    await sql`update control.blobs set used_at = now() - interval '25 hours' where org_id = ${setup.org.id}`.execute(
      db,
    );
    await collectBlobs(server.deps);
    expect((await use(setup.org.id)).total).toEqual({ bytes: 0, files: 0 });
    expect(blobsOnDisk(setup.org.id)).toEqual([]);
  });
});

describe("unpacked project files", () => {
  test("a tree that names one chunk 512 times is refused before anything is written", async () => {
    const { database_id: databaseId, org } = await makeHostedDatabase(server);
    const digest = "a".repeat(64);
    await server.deps.db.insertInto("control.blobs").values({ org_id: org.id, digest, bytes: CHUNK_BYTES }).execute();
    const entries = Array.from({ length: 512 }, (_, at) => ({
      path: `f${`${at}`.padStart(3, "0")}`,
      size: CHUNK_BYTES,
      is_executable: false,
      link: null,
      chunks: [digest],
    }));
    const tree = await keep(org.id, entries);
    await expect(unpack(org.id, databaseId, tree.digest)).rejects.toMatchObject({ code: "storage_quota" });
    expect(existsSync(filesOf(databaseId))).toBe(false);
    expect((await use(org.id)).unpacked).toEqual({ bytes: 0, files: 0 });
  });

  test("of several trees at once, those within the quota are unpacked", async () => {
    const { org } = await makeHostedDatabase(server);
    const names = ["one", "two", "three", "four", "five"];
    const ids = await Promise.all(names.map((name) => makeDatabase(server, org, { name })));
    const paths = Array.from({ length: 250 }, (_, at) => `folder/f${`${at}`.padStart(3, "0")}`);
    const files = await makeFiles(server, org, Object.fromEntries(paths.map((path) => [path, "same"])), [
      paths[0] ?? "",
    ]);
    const { digest } = await keep(org.id, files);
    const results = await Promise.allSettled(ids.map((id) => unpack(org.id, id, digest)));
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    expect(refused.map(({ code }) => code)).toEqual(["storage_quota", "storage_quota"]);
    expect((await use(org.id)).unpacked).toEqual({ bytes: 3 * 251 * 4_096, files: 3 * 251 });
    expect(ids.filter((id) => existsSync(join(filesOf(id), digest)))).toHaveLength(3);
  });

  test("a failed write releases its reservation", async () => {
    const { database_id: databaseId, org } = await makeHostedDatabase(server);
    const files = await makeFiles(server, org, { "app.py": "gone" });
    const { digest } = await keep(org.id, files);
    await server.deps.blobs.delete(org.id, digestOf("gone"));
    await expect(unpack(org.id, databaseId, digest)).rejects.toMatchObject({ code: "blobs_missing" });
    expect((await use(org.id)).unpacked).toEqual({ bytes: 0, files: 0 });
  });

  test("the sweep counts trees of an older version, and releases reservations of killed writes", async () => {
    const { database_id: databaseId, org } = await makeHostedDatabase(server);
    const { db } = server.deps;
    const { digest } = await keep(org.id, await makeFiles(server, org, { "app.py": "older" }));
    mkdirSync(join(filesOf(databaseId), digest), { recursive: true });
    const reserved = { org_id: org.id, database_id: databaseId, bytes: "5000", files: 5 };
    await db
      .insertInto("control.unpacked")
      .values([
        { ...reserved, folder: "draft-killed", created_at: new Date(Date.now() - 25 * 3_600_000) },
        { ...reserved, folder: "draft-running" },
        { ...reserved, folder: "b".repeat(64) },
      ])
      .execute();
    await collectTrees(collected());
    expect((await use(org.id)).unpacked).toEqual({ bytes: 4_096 + 5_000, files: 6 });
  });
});

describe("images", () => {
  const makeRow = async (orgId: string, hash: string, bytes: string | null = null) =>
    server.deps.db
      .insertInto("control.images")
      .values({ org_id: orgId, hash, state: "building", environment: JSON.stringify(NO_PACKAGES), bytes })
      .execute();

  test("a build reserves half of the free quota, and the next one half of the rest", async () => {
    const { org } = await makePeople(server);
    const { storage } = server.deps.config.quotas;
    for (const hash of ["1", "2", "3"]) await makeRow(org.id, hash);
    const reserve = (hash: string) => reserveImage(server.deps.db, storage, { org_id: org.id, hash });
    expect([await reserve("1"), await reserve("2")]).toEqual([GIGABYTE / 2, GIGABYTE / 4]);
    await expect(reserve("3")).rejects.toMatchObject({ code: "storage_quota" });
    // repeated, like the next attempt of a build
    expect(await reserve("2")).toBe(GIGABYTE / 4);
    await sql`update control.images set reserved_until = now() where org_id = ${org.id}`.execute(server.deps.db);
    expect((await use(org.id)).images.bytes).toBe(0);
  });

  test("a failed build releases its reservation", async () => {
    const { database_id: databaseId, org } = await makeHostedDatabase(server);
    await makeRow(org.id, "c".repeat(64));
    const machine = createTestMachine(server.home);
    machine.build({ outcome: "fails" });
    const wanted = { org_id: org.id, database_id: databaseId, hash: "c".repeat(64), tree: null, is_forced: false };
    const building = makeImage({ ...server.deps, machine }, wanted, () => undefined, never);
    await expect(building).rejects.toMatchObject({ code: "build_failed" });
    expect((await use(org.id)).images.bytes).toBe(0);
  });
});

test("the oldest operations' lines are removed when an organization has too many", async () => {
  const { org } = await makePeople(server);
  const { db } = server.deps;
  const ids: string[] = [];
  for (let at = 0; at < 3; at++) {
    const operation = { org_id: org.id, database_id: null, kind: "database.prepare", target: `${at}`, actor: "a test" };
    const { id } = await db
      .insertInto("control.operations")
      .values({
        ...operation,
        is_cancellable: false,
        state: "succeeded",
        user_id: null,
        detail: null,
        error: null,
        ended_at: new Date(),
      } as never)
      .returning("id")
      .executeTakeFirstOrThrow();
    ids.push(id);
    await using lines = await openOperationLines(server.deps, id);
    lines.add("info", "x".repeat(900));
  }
  await forgetOldLines(db, ids[2] ?? "", 2_500);
  const left = await db
    .selectFrom("control.operation_lines")
    .select("operation_id")
    .where("operation_id", "in", ids)
    .execute();
  expect(left.map(({ operation_id: operationId }) => operationId).sort()).toEqual(ids.slice(1).sort());
});

test("below the disk reserve organizations cannot write, and the control plane continues", async () => {
  await using full = await openServer({ beside: server, env: { SERVICE_DISK_FLOOR_GB: "1000000" } });
  const setup = await makeHostedDatabase(full);
  const params = { org: setup.org.name, db: "main" };
  const sent = await full.ask("blobUpload", {
    as: setup.member,
    params,
    headers: TAR,
    body: new Uint8Array(tarOfBlobs(["one"])),
  } as never);
  expect(sent.json).toMatchObject({ code: "disk_full", meta: { floor_bytes: 1_000_000 * GIGABYTE } });
  const shown = await full.ask("databaseShow", { as: setup.member, params } as never);
  expect(shown.json).toMatchObject({
    state: "AVAILABLE",
    is_server_disk_full: true,
    server_disk_free_bytes: expect.any(Number),
  });
  const enough = await server.ask("databaseShow", { as: setup.member, params } as never);
  expect(enough.json).toMatchObject({ is_server_disk_full: false });
  const body = { settings: { cpu: 0.5 }, environment: NO_PACKAGES, files: [] };
  const { generation } = (await full.ask("databasePlan", { as: setup.member, params, body } as never)).json;
  const update = { ...body, expected_generation: generation, allow_destructive: true };
  const changed = await full.ask("databaseUpdate", { as: setup.member, params, body: update } as never);
  expect(changed.json.code).toBe("disk_full");
  expect((await full.ask("databaseStop", { as: setup.member, params } as never)).status).toBe(202);
});
