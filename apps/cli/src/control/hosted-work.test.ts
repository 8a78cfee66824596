import { appError, toProblem } from "@appdb/contract/errors";
import type { RecomputePlan } from "@appdb/contract/jobs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openUploadProject, type UploadProject, URI } from "../testing/upload-project.ts";

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
});
afterEach(() => at[Symbol.asyncDispose]());

const PLAN: RecomputePlan = {
  table: `${URI}/reports/docs`,
  columns: ["loud"],
  cascade: [],
  on_error: "ignore",
  errors_only: true,
  rows: 9,
  views: [],
};

test("requests failing cells by their path within the database", async () => {
  const asked: unknown[] = [];
  at.answers.errorList = ({ query }) => {
    asked.push(query);
    return { tables: [] };
  };
  for (const path of ["", "/docs", "/reports/docs --column Loud --limit 7"]) {
    expect(await at.run(`errors ${URI}${path}`)).toMatchObject({ exit: 0, stderr: "No cell has failed.\n" });
  }
  expect(asked).toEqual([
    { limit: "100" },
    { path: "docs", limit: "100" },
    { path: "reports/docs", column: "loud", limit: "7" },
  ]);
  expect((await at.run(`errors ${URI} --column loud`)).stderr).toContain(`cli errors ${URI}/TABLE --column loud`);
});

test("a hosted recompute shows plan, progress and failure", async () => {
  at.answers.recomputePlan = () => ({ plan: PLAN });
  at.answers.recompute = async function* () {
    yield { event: "progress", job: "019a", table: "docs", column: "loud", rows_done: 3, rows_total: 9, errors: 1 };
    yield { event: "done", result: { ...PLAN, job: "019a", rows_done: 9, errors: 1 } };
  };
  const ran = await at.run(`recompute ${URI}/reports/docs loud --errors-only -f`);
  expect(ran.exit).toBe(0);
  expect(ran.stdout).toContain(`recomputed loud of ${URI}/reports/docs: 9 rows, 1 cell failed`);
  expect(ran.stderr).toContain("computing docs.loud: 3 of 9 rows (33 %), 1 cell failed");
  expect(ran.stderr).toContain(`cli errors ${URI}/reports/docs`);
  const body = { table: "reports/docs", columns: ["loud"], cascade: true, on_error: "ignore", errors_only: true };
  expect([at.bodyOf("recomputePlan"), at.bodyOf("recompute")]).toEqual([body, body]);
  at.answers.recompute = async function* () {
    yield { event: "error", problem: toProblem(appError("recompute_failed", { detail: "docs.loud: no voice" })) };
  };
  expect((await at.run(`recompute ${URI}/reports/docs loud -f`)).stderr).toContain("docs.loud: no voice");
  at.answers.recompute = async function* () {};
  const cut = await at.run(`recompute ${URI}/reports/docs loud -f`);
  expect(cut).toMatchObject({ exit: 1, stderr: expect.stringContaining(`cli jobs list ${URI}`) });
});

test("refuses another application file for a hosted recompute", async () => {
  for (const flag of ["--app app.py", "--python python3"]) {
    const ran = await at.run(`recompute ${URI}/docs loud ${flag}`);
    expect(ran).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(`${flag.split(" ")[0]} is for local databases`),
    });
  }
  expect(at.asked()).toEqual([]);
});

test("lists and cancels hosted jobs", async () => {
  at.answers.jobList = () => ({ jobs: [] });
  at.answers.jobCancel = () => ({ id: "019abc" });
  expect((await at.run(`jobs list ${URI}/reports --all`)).stderr).toBe("There are no jobs.\n");
  expect((await at.run(`jobs cancel ${URI} 019a -f`)).stdout).toBe("cancelled  019abc\n");
  expect(at.asked()).toEqual(["jobList", "jobCancel"]);
  expect(at.bodyOf("jobCancel")).toEqual({ id: "019a" });
});
