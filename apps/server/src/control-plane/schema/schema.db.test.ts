import { chmodSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { appError, toProblem } from "@appdb/contract/errors";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { digestOfTree, storeTree } from "../../storage/store-tree.ts";
import { makeDatabase, makeFiles } from "../../testing/databases.ts";
import { type FakePod, openFakePod, sendJson } from "../../testing/fake-pod.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { type OrgStage, openOrgStage } from "../../testing/people.ts";
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

interface Stage extends OrgStage, AsyncDisposable {
  readonly database_id: string;
  readonly pod: FakePod;
  readonly digest: string;
  readonly files: TreeEntry[];
}

async function openStage(): Promise<Stage> {
  const stage = await openOrgStage(server);
  const files = await makeFiles(server, stage.org, TEXTS);
  const { digest } = await server.deps.db
    .transaction()
    .execute((tx) => storeTree(tx, stage.org.id, files, server.deps.config.quotas.storage));
  const databaseId = await makeDatabase(server, stage.org, { desired: { tree: digest } });
  const pod = await openFakePod(server, { id: databaseId, org_id: stage.org.id });
  pod.answer = (asked, response) => {
    const imported = IMPORTED.map((path) => ({ path, digest: digestOf(TEXTS[path]) }));
    if (asked.route !== "POST /v1/schema/apply")
      return sendJson(response, { plan: PLAN, imported, manifest: anApplication() });
    response.end(`{"event":"progress","rows_done":1}\n{"event":"done","plan":{}}\n`);
  };
  return {
    ...stage,
    database_id: databaseId,
    pod,
    digest,
    files,
    [Symbol.asyncDispose]: () => pod[Symbol.asyncDispose](),
  };
}

const digests = (texts: Record<string, string> = TEXTS) =>
  Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, digestOf(text)]));
const plan = (stage: Stage, body: object) =>
  server.ask("schemaPlan", {
    as: stage.member,
    params: { org: stage.org.name, db: "main" },
    body: { app_file: "app.py", folders: [], files: null, file_digests: null, ...body },
  } as never);
const apply = (stage: Stage, body: object = {}) =>
  server.ask("schemaApply", {
    as: stage.member,
    params: { org: stage.org.name, db: "main" },
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
    await using stage = await openStage();
    const answer = await plan(stage, { file_digests: digests(), folders: ["reports"] });
    expect(answer.json).toEqual({ plan: PLAN });
    expect(JSON.parse(stage.pod.asked[0]?.body ?? "")).toEqual({
      app_file: "app.py",
      files: stage.digest,
      folders: ["reports"],
      recompute: false,
    });
  });

  test("ignores a differing file that the application does not import", async () => {
    await using stage = await openStage();
    expect((await plan(stage, { file_digests: digests({ ...TEXTS, "lib/other.py": "other" }) })).status).toBe(200);
  });

  test("is refused for an imported file that differs or is missing at the caller", async () => {
    await using stage = await openStage();
    const { "lib/part.py": _, ...less } = TEXTS;
    for (const texts of [{ ...TEXTS, "lib/part.py": "x = 2" }, less]) {
      const { json } = await plan(stage, { file_digests: digests(texts) });
      expect(json).toMatchObject({
        code: "project_files_differ",
        meta: { files: ["lib/part.py"] },
        detail: `lib/part.py: differs from the files of cloud://${stage.org.name}:main.`,
        hint: `Update the database first: cli db update cloud://${stage.org.name}:main`,
      });
    }
    const asked = stage.pod.asked.length;
    expect((await plan(stage, { file_digests: digests({ ...TEXTS, "app.py": "new" }) })).json).toMatchObject({
      code: "project_files_differ",
      meta: { files: ["app.py"] },
    });
    expect(stage.pod.asked).toHaveLength(asked);
  });

  test("reports a module that was not uploaded as differing files, not as a Python error", async () => {
    await using stage = await openStage();
    const failed = appError("app_invalid", { detail: "app.py:1: No module named 'lib.new'" });
    stage.pod.answer = (_asked, response) => sendJson(response, toProblem(failed), 422);
    const { json } = await plan(stage, { file_digests: digests({ ...TEXTS, "lib/new.py": "" }) });
    expect(json).toMatchObject({ code: "project_files_differ", meta: { files: ["lib/new.py"] } });
    expect((await plan(stage, { file_digests: digests() })).json).toMatchObject({ code: "app_invalid" });
  });

  test("is refused for a database without project files", async () => {
    const stage = await openOrgStage(server);
    await makeDatabase(server, stage.org, { name: "bare" });
    const id = await makeDatabase(server, stage.org);
    await using _pod = await openFakePod(server, { id, org_id: stage.org.id });
    const { json } = await plan({ ...stage } as Stage, { file_digests: digests() });
    expect(json).toMatchObject({
      code: "project_files_differ",
      detail: expect.stringContaining("no project files yet"),
    });
  });

  test("uses other files next to the database's own, and changes nothing", async () => {
    await using stage = await openStage();
    const files = await makeFiles(server, stage.org, { "app.py": "changed" });
    const answer = await plan(stage, { files });
    expect(answer.json).toEqual({ plan: PLAN });
    const digest = digestOfTree(files);
    expect(JSON.parse(stage.pod.asked[0]?.body ?? "")).toMatchObject({ files: digest });
    const { files_folder: filesFolder } = databasePaths(server.deps.config, stage.database_id);
    expect(readFileSync(join(filesFolder, digest, "app.py"), "utf8")).toBe("changed");
    const lacking = await makeFiles(server, stage.org, { "app.py": "not there" }, []);
    expect((await plan(stage, { files: lacking })).json).toMatchObject({ code: "blobs_missing" });
    const foreign = await makeFiles(server, stage.other_org, { "app.py": "theirs" });
    expect((await plan(stage, { files: foreign })).json).toMatchObject({ code: "blobs_missing" });
  });

  test("writes files again that a power cut left incomplete, and asks for a lost blob", async () => {
    await using stage = await openStage();
    const files = await makeFiles(server, stage.org, { "app.py": "changed" });
    await plan(stage, { files });
    const { files_folder: filesFolder } = databasePaths(server.deps.config, stage.database_id);
    const path = join(filesFolder, digestOfTree(files), "app.py");
    chmodSync(path, 0o600);
    truncateSync(path);
    await plan(stage, { files });
    expect(readFileSync(path, "utf8")).toBe("changed");
    chmodSync(path, 0o600);
    truncateSync(path);
    await server.deps.blobs.delete(stage.org.id, digestOf("changed"));
    expect((await plan(stage, { files })).json).toMatchObject({ code: "blobs_missing" });
    const missing = await server.ask("blobMissing", {
      as: stage.member,
      params: { org: stage.org.name },
      body: { digests: [digestOf("changed")] },
    });
    expect(missing.json).toEqual({ missing: [digestOf("changed")] });
  });
});

describe("an update of the tables", () => {
  const events = async (stage: Stage) => {
    const { json } = await server.ask("eventList", { as: stage.member, params: { org: stage.org.name } });
    return json.items.map(({ action, outcome, target }: Record<string, string>) => [action, outcome, target]).reverse();
  };

  test("passes on the pod's progress and is recorded", async () => {
    await using stage = await openStage();
    const { status, text } = await apply(stage);
    expect(status, text).toBe(200);
    expect(text).toBe('{"event":"progress","rows_done":1}\n{"event":"done","plan":{}}\n');
    const target = `cloud://${stage.org.name}:main/reports`;
    expect(await events(stage)).toEqual([
      ["schema.update", "pending", target],
      ["schema.update", "succeeded", target],
    ]);
    expect(JSON.parse(stage.pod.asked.at(-1)?.body ?? "")).toEqual({
      app_file: "app.py",
      files: stage.digest,
      folders: ["reports"],
      recompute: false,
      catalog_version: 3,
      allow_destructive: false,
      on_error: "abort",
    });
  });

  test("that fails is recorded as failed", async () => {
    await using stage = await openStage();
    const { answer } = stage.pod;
    stage.pod.answer = (asked, response) =>
      asked.route === "POST /v1/schema/apply"
        ? void response.end(`{"event":"error","problem":{"code":"catalog_moved"}}\n`)
        : answer(asked, response);
    expect((await apply(stage)).text).toContain("catalog_moved");
    expect((await events(stage)).at(-1)).toEqual(expect.arrayContaining(["schema.update", "failed"]));
  });

  test("from other files than the database's is refused", async () => {
    await using stage = await openStage();
    const { json } = await apply(stage, { file_digests: digests({ ...TEXTS, "lib/part.py": "x = 2" }) });
    expect(json).toMatchObject({ code: "project_files_differ", meta: { files: ["lib/part.py"] } });
    expect(stage.pod.asked.map(({ route }) => route)).toEqual(["POST /v1/manifest"]);
    expect(await events(stage)).toEqual([]);
  });

  test("is refused while the database is not AVAILABLE", async () => {
    await using stage = await openStage();
    await server.deps.db
      .updateTable("control.databases")
      .set({ state: "UPDATING" })
      .where("id", "=", stage.database_id)
      .execute();
    for (const answer of [await apply(stage), await plan(stage, {})]) {
      expect(answer.json).toMatchObject({ code: "database_not_available", meta: { state: "UPDATING" } });
    }
  });
});
