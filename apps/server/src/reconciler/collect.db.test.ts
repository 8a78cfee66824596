import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BUILDER_VERSION, hashEnvironment } from "@appdb/python-runtime/environments/environment";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databasePaths, databasePod, imageFolder } from "../pods/database-paths.ts";
import { ensurePodToken } from "../pods/pod-token.ts";
import { materializeTree } from "../storage/materialize-tree.ts";
import { type HostedDatabase, makeDatabase, makeFiles, makeHostedDatabase, NO_PACKAGES } from "../testing/databases.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeService } from "../testing/services.ts";
import { digestOf, tarOfBlobs } from "../testing/tar.ts";
import { createTestMachine, type TestMachine } from "../testing/test-machine.ts";
import { collectBlobs } from "./cleanup/collect-blobs.ts";
import { collectTrees } from "./cleanup/collect-trees.ts";
import { collectUnusedImages } from "./cleanup/collect-unused-images.ts";
import { removeOrphanServices } from "./services/resume-services.ts";

const GONE = "0190a0a0-0000-7000-8000-00000000dead";
const WEEK_AGO = new Date(Date.now() - 8 * 86_400_000);
const NEW = {
  ...NO_PACKAGES,
  source: "requirements.txt" as const,
  files: [{ path: "requirements.txt", text: "iniconfig==2.0" }],
};

let server: TestServer;
let machine: TestMachine;
beforeAll(async () => {
  server = await openServer();
  machine = createTestMachine(server.home);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Simulates a week without any use. */
async function age(...tables: ("blobs" | "images" | "trees")[]): Promise<void> {
  for (const table of tables) {
    await sql`update ${sql.table(`control.${table}`)} set used_at = ${WEEK_AGO}`.execute(server.deps.db);
  }
}

const asked = (setup: HostedDatabase, name: string, more: object) =>
  server.ask(name as "blobUpload", { as: setup.member, params: { org: setup.org.name, db: "main" }, ...more } as never);
const upload = (setup: HostedDatabase, texts: readonly string[]) =>
  asked(setup, "blobUpload", {
    body: new Uint8Array(tarOfBlobs(texts)),
    headers: { "content-type": "application/x-tar" },
  });
const missing = async (setup: HostedDatabase, texts: readonly string[]): Promise<string[]> =>
  (await asked(setup, "blobMissing", { body: { digests: texts.map(digestOf) } })).json.missing;
const planOf = async (setup: HostedDatabase, body: object) =>
  (await asked(setup, "databasePlan", { body: { settings: {}, environment: NO_PACKAGES, files: [], ...body } })).json;
const update = async (setup: HostedDatabase, body: object) => {
  const wanted = { settings: {}, environment: NO_PACKAGES, files: [], ...body };
  const { generation } = await planOf(setup, wanted);
  return await asked(setup, "databaseUpdate", { body: { ...wanted, expected_generation: generation } });
};
/** Carries out all requests at once. */
const carryOut = () =>
  sql`update control.databases set state = 'AVAILABLE', observed = desired - 'is_awake'`.execute(server.deps.db);

/** Resolves once a transaction waits for a lock. */
const waitsForLock = () =>
  eventually(async () => {
    const { rows } = await sql`select from pg_locks where not granted`.execute(server.deps.db);
    expect(rows.length).toBeGreaterThan(0);
  });

/** Blobs with a row but without bytes. */
async function lost(setup: HostedDatabase): Promise<string[]> {
  const rows = await server.deps.db
    .selectFrom("control.blobs")
    .select("digest")
    .where("org_id", "=", setup.org.id)
    .execute();
  const found = await Promise.all(rows.map(async ({ digest }) => server.deps.blobs.has(setup.org.id, digest)));
  return rows.filter((_, at) => found[at] === false).map(({ digest }) => digest);
}

test("removes unused blobs; one that is uploaded at that moment exists afterwards", async () => {
  const setup = await makeHostedDatabase(server);
  const files = await makeFiles(server, setup.org, { "app.py": "kept" });
  expect((await update(setup, { files })).status).toBe(202);
  await upload(setup, ["old", "again", "told"]);
  await age("blobs", "trees");
  expect(await missing(setup, ["told"])).toEqual([]);
  const { blobs } = server.deps;
  let sending: ReturnType<typeof upload> | undefined;
  const racing = {
    ...blobs,
    async delete(owner: string, digest: string) {
      if (digest === digestOf("again")) {
        sending = upload(setup, ["again"]);
        await Promise.race([sending, waitsForLock()]);
      }
      await blobs.delete(owner, digest);
    },
  };
  expect(await collectBlobs({ ...server.deps, blobs: racing })).toBe(2);
  expect((await sending)?.json).toEqual({ stored: 1, bytes: 5 });
  expect(await missing(setup, ["old", "again", "told", "kept"])).toEqual([digestOf("old")]);
  expect(await blobs.has(setup.org.id, digestOf("old"))).toBe(false);
  expect(await lost(setup)).toEqual([]);
});

test("keeps the files of updates that run while everything is a week old", async () => {
  const setup = await makeHostedDatabase(server);
  let isOver = false;
  const collecting = (async () => {
    while (!isOver) {
      await collectBlobs(server.deps);
      await collectTrees({ ...server.deps, machine });
    }
  })();
  try {
    for (let round = 0; round < 12; round++) {
      await age("blobs", "trees");
      const texts = [`shared ${round % 3}`, `of its own ${round}`, "always"];
      const files = await makeFiles(
        server,
        setup.org,
        Object.fromEntries(texts.map((text, at) => [`f${at}`, text])),
        [],
      );
      await eventually(async () => {
        const lacks = await missing(setup, texts);
        if (lacks.length > 0)
          await upload(
            setup,
            texts.filter((text) => lacks.includes(digestOf(text))),
          );
        expect((await update(setup, { files })).status).toBe(202);
      });
      await carryOut();
      const { desired } = await server.deps.db
        .selectFrom("control.databases")
        .select("desired")
        .where("id", "=", setup.database_id)
        .executeTakeFirstOrThrow();
      const { files_folder: filesFolder } = databasePaths(machine.paths, setup.database_id);
      const tree = { org_id: setup.org.id, digest: desired.tree ?? "", files_folder: filesFolder };
      const folder = await materializeTree(server.deps, tree, new AbortController().signal);
      expect(readdirSync(folder)).toEqual(["f0", "f1", "f2"]);
    }
  } finally {
    isOver = true;
    await collecting;
  }
  expect(await lost(setup)).toEqual([]);
});

test("removes unpacked files that no database or table uses, also of a sleeping one", async () => {
  const setup = await makeHostedDatabase(server);
  const name = (letter: string) => letter.repeat(64);
  const lay = (id: string, names: readonly string[]) => {
    const { files_folder: filesFolder } = databasePaths(machine.paths, id);
    for (const each of names) {
      const folder = join(filesFolder, each);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "app.py"), "", { mode: 0o444 });
      chmodSync(folder, 0o555);
      if (each !== name("f")) utimesSync(folder, WEEK_AGO, WEEK_AGO);
    }
    return () => readdirSync(filesFolder).sort();
  };
  const make = async (db: string, needed: readonly string[] | null) => {
    const trees = { desired: { tree: name("d") }, observed: { tree: name("c") } };
    const id = await makeDatabase(server, setup.org, { name: db, state: "STOPPED", ...trees });
    await ensurePodToken(server.deps, { id, org_id: setup.org.id });
    const neededTrees = needed === null ? null : JSON.stringify(needed);
    await server.deps.db
      .updateTable("control.databases")
      .set({ needed_trees: neededTrees })
      .where("id", "=", id)
      .execute();
    return id;
  };
  const ids = [await make("asleep", [name("a")]), await make("awake", null), await make("unknown", null)];
  const all = [..."abcdf"].map(name);
  const [asleep, awake, unknown] = ids.map((id) => lay(id, [...all, "draft-0"]));
  const entries = JSON.stringify([]);
  for (const digest of all) {
    await server.deps.db
      .insertInto("control.trees")
      .values({ org_id: setup.org.id, digest, entries, files: 0, bytes: "0", used_at: WEEK_AGO })
      .execute();
  }
  const { api: awakeApi } = await machine.driver.endpoints(databasePod(ids[1] ?? ""));
  const answering: TestMachine = {
    ...machine,
    askTrees: async ({ endpoint }) => (isDeepStrictEqual(endpoint, awakeApi) ? [name("b")] : undefined),
  };
  expect(await collectTrees({ ...server.deps, machine: answering })).toBe(5);
  expect(asleep?.()).toEqual([..."acdf"].map(name));
  expect(awake?.()).toEqual([..."bcdf"].map(name));
  expect(unknown?.()).toEqual([..."abcdf"].map(name));
  const rows = await server.deps.db
    .selectFrom("control.trees")
    .select("digest")
    .where("org_id", "=", setup.org.id)
    .execute();
  expect(rows.map(({ digest }) => digest).sort()).toEqual(all);
});

test("removes an unused image; an update that needs it at that moment builds it", async () => {
  const setup = await makeHostedDatabase(server);
  const { db } = server.deps;
  const wanted = hashEnvironment(NEW, BUILDER_VERSION);
  const [named, old] = ["1".repeat(64), "2".repeat(64)];
  await makeDatabase(server, setup.org, { name: "runs", desired: { environment: named } });
  for (const hash of [wanted, named, old]) {
    mkdirSync(imageFolder(server.home, setup.org.id, hash), { recursive: true });
    await db
      .insertInto("control.images")
      .values({
        org_id: setup.org.id,
        hash,
        state: "ready",
        environment: JSON.stringify(NEW),
        python: "3.12.8",
        packages: "[]",
        bytes: "1",
        built_at: new Date(),
      })
      .execute();
  }
  await age("images");
  let updating: ReturnType<typeof update> | undefined;
  let used: object | undefined;
  const racing: TestMachine = {
    ...machine,
    async removeImage(orgId, hash) {
      if (hash === wanted) {
        updating = update(setup, { environment: NEW });
        await Promise.race([updating, waitsForLock()]);
      }
      await machine.removeImage(orgId, hash);
    },
    collectImages: async (use) => {
      used = use;
      return 0;
    },
  };
  expect(await collectUnusedImages({ db, machine: racing })).toBe(2);
  expect((await updating)?.status).toBe(202);
  const images = await db
    .selectFrom("control.images")
    .select(["hash", "state"])
    .where("org_id", "=", setup.org.id)
    .execute();
  expect(new Map(images.map(({ hash, state }) => [hash, state]))).toEqual(
    new Map([
      [wanted, "building"],
      [named, "ready"],
    ]),
  );
  expect([wanted, named, old].filter((hash) => existsSync(imageFolder(server.home, setup.org.id, hash)))).toEqual([
    named,
  ]);
  expect(used).toMatchObject({ desired: expect.any(Set), oldest_pods: new Map() });
});

test("keeps what kept releases run with, and removes it with them", async () => {
  const setup = await makeHostedDatabase(server);
  const { db } = server.deps;
  const orgId = setup.org.id;
  const [tree, environment] = ["7".repeat(64), "8".repeat(64)];
  const filesFolder = join(databasePaths(machine.paths, setup.database_id).files_folder, tree);
  const image = imageFolder(server.home, orgId, environment);
  for (const folder of [filesFolder, image]) mkdirSync(folder, { recursive: true });
  await db
    .insertInto("control.trees")
    .values({ org_id: orgId, digest: tree, entries: "[]", files: 0, bytes: "0" })
    .execute();
  await db
    .insertInto("control.images")
    .values({
      org_id: orgId,
      hash: environment,
      state: "ready",
      environment: JSON.stringify(NEW),
      python: "3.12.8",
      packages: "[]",
      bytes: "1",
      built_at: new Date(),
    })
    .execute();
  // its tables need no trees
  await db.updateTable("control.databases").set({ needed_trees: "[]" }).where("id", "=", setup.database_id).execute();
  const serviceId = await makeService(server, { ...setup, digest: tree });
  await db.updateTable("control.releases").set({ environment }).where("service_id", "=", serviceId).execute();
  const collectAWeekLater = async () => {
    await age("images", "trees");
    utimesSync(filesFolder, WEEK_AGO, WEEK_AGO);
    await collectTrees({ ...server.deps, machine });
    await collectUnusedImages({ db, machine });
    const left = async (table: "images" | "trees", column: "hash" | "digest", value: string) =>
      (await sql`select from ${sql.table(`control.${table}`)} where ${sql.ref(column)} = ${value}`.execute(db)).rows
        .length;
    return [
      existsSync(filesFolder),
      existsSync(image),
      await left("trees", "digest", tree),
      await left("images", "hash", environment),
    ];
  };
  expect(await collectAWeekLater()).toEqual([true, true, 1, 1]);
  await db.deleteFrom("control.services").where("id", "=", serviceId).execute();
  expect(await collectAWeekLater()).toEqual([false, false, 0, 0]);
});

test("removes folders of deleted services, and follows no links", async () => {
  const setup = await makeHostedDatabase(server);
  const collecting = { ...server.deps, machine } as unknown as Parameters<typeof removeOrphanServices>[0];
  const { folder, services_folder: servicesFolder } = databasePaths(machine.paths, setup.database_id);
  const serviceId = await makeService(server, { ...setup, digest: "9".repeat(64) });
  for (const path of [folder, join(servicesFolder, serviceId), join(servicesFolder, GONE, "log")]) {
    mkdirSync(path, { recursive: true });
  }
  expect(await removeOrphanServices(collecting)).toBe(1);
  expect(readdirSync(servicesFolder)).toEqual([serviceId]);
  // in the folder of all databases every name looks like a service's id
  rmSync(servicesFolder, { recursive: true });
  symlinkSync(join(folder, ".."), servicesFolder);
  expect(await removeOrphanServices(collecting)).toBe(0);
  rmSync(servicesFolder);
  mkdirSync(servicesFolder);
  symlinkSync(folder, join(servicesFolder, GONE));
  expect(await removeOrphanServices(collecting)).toBe(0);
  expect(existsSync(folder)).toBe(true);
});
