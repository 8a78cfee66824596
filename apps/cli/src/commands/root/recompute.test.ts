import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InputOf } from "@appdb/contract/clients/client";
import { appError } from "@appdb/contract/errors";
import type { RecomputePlan, TableErrors } from "@appdb/contract/jobs";
import type { Progress, RecomputePlanRequest } from "@appdb/contract/routes/local";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { expect, test } from "vitest";
import { createOutput } from "../../output/output.ts";
import { runCli } from "../../testing/fake-context.ts";

type RecomputeRequest = InputOf<(typeof LOCAL_API)["recompute"]>["body"];

const said: string[] = [];
const PLAN: RecomputePlan = {
  table: "main/docs",
  columns: ["summary"],
  cascade: ["loud"],
  on_error: "abort",
  errors_only: false,
  rows: 1200,
  views: [],
};
const PROGRESS: Progress = {
  event: "progress",
  job: "019a",
  table: "docs",
  column: "summary",
  rows_done: 300,
  rows_total: 1200,
  errors: 2,
};

function daemon(asked: RecomputeRequest[] = []) {
  return {
    recomputePlan: async ({ on_error: onError, errors_only: errorsOnly }: RecomputePlanRequest) => ({
      ...PLAN,
      on_error: onError,
      errors_only: errorsOnly,
    }),
    recompute: async (request: RecomputeRequest, options?: { onProgress?: ((line: Progress) => void) | undefined }) => {
      asked.push(request);
      options?.onProgress?.(PROGRESS);
      return { ...PLAN, job: "019a", rows_done: 1200, errors: 2 };
    },
  };
}

test("a recompute prints its plan, progress and failures", async () => {
  const asked: RecomputeRequest[] = [];
  const ran = await runCli("recompute main.docs summary -f", { client: daemon(asked) });
  expect(ran.exit).toBe(0);
  expect(asked).toEqual([
    {
      table: "main/docs",
      columns: ["summary"],
      cascade: true,
      on_error: "abort",
      errors_only: false,
      runtime: null,
      manifest: null,
    },
  ]);
  expect(ran.stdout).toContain("summary, and loud, which reads them; 1200 rows; a failing cell restores everything");
  expect(ran.stdout).toContain("recomputed summary, loud of main.docs: 1200 rows, 2 cells failed");
  expect(ran.stderr).toContain("computing docs.summary: 300 of 1200 rows (25 %), 2 cells failed");
  expect(ran.stderr).toContain("cli errors main.docs");
});

test("with --errors-only, failing cells become null unless told otherwise", async () => {
  const asked: RecomputeRequest[] = [];
  await runCli("recompute main/docs summary --errors-only --no-cascade -f", { client: daemon(asked) });
  await runCli("recompute main/docs --errors-only --on-error abort -f", { client: daemon(asked) });
  expect(asked).toMatchObject([
    { errors_only: true, on_error: "ignore", cascade: false, columns: ["summary"] },
    { errors_only: true, on_error: "abort", cascade: true, columns: [] },
  ]);
});

test("--json prints progress lines on stderr and only the result on stdout", async () => {
  const ran = await runCli("recompute main/docs summary -f --json", { client: daemon() });
  expect(JSON.parse(ran.stderr)).toEqual(PROGRESS);
  expect(JSON.parse(ran.stdout)).toMatchObject({ rows_done: 1200, errors: 2, job: "019a" });
});

test("a recompute asks first; a dry run does not and computes nothing", async () => {
  const asked: RecomputeRequest[] = [];
  const refused = await runCli("recompute main/docs summary", { client: daemon(asked) });
  expect(refused.exit).toBe(3);
  expect(refused.stderr).toContain("cli recompute main/docs summary -f");
  const dry = await runCli("recompute main/docs summary -n --json", { client: daemon(asked) });
  expect(JSON.parse(dry.stdout)).toMatchObject({ rows: 1200, cascade: ["loud"] });
  expect(dry.exit).toBe(2);
  const none = { recomputePlan: async () => ({ ...PLAN, rows: 0 }) };
  expect((await runCli("recompute main/docs summary -n", { client: none })).exit).toBe(0);
  expect(asked).toEqual([]);
});

test.each([
  ["summary main/docs", "cli recompute main/docs summary"],
  ["main docs summary", "cli recompute main/docs summary"],
  ["scratch docs summary loud", "cli recompute scratch/docs summary loud"],
  ["docs summary", "cli recompute main/docs summary"],
  ["app.py main docs", "cli recompute main/docs --app app.py"],
  ["app.py main/docs summary", "cli recompute main/docs summary --app app.py"],
  ["main/docs summary app.py", "cli recompute main/docs summary --app app.py"],
  ["summary cloud://acme:main/docs", "cli recompute cloud://acme:main/docs summary"],
  ["app.py", "cli recompute main/docs --app app.py"],
])("a recompute of %s is refused with the right order", async (typed, next) => {
  const ran = await runCli(`recompute ${typed} -f`, { client: daemon() });
  expect(ran.exit).toBe(2);
  expect(ran.stderr).toContain(`hint: Write: ${next}\n`);
});

test("a table without computed columns of its own names the views that have some", async () => {
  const client = {
    ...daemon(),
    recomputePlan: async () => ({
      ...PLAN,
      columns: [],
      cascade: [],
      errors_only: true,
      rows: 0,
      views: ["low", "words"],
    }),
  };
  const ran = await runCli("recompute main/docs --errors-only -f", { client });
  expect(ran.stdout + ran.stderr).toContain("main/docs has no computed column of its own that could be recomputed.\n");
  expect(ran.stderr).toContain("hint: Its view words has: cli recompute main/words --errors-only\n");
});

test("a recompute warns of services that still run previous code", async () => {
  const service = { service: "main/desk", table: "main/docs", columns: ["summary"], functions: ["app:short"] };
  const outdated = [{ ...service, app_file: "app.py", project_root: "/home/ada/my project" }];
  const client = { ...daemon(), recompute: async () => ({ ...PLAN, job: "019a", rows_done: 3, errors: 0, outdated }) };
  const cwd = mkdtempSync(join(tmpdir(), "appdb-recompute-"));
  const ran = await runCli("recompute main/docs summary -f", { client, cwd });
  rmSync(cwd, { recursive: true });
  expect(ran.exit).toBe(0);
  expect(ran.stderr).toContain(
    "warning: main/desk computes 'summary' of main/docs by previous code of app:short, until: cd '/home/ada/my project' && cli service update app.py main\n",
  );
});

test("Ctrl-C explains that the recompute continues and how to cancel it", async () => {
  const interrupt = new AbortController();
  const client = {
    ...daemon(),
    recompute: async () => {
      interrupt.abort();
      throw appError("interrupted", { detail: "The command was interrupted." });
    },
  };
  const ran = await runCli("recompute main/docs -f", { client, context: { signal: interrupt.signal } });
  expect(ran.exit).toBe(130);
  expect(ran.stderr).toContain("cli jobs cancel main");
});

const FAILING: TableErrors = {
  table: "main/docs",
  rows: 3,
  counts: { summary: 3, loud: 3 },
  errors: [
    {
      key: { id: 7 },
      column: "summary",
      errortype: "ValueError",
      errormsg: "no\nluck",
      function: "udfs:sum",
      cause: null,
    },
    {
      key: { id: 7 },
      column: "loud",
      errortype: "CellError",
      errormsg: "summary has no value: ValueError: no luck",
      function: "udfs:sum",
      cause: "summary",
    },
  ],
};

test("lists failing cells with key, column, type, message and function", async () => {
  const asked: object[] = [];
  const client = {
    errors: async (request: object) => {
      asked.push(request);
      return [FAILING];
    },
  };
  const ran = await runCli("errors main/docs --column Summary --limit 2", { client });
  expect(asked).toEqual([{ target: "main", table: "docs", column: "summary", limit: 2 }]);
  expect(ran.stdout).toContain("main/docs  3 rows with failing cells  (summary: 3, loud: 3)");
  expect(ran.stdout).toContain("7  summary  ValueError  no luck  (udfs:sum)");
  expect(ran.stderr).toContain("4 more: --limit 6");
  await runCli("errors main", { client });
  expect(asked.at(-1)).toEqual({ target: "main", limit: 100 });
  const refused = await runCli("errors main --column summary", { client });
  expect([refused.exit, refused.stderr, asked.length]).toEqual([
    2,
    expect.stringContaining("--column summary belongs to one table, but main is a database."),
    2,
  ]);
});

test("shows a failed operator as it is written in Python", async () => {
  const error = { key: { id: 8 }, column: "ratio", errortype: "ZeroDivisionError", errormsg: "division by zero" };
  const errors = [{ ...error, function: "op.truediv", cause: null }];
  const client = { errors: async () => [{ table: "main/docs", rows: 1, counts: { ratio: 1 }, errors }] };
  const ran = await runCli("errors main.docs", { client });
  expect(ran.stdout).toContain("main.docs  1 row with failing cells");
  expect(ran.stdout).toContain("8  ratio  ZeroDivisionError  division by zero  (/)");
});

test("a refusal names a table's path as it was typed", async () => {
  const missing = appError("table_not_found", { detail: "There is no table main/dcs.", hint: "Did you mean docs?" });
  const client = { errors: () => Promise.reject(missing) };
  const dotted = await runCli("errors main.dcs", { client });
  expect(dotted).toMatchObject({
    exit: 1,
    stderr: "error: There is no table main.dcs.\nhint: Did you mean docs?\n",
  });
  expect((await runCli("errors main/dcs", { client })).stderr).toContain("There is no table main/dcs.");
});

test("table lists show failing cells", async () => {
  const table = {
    path: "main/docs",
    model_cls: "Docs",
    kind: "table" as const,
    exists: true,
    resolution: "up_to_date" as const,
    ops: [],
    status: null,
    destructive: false,
    error_count: 12,
  };
  const ran = await runCli("schema diff app.py main", {
    client: { schemaPlan: async () => schemaPlan({ tables: [table] }) },
  });
  expect(ran.stdout).toContain("no change  (12 failing cells: cli errors main/docs)");
});

test("when the daemon ends, names the command that continues the job", async () => {
  const recompute = async () => {
    throw appError("daemon_failed", { detail: "The daemon did not finish the request: the connection broke." });
  };
  const ran = await runCli("recompute main.docs summary -f", { client: { ...daemon(), recompute } });
  expect(ran.exit).toBe(1);
  expect(ran.stderr).toContain("the connection broke. The recompute is not lost. The next daemon continues it.");
  expect(ran.stderr).toContain("cli jobs list main");
});

test("a cancelled recompute names the command that starts it again", async () => {
  const recompute = async () => {
    throw appError("job_cancelled", { detail: "The recompute was cancelled.", hint: "cli recompute <target>/docs" });
  };
  const ran = await runCli("recompute main.docs summary --no-cascade -f", { client: { ...daemon(), recompute } });
  expect(ran.stderr).toContain("hint: To run it: cli recompute main.docs summary --no-cascade\n");
});

test("a recompute that PostgreSQL's end cuts off names its job", async () => {
  const recompute: ReturnType<typeof daemon>["recompute"] = async (_request, options) => {
    options?.onProgress?.(PROGRESS);
    throw appError("commit_unknown", { detail: "It broke.", hint: "Check whether the row exists." });
  };
  const ran = await runCli("recompute main.docs summary -f", { client: { ...daemon(), recompute } });
  expect(ran.stderr).toContain("error: PostgreSQL stopped or restarted. The job 019a continues when it runs.");
  expect(ran.stderr).toContain("hint: See the progress: cli jobs list main\n");
});

test("counts rows added during a fill within all rows", async () => {
  const recompute: ReturnType<typeof daemon>["recompute"] = async (_request, options) => {
    options?.onProgress?.({ ...PROGRESS, rows_done: 1203 });
    return { ...PLAN, job: "019a", rows_done: 1203, errors: 0 };
  };
  const ran = await runCli("recompute main.docs summary -f", {
    client: { ...daemon(), recompute },
    context: {
      out: createOutput({ write: () => undefined }, { write: (text) => void said.push(text), isTTY: true }, false),
    },
  });
  expect(ran.exit).toBe(0);
  expect(said.join("")).toContain("1203 of 1203 rows (100 %), 2 cells failed, putting values in place");
});

test("lists jobs with progress and cancelled ones as such", async () => {
  const job = {
    id: "019a7c00-0000-7000-8000-000000000001",
    kind: "recompute" as const,
    state: "running" as const,
    table: "main/docs",
    columns: ["summary", "loud"],
    on_error: "ignore" as const,
    rows_done: 500,
    rows_total: 1200,
    errors: 4,
    is_cancelled: true,
    error: null,
    created_at: "2026-11-20T10:00:00Z",
    ended_at: null,
  };
  const ran = await runCli("jobs list main", { client: { jobList: async () => [job] } });
  expect(ran.stdout).toContain("recompute  ending  main/docs (summary, loud)  500 of 1200 rows, 4 failed");
  const more = { ...job, rows_done: 1203, is_cancelled: false };
  const completed = {
    ...job,
    kind: "close_pending" as const,
    state: "done" as const,
    columns: [],
    is_cancelled: false,
  };
  const jobs = [{ ...completed, id: "b", rows_done: 9, rows_total: 9, errors: 0 }, job, { ...completed, id: "c" }];
  const grouped = (await runCli("jobs list main --all", { client: { jobList: async () => jobs } })).stdout.split("\n");
  expect(grouped[0]).toMatch(/^2 jobs +complete +done +main\/docs +509 of 1209 rows, 4 failed$/);
  expect(grouped).toHaveLength(3);
  const placing = await runCli("jobs list main", { client: { jobList: async () => [more] } });
  expect(placing.stdout).toContain(
    "running  main/docs (summary, loud)  1203 of 1203 rows, 4 failed, putting values in place",
  );
  const request = {
    ...job,
    kind: "background" as const,
    table: "main/api POST /docs",
    columns: [],
    rows_total: 1,
    rows_done: 0,
    errors: 0,
  };
  const other = await runCli("jobs list main", { client: { jobList: async () => [request] } });
  expect(other.stdout).toContain("background  ending  main/api POST /docs  0 of 1 rows");
  const failed = { ...request, state: "failed" as const, errors: 3 };
  const third = await runCli("jobs list main --all", { client: { jobList: async () => [failed] } });
  expect(third.stdout).toContain("background  failed  main/api POST /docs  3 attempts failed");
  const cancelled = await runCli("jobs cancel main 019a7c", { client: { jobCancel: async () => ({ id: job.id }) } });
  expect(cancelled.stdout).toContain(`cancelled  ${job.id}`);
  const jobCancel = async () => {
    throw appError("job_not_found", { detail: "No job.", hint: "List the jobs: cli jobs list <target>" });
  };
  const missing = await runCli("jobs cancel main/reports 1", { client: { jobCancel } });
  expect(missing.stderr).toContain("hint: List the jobs: cli jobs list main/reports\n");
});
