import { eventually } from "@appdb/testkit/eventually";
import { docs, excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { expect, test } from "vitest";
import { collectJobs, KEEP_ENDED_JOBS_DAYS } from "../jobs/collect-jobs.ts";
import { startRecompute } from "../jobs/plan-recompute.ts";
import { runJobs } from "../jobs/run-jobs.ts";
import { watchJobs } from "../jobs/watch-jobs.ts";
import { cancelJob, listJobs } from "./list-jobs.ts";

const { rows, catalog, apply, execute, insertDocs, insertPending, deps, finish, isInAgreement, transaction } =
  useJobsBench();

const slow = () =>
  fakeWorkers({
    excerpt: async (row) => {
      await new Promise((resolve) => setTimeout(resolve, 3));
      return `new ${row.title}`;
    },
  });

/** Computes half of the rows at once, and the rest when the gate opens. The job is then certainly running. */
const held = (gate: AbortSignal) => {
  let calls = 0;
  const opened = new Promise((resolve) => gate.addEventListener("abort", resolve, { once: true }));
  return fakeWorkers({
    excerpt: async (row) => {
      calls += 1;
      if (calls > 1_500) await opened;
      return `new ${row.title}`;
    },
  });
};

/** Runs a job until some rows are done, cancels it, and waits for its end. */
async function cancelMidway(job: string): Promise<void> {
  const stop = new AbortController();
  const gate = new AbortController();
  const running = runJobs(deps({ udf: held(gate.signal).udf }), stop.signal);
  await eventually(async () => {
    expect(await rows(`select rows_done > 0 from appdb.jobs where id = '${job}'`)).toEqual([["t"]]);
  });
  await cancelJob(deps().sql, deps().clock, job);
  gate.abort();
  const watched = watchJobs(deps(), [job], () => undefined, stop.signal);
  await expect(watched).rejects.toMatchObject({ code: "job_cancelled" });
  stop.abort();
  await running;
}

async function recompute(onError: "abort" | "ignore"): Promise<string> {
  let job: string | undefined;
  const request = { folder: "public", table: "docs", columns: ["excerpt"], cascade: true, errors_only: false };
  await transaction(async (connection) => {
    job = (await startRecompute(connection, { ...request, on_error: onError })).job;
  });
  return job ?? "";
}

async function fillDocs(): Promise<void> {
  await apply(docs());
  await insertDocs(3_000);
  const quick = fakeWorkers({ excerpt: (row) => `old ${row.title}` });
  await finish(await apply(docs(excerptColumn(), upperColumn("loud", "excerpt"))), deps({ udf: quick.udf }));
}

test("a cancelled fill leaves the table as it was before the update", async () => {
  await apply(docs());
  await insertDocs(3_000);
  const [job = ""] = await apply(docs(excerptColumn()));
  await cancelMidway(job);
  expect(await isInAgreement(docs())).toBe(true);
  const [listed] = await listJobs(deps().sql, { database: "main", folder: null, all: true });
  expect(listed).toMatchObject({ id: job, kind: "fill", state: "cancelled", table: "main/docs", columns: ["excerpt"] });
});

test("a cancelled recompute restores the previous values", async () => {
  await fillDocs();
  await cancelMidway(await recompute("abort"));
  expect(await rows("select count(*) from docs where loud = upper('old ' || title)")).toEqual([["3000"]]);
  expect((await catalog()).tables[0]?.columns.some((column) => column.stale)).toBe(false);
});

test("a cancelled job that ignores errors keeps whole rows; the next update computes all", async () => {
  await fillDocs();
  await cancelMidway(await recompute("ignore"));
  const [[fresh, old, mixed] = []] = await rows(`select count(*) filter (where loud = upper('new ' || title)),
    count(*) filter (where loud = upper('old ' || title)), count(*) filter (where loud <> upper(excerpt)) from docs`);
  expect(Number(fresh)).toBeGreaterThan(0);
  expect([Number(fresh) + Number(old), mixed]).toEqual([3_000, "0"]);
  expect((await catalog()).tables[0]?.columns.filter((column) => column.stale)).toHaveLength(2);
  const manifest = docs(excerptColumn(), upperColumn("loud", "excerpt"));
  expect(await isInAgreement(manifest)).toBe(false);
  await finish(await apply(manifest), deps({ udf: slow().udf }));
  expect(await rows("select count(*) from docs where loud = upper('new ' || title)")).toEqual([["3000"]]);
  expect(await isInAgreement(manifest)).toBe(true);
});

test("an undo job continues after its runner was killed", async () => {
  await fillDocs();
  const job = await recompute("abort");
  const stop = new AbortController();
  const running = runJobs(deps({ udf: held(stop.signal).udf }), stop.signal);
  await eventually(async () => {
    expect(await rows(`select rows_done > 500 from appdb.jobs where id = '${job}'`)).toEqual([["t"]]);
  });
  stop.abort();
  await running;
  // As if it had restored some rows before it was killed.
  const undo = `appdb."undo ${job}"`;
  await execute({
    text: `with gone as (delete from ${undo} where ctid in (select ctid from ${undo} limit 100) returning *)
      update docs set excerpt = "old ", loud = upper("old ") from (select "#id", 'old ' || title as "old " from gone
      join docs on _row = "#id") as of where _row = "#id"`,
  });
  const error = JSON.stringify({ code: "recompute_failed", detail: "It failed.", hint: "Try.", meta: {} });
  await execute({ text: "update appdb.jobs set undoing = $1 where id = $2", values: [error, job] });
  await expect(finish([job], deps({ udf: slow().udf }))).rejects.toMatchObject({ code: "recompute_failed" });
  expect(await rows("select count(*) from docs where loud = upper('old ' || title)")).toEqual([["3000"]]);
});

test("ended, unknown and row-completing jobs cannot be cancelled", async () => {
  await apply(docs(excerptColumn()));
  await insertPending("later", ["excerpt"]);
  const [open] = await listJobs(deps().sql, { database: "main", folder: null, all: false });
  await expect(cancelJob(deps().sql, deps().clock, open?.id ?? "")).rejects.toMatchObject({
    code: "job_not_cancellable",
  });
  await expect(cancelJob(deps().sql, deps().clock, (open?.id ?? "").slice(0, 3))).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("has 3 characters. The start of a job's id has at least 4."),
  });
  await expect(cancelJob(deps().sql, deps().clock, "ffff")).rejects.toMatchObject({ code: "job_not_found" });
  await finish([open?.id ?? ""], deps({ udf: slow().udf }));
  await expect(cancelJob(deps().sql, deps().clock, (open?.id ?? "").slice(0, 13))).rejects.toMatchObject({
    code: "job_not_cancellable",
    message: expect.stringContaining("has already ended (done)"),
  });
});

test("jobs that ended long ago are deleted", async () => {
  await apply(docs());
  await insertDocs(3);
  await finish(await apply(docs(upperColumn("up", "title"))));
  const days = (count: number) => ({ now: () => Date.now() + count * 86_400_000 });
  expect(await collectJobs(deps().sql, days(KEEP_ENDED_JOBS_DAYS - 1))).toBe(0);
  expect(await collectJobs(deps().sql, days(KEEP_ENDED_JOBS_DAYS + 1))).toBe(1);
  expect(await listJobs(deps().sql, { database: "main", folder: null, all: true })).toEqual([]);
});
