import { chmodSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { appError, toProblem } from "@appdb/contract/errors";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { digestOfTree } from "../../storage/store-tree.ts";
import { type DatabaseWithPod, makeDatabase, makeFiles, openDatabaseWithPod } from "../../testing/databases.ts";
import { openFakePod, sendJson } from "../../testing/fake-pod.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople } from "../../testing/people.ts";
import { anApplication } from "../../testing/services.ts";
import { digestOf } from "../../testing/tar.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const PLAN = schemaPlan({ target: "cloud://acme:main", catalog_version: 3 });
const TEXTS = { "app.py": "import lib.part", "lib/part.py": "x = 1", "lib/other.py": "y = 1" };
const IMPORTED = ["app.py", "lib/part.py"] as const;

async function openSetup(): Promise<DatabaseWithPod> {
  const setup = await openDatabaseWithPod(server, TEXTS);
  setup.pod.answer = (asked, response) => {
    const imported = IMPORTED.map((path) => ({ path, digest: digestOf(TEXTS[path]) }));
    if (asked.route !== "POST /v1/schema/apply")
      return sendJson(response, { plan: PLAN, imported, manifest: anApplication() });
    response.end(`{"event":"progress","rows_done":1}\n{"event":"done","plan":{}}\n`);
  };
  return setup;
}

const digests = (texts: Record<string, string> = TEXTS) =>
  Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, digestOf(text)]));
const plan = (setup: DatabaseWithPod, body: object) =>
  server.ask("schemaPlan", {
    as: setup.member,
    params: { org: setup.org.name, db: "main" },
    body: { app_file: "app.py", folders: [], files: null, file_digests: null, ...body },
  } as never);
const apply = (setup: DatabaseWithPod, body: object = {}) =>
  server.ask("schemaApply", {
    as: setup.member,
    params: { org: setup.org.name, db: "main" },
    body: {
      app_file: "app.py",
      folders: ["reports"],
      file_digests: digests(),
      catalog_version: 3,
      allow_destructive: false,
      ...body,
    },
  } as never);

describe("a plan of the tables", () => {
  test("uses the database's files if they match the caller's", async () => {
    await using setup = await openSetup();
    const answer = await plan(setup, { file_digests: digests(), folders: ["reports"] });
    expect(answer.json).toEqual({ plan: PLAN });
    expect(JSON.parse(setup.pod.asked[0]?.body ?? "")).toEqual({
      app_file: "app.py",
      files: setup.digest,
      folders: ["reports"],
      recompute: false,
      services: [],
    });
  });

  test("ignores a differing file that the application does not import", async () => {
    await using setup = await openSetup();
    expect((await plan(setup, { file_digests: digests({ ...TEXTS, "lib/other.py": "other" }) })).status).toBe(200);
  });

  test("is refused for an imported file that differs or is missing at the caller", async () => {
    await using setup = await openSetup();
    const { "lib/part.py": _, ...less } = TEXTS;
    for (const texts of [{ ...TEXTS, "lib/part.py": "x = 2" }, less]) {
      const { json } = await plan(setup, { file_digests: digests(texts) });
      expect(json).toMatchObject({
        code: "project_files_differ",
        meta: { files: ["lib/part.py"] },
        detail: `lib/part.py: differs from the files of cloud://${setup.org.name}:main.`,
        hint: `Update the database first: cli db update cloud://${setup.org.name}:main`,
      });
    }
    const asked = setup.pod.asked.length;
    expect((await plan(setup, { file_digests: digests({ ...TEXTS, "app.py": "new" }) })).json).toMatchObject({
      code: "project_files_differ",
      meta: { files: ["app.py"] },
    });
    expect(setup.pod.asked).toHaveLength(asked);
  });

  test("reports a module that was not uploaded as differing files, not as a Python error", async () => {
    await using setup = await openSetup();
    const failed = appError("app_invalid", { detail: "app.py:1: No module named 'lib.new'" });
    setup.pod.answer = (_asked, response) => sendJson(response, toProblem(failed), 422);
    const { json } = await plan(setup, { file_digests: digests({ ...TEXTS, "lib/new.py": "" }) });
    expect(json).toMatchObject({ code: "project_files_differ", meta: { files: ["lib/new.py"] } });
    expect((await plan(setup, { file_digests: digests() })).json).toMatchObject({ code: "app_invalid" });
  });

  test("is refused for a database without project files", async () => {
    const setup = await makePeople(server);
    await makeDatabase(server, setup.org, { name: "bare" });
    const id = await makeDatabase(server, setup.org);
    await using _pod = await openFakePod(server, { id, org_id: setup.org.id });
    const { json } = await plan({ ...setup } as DatabaseWithPod, { file_digests: digests() });
    expect(json).toMatchObject({
      code: "project_files_differ",
      detail: expect.stringContaining("no project files yet"),
    });
  });

  test("uses other files next to the database's own, and changes nothing", async () => {
    await using setup = await openSetup();
    const files = await makeFiles(server, setup.org, { "app.py": "changed" });
    const answer = await plan(setup, { files });
    expect(answer.json).toEqual({ plan: PLAN });
    const digest = digestOfTree(files);
    expect(JSON.parse(setup.pod.asked[0]?.body ?? "")).toMatchObject({ files: digest });
    const { files_folder: filesFolder } = databasePaths(server.deps.config, setup.database_id);
    expect(readFileSync(join(filesFolder, digest, "app.py"), "utf8")).toBe("changed");
    const lacking = await makeFiles(server, setup.org, { "app.py": "not there" }, []);
    expect((await plan(setup, { files: lacking })).json).toMatchObject({ code: "blobs_missing" });
    const foreign = await makeFiles(server, setup.other_org, { "app.py": "theirs" });
    expect((await plan(setup, { files: foreign })).json).toMatchObject({ code: "blobs_missing" });
  });

  test("writes files again that a power cut left incomplete, and asks for a lost blob", async () => {
    await using setup = await openSetup();
    const files = await makeFiles(server, setup.org, { "app.py": "changed" });
    await plan(setup, { files });
    const { files_folder: filesFolder } = databasePaths(server.deps.config, setup.database_id);
    const path = join(filesFolder, digestOfTree(files), "app.py");
    chmodSync(path, 0o600);
    truncateSync(path);
    await plan(setup, { files });
    expect(readFileSync(path, "utf8")).toBe("changed");
    chmodSync(path, 0o600);
    truncateSync(path);
    await server.deps.blobs.delete(setup.org.id, digestOf("changed"));
    expect((await plan(setup, { files })).json).toMatchObject({ code: "blobs_missing" });
    const missing = await server.ask("blobMissing", {
      as: setup.member,
      params: { org: setup.org.name },
      body: { digests: [digestOf("changed")] },
    });
    expect(missing.json).toEqual({ missing: [digestOf("changed")] });
  });
});

describe("an update of the tables", () => {
  const events = async (setup: DatabaseWithPod) => {
    const { json } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    return json.items.map(({ action, outcome, target }: Record<string, string>) => [action, outcome, target]).reverse();
  };

  test("passes on the pod's progress and is recorded", async () => {
    await using setup = await openSetup();
    const { status, text } = await apply(setup);
    expect(status, text).toBe(200);
    expect(text).toBe('{"event":"progress","rows_done":1}\n{"event":"done","plan":{}}\n');
    const target = `cloud://${setup.org.name}:main/reports`;
    expect(await events(setup)).toEqual([
      ["schema.update", "pending", target],
      ["schema.update", "succeeded", target],
    ]);
    expect(JSON.parse(setup.pod.asked.at(-1)?.body ?? "")).toEqual({
      app_file: "app.py",
      files: setup.digest,
      folders: ["reports"],
      recompute: false,
      catalog_version: 3,
      allow_destructive: false,
      on_error: "abort",
    });
  });

  test("that fails is recorded as failed", async () => {
    await using setup = await openSetup();
    const { answer } = setup.pod;
    setup.pod.answer = (asked, response) =>
      asked.route === "POST /v1/schema/apply"
        ? void response.end(`{"event":"error","problem":{"code":"catalog_moved"}}\n`)
        : answer(asked, response);
    expect((await apply(setup)).text).toContain("catalog_moved");
    expect((await events(setup)).at(-1)).toEqual(expect.arrayContaining(["schema.update", "failed"]));
  });

  test("from other files than the database's is refused", async () => {
    await using setup = await openSetup();
    const { json } = await apply(setup, { file_digests: digests({ ...TEXTS, "lib/part.py": "x = 2" }) });
    expect(json).toMatchObject({ code: "project_files_differ", meta: { files: ["lib/part.py"] } });
    expect(setup.pod.asked.map(({ route }) => route)).toEqual(["POST /v1/manifest"]);
    expect(await events(setup)).toEqual([]);
  });

  test("is refused while the database is not AVAILABLE", async () => {
    await using setup = await openSetup();
    await server.deps.db
      .updateTable("control.databases")
      .set({ state: "UPDATING" })
      .where("id", "=", setup.database_id)
      .execute();
    for (const answer of [await apply(setup), await plan(setup, {})]) {
      expect(answer.json).toMatchObject({ code: "database_not_available", meta: { state: "UPDATING" } });
    }
  });
});

test("a prune and an explanation use the database's files, which must match the caller's", async () => {
  await using setup = await openSetup();
  const ask = (name: "schemaPrune" | "queryExplain", body: object) =>
    server.ask(name, {
      as: setup.member,
      params: { org: setup.org.name, db: "main" },
      body: { app_file: "app.py", folders: [], file_digests: digests(), ...body },
    } as never);
  expect((await ask("schemaPrune", { catalog_version: null })).json).toEqual({ plan: PLAN });
  expect(JSON.parse(setup.pod.asked.at(-1)?.body ?? "")).toEqual({
    app_file: "app.py",
    files: setup.digest,
    folders: [],
    catalog_version: null,
  });
  await ask("schemaPrune", { catalog_version: 3 });
  const { json } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
  expect(json.items.map(({ action, outcome }: Record<string, string>) => [action, outcome])).toEqual([
    ["schema.prune", "succeeded"],
    ["schema.prune", "pending"],
  ]);
  const question = { query: "q", params: {}, analyze: false };
  await ask("queryExplain", question);
  expect(setup.pod.asked.at(-1)).toMatchObject({ route: "POST /v1/queries/explain" });
  const other = await ask("queryExplain", { ...question, file_digests: digests({ ...TEXTS, "app.py": "new" }) });
  expect(other.json).toMatchObject({ code: "project_files_differ" });
});
