import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError, toProblem } from "@appdb/contract/errors";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HANG_UP } from "../../testing/control-server.ts";
import { openUploadProject, sha256, type UploadProject, URI } from "../../testing/upload-project.ts";

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
  at.project();
  at.write({ "lib/names.py": "y = 2\n", "notes.md": "text" });
  at.answers.schemaPlan = () => ({ plan: ADDITIVE });
  at.answers.schemaApply = async function* () {
    yield { event: "progress", job: "019a", table: "docs", column: "x", rows_done: 50, rows_total: 200, errors: 0 };
    yield { event: "done", plan: AGREED };
  };
});
afterEach(() => at[Symbol.asyncDispose]());

const HERE = { target: URI, catalog_version: 7 };
const AGREED = schemaPlan({ ...HERE, catalog_version: 8 });
const DOCS = {
  path: `${URI}/docs`,
  model_cls: "Docs",
  kind: "table",
  exists: true,
  status: null,
  error_count: 0,
} as const;
const ADDITIVE = schemaPlan({
  ...HERE,
  in_agreement: false,
  tables: [{ ...DOCS, resolution: "create", ops: [], destructive: false }],
  summary: { create: 1 },
});
const DESTRUCTIVE = schemaPlan({
  ...HERE,
  in_agreement: false,
  tables: [{ ...DOCS, resolution: "update_destructive", ops: [], destructive: true, error_count: 3 }],
  summary: { update_destructive: 1, destructive: 1 },
});
const DIGESTS = { "app.py": sha256("x = 1\n"), "lib/names.py": sha256("y = 2\n") };

describe("cli schema diff of a hosted database", () => {
  test("sends the local files, changes nothing and exits with 2 for changes", async () => {
    const ran = await at.run(`schema diff app.py ${URI}/reports`);
    expect(ran.exit).toBe(2);
    expect(ran.stdout).toContain(`+ ${URI}/docs`);
    expect(at.asked()).toEqual(["blobMissing", "blobUpload", "schemaPlan"]);
    expect(at.bodyOf("schemaPlan")).toMatchObject({ app_file: "app.py", folders: ["reports"], file_digests: null });
    const files = at.bodyOf("schemaPlan").files as { path: string; chunks: string[] }[];
    expect(files.map(({ path }) => path)).toEqual(["app.py", "lib/names.py", "notes.md"]);
    expect(files.flatMap(({ chunks }) => chunks).filter((digest) => !at.stored.has(digest))).toEqual([]);
    at.answers.schemaPlan = () => ({ plan: AGREED });
    const again = await at.run(`schema diff app.py ${URI} --json`);
    expect(again.exit).toBe(0);
    expect(JSON.parse(again.stdout)).toEqual(AGREED);
    expect(at.asked().slice(3)).toEqual(["blobMissing", "schemaPlan"]);
  });

  test("needs no local Python and refuses one", async () => {
    const ran = await at.run(`schema diff app.py ${URI} --python python3`);
    expect(ran).toMatchObject({ exit: 1, stderr: expect.stringContaining("uses the Python of its image") });
    expect(at.asked()).toEqual([]);
  });

  test("reports a file that is not uploaded or does not exist", async () => {
    at.write({ ".gitignore": "app.py\n" });
    expect((await at.run(`schema diff app.py ${URI}`)).stderr).toContain(
      "error: app.py is not uploaded: git ignores it, or the database's entry excludes it.\n",
    );
    expect((await at.run(`schema diff other.py ${URI}`)).stderr).toContain("File other.py not found");
    expect(at.asked()).toEqual([]);
  });

  test("prints the output of the file's remote Python", async () => {
    at.answers.schemaPlan = () => {
      throw appError("app_invalid", { detail: "app.py:3: '(' was never closed", hint: "Close it." });
    };
    expect(await at.run(`schema diff app.py ${URI}`)).toMatchObject({
      exit: 1,
      stdout: "",
      stderr: expect.stringContaining("error: app.py:3: '(' was never closed\nhint: Close it.\n"),
    });
  });

  test("reports failing cells without a command that would not work", async () => {
    at.answers.schemaPlan = () => ({ plan: DESTRUCTIVE });
    expect((await at.run(`schema diff app.py ${URI}`)).stdout).toContain("(3 failing cells)\n");
  });
});

describe("cli schema update of a hosted database", () => {
  test("plans from the database's files and applies the printed plan", async () => {
    const ran = await at.run(`schema update app.py ${URI}`);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain(`created    ${URI}/docs\n`);
    expect(ran.stderr).toContain("filling docs.x: 50 of 200 rows (25 %)");
    expect(at.asked()).toEqual(["schemaPlan", "schemaApply"]);
    expect(at.bodyOf("schemaPlan")).toMatchObject({ files: null, file_digests: DIGESTS, recompute: false });
    expect(at.bodyOf("schemaApply")).toEqual({
      app_file: "app.py",
      folders: [],
      file_digests: DIGESTS,
      recompute: false,
      catalog_version: 7,
      allow_destructive: false,
      on_error: "abort",
    });
    const json = await at.run(`schema update app.py ${URI} --recompute --on-error ignore --json`);
    expect(JSON.parse(json.stdout)).toEqual(AGREED);
    expect(at.bodyOf("schemaApply")).toMatchObject({ recompute: true, on_error: "ignore" });
  });

  test("names the next command when the database has other files", async () => {
    at.answers.schemaPlan = () => {
      throw appError("project_files_differ", {
        detail: "app.py here is not what cloud://acme:main has.",
        hint: "Upload it: cli db update cloud://acme:main",
      });
    };
    const ran = await at.run(`schema update app.py ${URI}`);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("hint: Upload it: cli db update cloud://acme:main\n");
  });

  test("requires a flag and an answer for destructive changes", async () => {
    at.answers.schemaPlan = () => ({ plan: DESTRUCTIVE });
    const refused = await at.run(`schema update app.py ${URI}`);
    expect(refused.exit).toBe(3);
    expect(refused.stderr).toContain(`hint: To do it anyway: cli schema update app.py ${URI} --allow-destructive -f\n`);
    expect((await at.run(`schema update app.py ${URI} --allow-destructive`)).exit).toBe(3);
    expect((await at.run(`schema update app.py ${URI} -n`)).exit).toBe(2);
    expect(at.asked()).not.toContain("schemaApply");
    expect((await at.run(`schema update app.py ${URI} --allow-destructive -f`)).exit).toBe(0);
    expect(at.bodyOf("schemaApply").allow_destructive).toBe(true);
  });

  test("ends with the error of the last line or a missing last line", async () => {
    at.answers.schemaApply = async function* () {
      yield { event: "error", problem: toProblem(appError("fill_failed", { detail: "Row 3 failed.", hint: "Look." })) };
    };
    expect(await at.run(`schema update app.py ${URI}`)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("error: Row 3 failed.\nhint: Look.\n"),
    });
    at.answers.schemaApply = async function* () {};
    expect((await at.run(`schema update app.py ${URI}`)).stderr).toContain(
      "It is unknown whether the update was applied",
    );
  });

  test("names the job that continues when the connection breaks", async () => {
    at.answers.schemaApply = async function* () {
      yield { event: "progress", job: "019a", table: "docs", column: "x", rows_done: 1, rows_total: 2, errors: 0 };
      yield { event: "progress", job: "019b", table: "notes", column: "x", rows_done: 2, rows_total: 2, errors: 0 };
      throw HANG_UP;
    };
    const ran = await at.run(`schema update app.py ${URI}`);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain(
      `error: The database ${URI} or its server stopped or restarted. The job 019a continues when it runs.\nhint: See the progress: cli jobs list ${URI}\n`,
    );
  });

  test("a connection that breaks before the first row names the state of the database", async () => {
    at.answers.schemaApply = async function* () {
      yield {};
      throw HANG_UP;
    };
    const { stderr } = await at.run(`schema update app.py ${URI}`);
    expect(stderr).toContain("the database or the server stopped or restarted. It is unknown");
    expect(stderr).toContain(`cli db status ${URI}; cli jobs list ${URI}\n`);
    expect(stderr).not.toContain("No server responds");
  });

  test("continues in the database after Ctrl-C", async () => {
    at.answers.schemaApply = async function* () {
      for (;;) {
        yield { event: "progress", job: "019a", table: "docs", column: "x", rows_done: 1, rows_total: 2, errors: 0 };
        await sleep(20);
      }
    };
    const interrupt = new AbortController();
    const running = at.run(`schema update app.py ${URI}`, { signal: interrupt.signal });
    await expect.poll(() => at.asked().includes("schemaApply")).toBe(true);
    interrupt.abort();
    const ran = await running;
    expect(ran.exit).toBe(130);
    expect(ran.stderr).toContain(
      `Work that started continues in ${URI}.\nhint: Check its progress: cli schema diff app.py ${URI}\n`,
    );
  });

  test("names the file from the root when started in a subfolder", async () => {
    at.write({ "src/main.py": "" });
    await at.run(`schema update ${join("src", "main.py")} ${URI}`);
    expect(at.bodyOf("schemaPlan").app_file).toBe("src/main.py");
  });
});

describe("cli schema prune of a hosted database", () => {
  const drop = {
    name: `${URI}/old`,
    op: "drop",
    severity: "destructive",
    description: "table 'old' will be dropped with 3 rows",
    requires_restart: false,
    status: null,
    target: "table",
    details: { kind: "table" },
    destructive: true,
  } as const;

  test("shows what the database's own file leaves out, and drops it for that version", async () => {
    const plan = schemaPlan({ ...HERE, ops: [drop] });
    at.answers.schemaPrune = () => ({ plan });
    const shown = await at.run(`schema prune app.py ${URI} -n`);
    expect([shown.exit, shown.stdout]).toEqual([2, `would drop  ${URI}/old  (${drop.description})\n`]);
    expect(at.bodyOf("schemaPrune")).toEqual({
      app_file: "app.py",
      folders: [],
      file_digests: DIGESTS,
      catalog_version: null,
    });
    const done = await at.run(`schema prune app.py ${URI} --allow-destructive -f`);
    expect(done.stdout).toBe(`dropped  ${URI}/old\n`);
    expect(at.asked()).toEqual(["schemaPrune", "schemaPrune", "schemaPrune"]);
  });
});

test("cli query explain asks a hosted database with its own file", async () => {
  const part = { clause: "select", runs_in: "SQL", what: "id", why: null } as const;
  const source = { file: "app.py", line: 3 };
  at.answers.queryExplain = () => ({
    query: "app:q",
    source,
    statements: ["select 1"],
    parts: [part],
    plan: ["Result"],
  });
  const { stdout } = await at.run(`query explain app.py ${URI} q --param a=1`);
  expect(stdout).toContain("app:q (app.py:3): one SQL statement");
  expect(at.bodyOf("queryExplain")).toEqual({
    app_file: "app.py",
    folders: [],
    file_digests: DIGESTS,
    query: "q",
    params: { a: "1" },
    analyze: false,
  });
});
