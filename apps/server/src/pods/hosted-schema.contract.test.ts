import { rmSync } from "node:fs";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { startReconciler } from "../reconciler/reconciler.ts";
import { NO_PACKAGES } from "../testing/databases.ts";
import { openServer } from "../testing/open-server.ts";
import { makePerson } from "../testing/people.ts";
import { builtPod } from "../testing/real-pods.ts";
import { digestOf, tarOfBlobs } from "../testing/tar.ts";
import { databasePaths } from "./database-paths.ts";
import { openHostRuntime } from "./open-host-runtime.ts";

/** The driver of every machine. The drivers' contract suite covers the others. */
const ENV = { SERVICE_PODS: "process" };
const START_MS = 30_000;
const APP = `import appdb as db

from lib.names import upper

Model = db.model_base()


class docs(Model, name="docs"):
    title: db.String
    n: db.Int
    loud = upper(title)
`;
const NAMES = `import appdb as db


@db.udf
def upper(text: str) -> str:
    print("one more")
    return text.upper()
`;
const OTHER = 'import appdb as db\n\n\nclass others(db.model_base(), name="others"):\n    n: db.Int\n';
const TEXTS: Readonly<Record<string, string>> = { "app.py": APP, "lib/__init__.py": "", "lib/names.py": NAMES };

test("a project's files become tables of a hosted database, which computes its rows", async () => {
  await using server = await openServer({ env: ENV });
  const { deps } = server;
  const machine = await openHostRuntime({
    ...deps,
    config: { ...deps.config, home: server.home },
    pod_program: builtPod(),
  });
  const reconciler = await startReconciler({ ...deps, machine, pool_options: deps.pool.options, allow_private: false });
  try {
    const as = await makePerson(server);
    const params = { org: "acme", db: "main" };
    const ask = async (name: Parameters<typeof server.ask>[0], given: object = {}) => {
      const answer = await server.ask(name, { as, params, ...given } as never);
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer;
    };
    const settles = () =>
      eventually(
        async () =>
          expect((await ask("databaseShow")).json).toMatchObject({
            state: "AVAILABLE",
            operation: null,
            failure: null,
          }),
        { timeout_ms: START_MS },
      );
    await ask("orgCreate", { body: { name: "acme" } });
    await eventually(async () => expect((await ask("databaseList")).json.items).toHaveLength(1));
    await settles();
    const update = async (texts: Readonly<Record<string, string>>) => {
      await ask("blobUpload", {
        body: new Uint8Array(tarOfBlobs(Object.values(texts).filter((text) => text !== ""))),
        headers: { "content-type": "application/x-tar" },
      });
      const files = Object.entries(texts).map(([path, text]) => ({
        path,
        size: Buffer.byteLength(text),
        is_executable: false,
        link: null,
        chunks: text === "" ? [] : [digestOf(text)],
      }));
      const wanted = { settings: {}, files, environment: NO_PACKAGES };
      const { generation } = (await ask("databasePlan", { body: wanted })).json;
      await ask("databaseUpdate", { body: { ...wanted, expected_generation: generation } });
      await settles();
    };
    await update(TEXTS);

    const fileDigests = Object.fromEntries(Object.entries(TEXTS).map(([path, text]) => [path, digestOf(text)]));
    const app = { app_file: "app.py", folders: [], file_digests: fileDigests };
    const { plan } = (await ask("schemaPlan", { body: { ...app, files: null } })).json;
    expect(plan).toMatchObject({ target: "cloud://acme:main", summary: { create: 1 } });
    const { catalog_version: catalogVersion } = plan;
    const applied = await ask("schemaApply", {
      body: { ...app, catalog_version: catalogVersion, allow_destructive: false },
    });
    expect(applied.text).toContain('"event":"done"');
    const other = { ...fileDigests, "lib/names.py": digestOf("changed") };
    const blocked = await server.ask("schemaPlan", {
      as,
      params,
      body: { ...app, file_digests: other, files: null },
    } as never);
    expect(blocked.json).toMatchObject({ code: "project_files_differ", meta: { files: ["lib/names.py"] } });

    const table = { params: { ...params, table: "docs" } };
    const row = '{"title": "one", "n": 9223372036854775807}';
    expect((await ask("rowInsert", { ...table, body: row })).text).toContain('"loud":"ONE"');
    const computed = await ask("rowCompute", { ...table, body: '[{"title": "two"}]', query: { outputs: "loud" } });
    expect(computed.json).toEqual([{ loud: "TWO" }]);
    expect((await ask("rowList", table)).text).toMatch(/"n":9223372036854775807\b.*"next":null/);
    expect((await ask("tableShow", table)).json).toMatchObject({ path: "docs", rows: 1, errors: 0 });
    await eventually(async () => expect((await ask("databaseLogs")).text).toContain("one more"));

    expect((await ask("errorList")).json).toEqual({ tables: [] });
    const body = { table: "docs", columns: ["loud"], cascade: true, on_error: "abort", errors_only: false };
    expect((await ask("recomputePlan", { body })).json.plan).toMatchObject({
      table: "cloud://acme:main/docs",
      columns: ["loud"],
      rows: 1,
    });
    const recompute = async (given: object) =>
      JSON.parse((await ask("recompute", { body: { ...body, ...given } })).text.trim().split("\n").at(-1) ?? "");
    expect(await recompute({})).toMatchObject({ event: "done", result: { rows_done: 1, errors: 0 } });
    expect(await recompute({ table: "none" })).toMatchObject({ event: "error", problem: { code: "table_not_found" } });
    const { jobs } = (await ask("jobList", { query: { all: "1" } })).json;
    expect(jobs[0]).toMatchObject({ kind: "recompute", state: "done", table: "cloud://acme:main/docs" });
    const refused = async (name: "errorList" | "jobCancel", given: object) =>
      (await server.ask(name, { as, params, ...given } as never)).json.code;
    expect(await refused("errorList", { query: { path: "none" } })).toBe("table_not_found");
    expect(await refused("jobCancel", { body: { id: jobs[0].id } })).toBe("job_not_cancellable");
    const told = (await ask("eventList")).json.items.map(({ action, outcome }: { action: string; outcome: string }) => [
      action,
      outcome,
    ]);
    expect(told.slice(0, 4)).toEqual([
      ["table.recompute", "failed"],
      ["table.recompute", "pending"],
      ["table.recompute", "succeeded"],
      ["table.recompute", "pending"],
    ]);

    // A fixed function runs as soon as the database has its file. If the database has another project's files by then,
    // the function is the one that the table was created with.
    const loud = async () => (await ask("rowList", table)).json.rows[0].loud;
    await update({ ...TEXTS, "lib/names.py": NAMES.replace("text.upper()", 'text.upper() + "!"') });
    expect(await recompute({})).toMatchObject({ event: "done", result: { errors: 0 } });
    expect(await loud()).toBe("ONE!");
    await update({ "app.py": OTHER });
    expect(await recompute({})).toMatchObject({ event: "done", result: { errors: 0 } });
    expect(await loud()).toBe("ONE");
    await update({ ...TEXTS, "lib/names.py": "def (" });
    expect(await recompute({})).toMatchObject({ event: "error", problem: { code: "app_invalid" } });
    expect(await loud()).toBe("ONE");
  } finally {
    await reconciler.stop("end pods");
    await machine[Symbol.asyncDispose]();
    const rows = await deps.db.selectFrom("control.databases").select("id").execute();
    for (const { id } of rows) rmSync(databasePaths(machine.paths, id).run_folder, { recursive: true, force: true });
  }
});
