import { notAvailable } from "@appdb/contract/control/database-advice";
import { appError } from "@appdb/contract/errors";
import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import type { Deploy } from "@appdb/contract/routes/control-deploys";
import { schemaPlan } from "@appdb/testkit/schema-plan";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DONE } from "../../testing/databases.ts";
import { hostedService } from "../../testing/services.ts";
import { openUploadProject, type UploadProject, URI } from "../../testing/upload-project.ts";

const TABLES = schemaPlan({
  target: URI,
  catalog_version: 7,
  in_agreement: false,
  tables: [
    {
      path: `${URI}/docs`,
      model_cls: "Docs",
      kind: "table",
      exists: true,
      status: null,
      error_count: 0,
      resolution: "create",
      ops: [],
      destructive: false,
    },
  ],
  summary: { create: 1 },
});
const AGREED_TABLES = schemaPlan({ target: URI, catalog_version: 8 });

const DEPLOY: Deploy = {
  id: "019a0000-0000-7000-8000-00000000000d",
  app_file: "app.py",
  state: "done",
  created_by: "ann",
  created_at: "2026-11-23T10:00:00.000Z",
  ended_at: null,
};

const PREPARED = "019a0000-0000-7000-8000-00000000000e";
const REBUILT = { ops: 1, destructive: 0, rebuild: true, restarts: true };

let at: UploadProject;
/** Whether tables and services match the file by now. */
let areApplied: boolean;
beforeEach(async () => {
  at = await openUploadProject();
  areApplied = false;
  at.project();
  at.answers.schemaPlan = () => ({ plan: areApplied ? AGREED_TABLES : TABLES });
  at.answers.schemaApply = async function* () {
    yield { event: "done", plan: AGREED_TABLES };
  };
  at.answers.servicePlan = () => ({ plan: services({ in_agreement: areApplied }), version: "v7" });
  at.answers.serviceUpdate = () => ({ plan: services({ in_agreement: false }), operations: [] });
  at.answers.serviceList = () => ({ items: [hostedService()], next: null });
  at.answers.deployBegin = () => DEPLOY;
  at.answers.deployEnd = () => DEPLOY;
  at.answers.deployAlive = () => ({ ...DEPLOY, state: "running" });
  at.answers.preparationBegin = () => ({ id: PREPARED, operation: { id: DONE.id, kind: "database.prepare" } });
});
afterEach(() => at[Symbol.asyncDispose]());

const asked = () => at.asked().filter((name) => !/^(blob|operation|database(Show|Plan))/.test(name));

test("plans everything, asks once, and applies the parts in order", async () => {
  const refused = await at.run(`deploy app.py ${URI}`);
  expect(refused).toMatchObject({ exit: 3, stderr: expect.stringContaining(`cli deploy app.py ${URI} -f`) });
  expect(refused.stdout).toMatch(/~ cloud:\/\/acme:main .*\+ cloud:\/\/acme:main\/docs .*\+ ingest /s);
  expect(asked()).toEqual(["schemaPlan", "servicePlan"]);
  expect(at.bodyOf("servicePlan").files).toHaveLength(1);
  // the bytes are uploaded; the database still has the previous files
  at.state.plan = { in_agreement: false };
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran).toMatchObject({ exit: 0, stderr: expect.stringContaining(`done: database, tables, services of ${URI}`) });
  expect(asked().slice(2)).toEqual([
    "schemaPlan",
    "servicePlan",
    "deployBegin",
    "deployAlive",
    "databaseUpdate",
    "deployAlive",
    "schemaApply",
    "deployAlive",
    "servicePlan",
    "serviceUpdate",
    "serviceList",
    "deployEnd",
  ]);
  expect(at.bodyOf("servicePlan").files).toBe(null);
});

test("waits for a database that is being created", async () => {
  const plan = at.answers.databasePlan;
  if (plan === undefined) throw new Error("The server plans no database.");
  let askedFor = 0;
  at.answers.databasePlan = (asking) => {
    askedFor += 1;
    if (askedFor === 1) throw notAvailable(URI, "PROVISIONING", "updated");
    at.state.plan = askedFor === 2 ? { state: "PROVISIONING" } : { in_agreement: true, ops: [] };
    return plan(asking);
  };
  areApplied = true;
  expect(await at.run(`deploy app.py ${URI}`)).toMatchObject({ exit: 0 });
  expect(askedFor).toBeGreaterThanOrEqual(3);
});

test("a dry run exits with 2 for changes, and with 0 for none", async () => {
  expect((await at.run(`deploy app.py ${URI} -n`)).exit).toBe(2);
  at.state.plan = { in_agreement: true, ops: [] };
  areApplied = true;
  const ran = await at.run(`deploy app.py ${URI} --json`);
  expect(ran.exit).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ status: null, done: [], schema: AGREED_TABLES });
  expect(asked().filter((name) => !name.endsWith("Plan"))).toEqual([]);
});

test("breaking changes must be allowed before anything is done", async () => {
  at.answers.servicePlan = () => ({ plan: services({ destructive: 1 }), version: "v7" });
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran).toMatchObject({ exit: 3, stderr: expect.stringContaining("--allow-destructive -f\n") });
  expect(asked()).toEqual(["schemaPlan", "servicePlan"]);
});

test("builds the image before planning and asks once", async () => {
  at.state.plan = { summary: REBUILT };
  at.answers.operationLog = async function* () {
    yield { number: 1, at: "2026-11-23T10:00:00.000Z", level: "info", line: "Resolved 3 packages" };
  };
  const refused = await at.run(`deploy app.py ${URI}`);
  expect(refused).toMatchObject({ exit: 3, stderr: expect.stringContaining("    Resolved 3 packages") });
  expect(asked()).toEqual(["preparationBegin", "schemaPlan", "servicePlan"]);
  expect(at.bodyOf("preparationBegin")).toMatchObject({ app_file: "app.py", settings: { cpu: 2 } });
  for (const name of ["schemaPlan", "servicePlan"] as const) {
    expect(at.bodyOf(name)).toMatchObject({ files: null, file_digests: null, preparation: PREPARED });
  }
  expect((await at.run(`deploy app.py ${URI} -f`)).exit).toBe(0);
  expect(asked().slice(3, 8)).toEqual(["preparationBegin", "schemaPlan", "servicePlan", "deployBegin", "deployAlive"]);
});

test("a failed image build ends the deployment without changes", async () => {
  at.state.plan = { summary: REBUILT };
  at.answers.operationLog = async function* () {
    yield { number: 1, at: "2026-11-23T10:00:00.000Z", level: "info", line: "no package nosuch" };
  };
  const error = { code: "build_failed", detail: "There is no package nosuch.", hint: `cli deploy app.py ${URI}` };
  at.answers.operationShow = () => ({ ...DONE, kind: "database.prepare", state: "failed", error });
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran).toMatchObject({ exit: 1, stderr: expect.stringContaining("There is no package nosuch.") });
  expect(ran.stderr).toMatch(/ {4}no package nosuch\n(.*\n)*Nothing of cloud:\/\/acme:main was changed/);
  expect(asked()).toEqual(["preparationBegin"]);
});

test("Ctrl-C cancels the preparation and reports no changes", async () => {
  at.state.plan = { summary: REBUILT };
  const typed = new AbortController();
  at.answers.operationShow = () => {
    typed.abort();
    return { ...DONE, state: "running", ended_at: null };
  };
  at.answers.operationCancel = () => ({ ...DONE, state: "cancelled" });
  const ran = await at.run(`deploy app.py ${URI} -f`, { signal: typed.signal });
  expect(ran).toMatchObject({ exit: 130, stderr: expect.stringContaining(`Nothing of ${URI} was changed.`) });
  expect(asked()).toEqual(["preparationBegin"]);
  expect(at.asked()).toContain("operationCancel");
});

test("stops a deployment that was undone meanwhile", async () => {
  at.state.plan = { in_agreement: false };
  at.answers.deployAlive = () => ({ ...DEPLOY, state: "rolled_back" });
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran).toMatchObject({ exit: 1, stderr: expect.stringContaining("was undone because it was silent") });
  expect(asked().slice(2)).toEqual(["deployBegin", "deployAlive", "deployEnd"]);
});

test("a failure reports completed steps and how to continue", async () => {
  at.answers.serviceUpdate = () => {
    throw appError("generation_moved", { detail: "The services moved.", hint: "Look again." });
  };
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran.exit).not.toBe(0);
  expect(ran.stderr).toContain("Done: database, tables. Not done: services.");
  expect(ran.stderr).toContain(`Continue with: cli deploy app.py ${URI}`);
});

test("names the commands to use for a local database", async () => {
  expect((await at.run("deploy app.py main -f")).stderr).toContain("cli schema update app.py main");
});

function services(more: { in_agreement?: boolean; destructive?: number }): ServicePlan {
  const { destructive = 0, in_agreement: inAgreement = false } = more;
  const change = destructive > 0 ? "update_destructive" : "create";
  return {
    app_file: "app.py",
    target: URI,
    extras: [],
    ops: [],
    status: null,
    in_agreement: inAgreement,
    services: [
      {
        name: "ingest",
        catalog_path: URI,
        exists: false,
        state: null,
        endpoint: null,
        ops: [],
        status: null,
        resolution: inAgreement ? "up_to_date" : change,
        destructive: destructive > 0,
        requires_restart: false,
      },
    ],
    summary: {
      up_to_date: 0,
      create: 1,
      update_additive: 0,
      update_destructive: destructive,
      extras: 0,
      blocked: 0,
      destructive,
      restarts: 0,
    },
  };
}

describe("cli rollback", () => {
  const op = (name: string): PlanOp => ({
    name,
    op: "alter",
    severity: "additive",
    description: `${name} goes back`,
    requires_restart: false,
    status: null,
    target: "service",
    details: {},
    destructive: false,
  });
  const operation = (id: string) => ({ id, kind: "service.rollback", target: `${URI}/ingest` });

  test("shows one plan, asks once, and continues until everything is undone", async () => {
    const left = [[operation("o1")], [operation("o2")], []];
    at.answers.deployRollback = () => ({ deploy: DEPLOY, operations: left.shift() ?? [] });
    const next = `cli deploy app.py ${URI}`;
    const blocked = { ...op("ingest"), severity: "blocked" as const, details: { next } };
    at.answers.deployRollbackPlan = () => ({ deploy: DEPLOY, ops: [blocked] });
    expect(await at.run(`rollback ${URI} -f`)).toMatchObject({ exit: 1, stderr: expect.stringContaining(next) });
    at.answers.deployRollbackPlan = () => ({ deploy: DEPLOY, ops: [op("ingest"), op("files")] });
    const refused = await at.run(`rollback ${URI}`);
    expect(refused).toMatchObject({ exit: 3, stderr: expect.stringContaining(`cli rollback ${URI} -f`) });
    expect(refused.stdout).toContain("tables and rows stay as they are");
    expect((await at.run(`rollback ${URI} -n`)).exit).toBe(2);
    expect(at.asked().filter((name) => name === "deployRollback")).toEqual([]);
    expect((await at.run(`rollback ${URI} -f`)).exit).toBe(0);
    expect(at.asked().filter((name) => name === "deployRollback")).toHaveLength(3);
    expect(at.asked().filter((name) => name === "operationShow")).toHaveLength(2);
    expect(at.bodyOf("deployRollback")).toEqual({ deploy: DEPLOY.id });
  });

  test("explains its purpose for a local name", async () => {
    expect(await at.run("rollback main -f")).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("main is a local one without deployments"),
    });
  });
});

test("a failed deployment is recorded and names continue and undo", async () => {
  at.answers.schemaApply = () => {
    throw appError("overloaded", { detail: "Not now.", hint: "Later." });
  };
  const ran = await at.run(`deploy app.py ${URI} -f`);
  expect(ran).toMatchObject({ exit: 1, stderr: expect.stringContaining(`cli rollback ${URI}`) });
  expect(at.bodyOf("deployEnd")).toEqual({ state: "failed" });
});
