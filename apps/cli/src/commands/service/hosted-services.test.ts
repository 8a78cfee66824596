import { appError } from "@appdb/contract/errors";
import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import type { Operation } from "@appdb/contract/routes/control";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENDPOINT, hostedService as service } from "../../testing/services.ts";
import { openUploadProject, sha256, type UploadProject, URI } from "../../testing/upload-project.ts";

const AT = "2026-11-23T10:00:00.000Z";
const OPERATION: Operation = {
  id: "019a0000-0000-7000-8000-000000000001",
  kind: "service.update",
  target: `${URI}/ingest`,
  state: "succeeded",
  actor: "ann",
  detail: null,
  error: null,
  created_at: AT,
  started_at: AT,
  ended_at: AT,
};
const GONE: PlanOp = {
  name: "GET /new",
  op: "drop",
  severity: "destructive",
  description: "route 'GET /new' will be removed",
  requires_restart: true,
  status: null,
  target: "route",
  details: {},
  destructive: true,
};
const ASKED = { id: OPERATION.id, kind: OPERATION.kind };

let at: UploadProject;
beforeEach(async () => {
  at = await openUploadProject();
  at.project();
  at.answers.servicePlan = () => ({ plan: plan({}), version: "v7" });
  at.answers.serviceUpdate = () => ({
    plan: plan({ status: "applied" }),
    operations: [{ ...ASKED, service: "ingest" }],
  });
  at.answers.operationShow = () => OPERATION;
  at.answers.serviceList = () => ({ items: [service({})], next: null });
  at.answers.serviceShow = () => service({});
});
afterEach(() => at[Symbol.asyncDispose]());

describe("cli service update of a hosted database", () => {
  test("shows and applies the plan, waits and prints the address", async () => {
    const ran = await at.run(`service update app.py ${URI} -f`);
    expect(ran).toMatchObject({ exit: 0 });
    expect(ran.stdout).toContain("+ ingest            will be started\n");
    expect(ran.stdout).toContain(`started    ingest            ${ENDPOINT}\n`);
    expect(at.asked()).toEqual(["servicePlan", "serviceUpdate", "operationShow", "serviceList"]);
    expect(at.bodyOf("serviceUpdate")).toEqual({
      app_file: "app.py",
      folders: [],
      service: null,
      file_digests: { "app.py": sha256("x = 1\n") },
      expected_version: "v7",
      allow_destructive: false,
    });
  });

  test("needs -f without a terminal; a dry run exits with 2", async () => {
    expect(await at.run(`service update app.py ${URI}`)).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining(`cli service update app.py ${URI} -f`),
    });
    expect((await at.run(`service update app.py ${URI} -n`)).exit).toBe(2);
    expect((await at.run(`service diff app.py ${URI}/reports ingest`)).exit).toBe(2);
    expect(at.asked()).toEqual(["servicePlan", "servicePlan", "servicePlan"]);
    expect(at.bodyOf("servicePlan")).toMatchObject({ folders: ["reports"], service: "ingest" });
  });

  test("refuses local options, breaking changes and tables that differ", async () => {
    expect(await at.run(`service update app.py ${URI} --port 8000 -f`)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("--port is for local services"),
    });
    at.answers.servicePlan = () => ({ plan: plan({ destructive: 1 }), version: "v7" });
    expect((await at.run(`service update app.py ${URI} -f`)).stderr).toContain("--allow-destructive -f");
    at.answers.servicePlan = () => ({ plan: plan({ blocked: 1 }), version: "v7" });
    expect((await at.run(`service update app.py ${URI} -f`)).stderr).toContain(`cli schema update app.py ${URI}`);
    at.answers.servicePlan = () => {
      throw appError("project_files_differ", { detail: "app.py: not what it has.", hint: `cli db update ${URI}` });
    };
    expect(await at.run(`service update app.py ${URI} -f`)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining(`cli db update ${URI}`),
    });
    expect(at.asked()).not.toContain("serviceUpdate");
  });

  test("explains why a service did not start", async () => {
    const error = { code: "service_failed", detail: "ingest did not get ready.", hint: "Read its log." };
    at.answers.operationShow = () => ({ ...OPERATION, state: "failed", error });
    expect(await at.run(`service update app.py ${URI} -f`)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("ingest did not get ready."),
    });
  });

  test("waits for the others after a failure and reports their results", async () => {
    const error = { code: "service_failed", detail: "The first did not get ready.", hint: null };
    const names = ["first", "second", "third"];
    at.answers.serviceUpdate = () => ({
      plan: plan({ status: "applied" }),
      operations: names.map((service) => ({ ...ASKED, id: service, service })),
    });
    at.answers.operationShow = ({ params }) =>
      params.id === "second" ? OPERATION : { ...OPERATION, state: "failed", error };
    at.answers.servicePlan = () => ({ plan: { ...plan({}), extras: ["gone"] }, version: "v7" });
    const { exit, stderr, stdout } = await at.run(`service update app.py ${URI} -f`);
    expect(stdout).toContain(`not defined in app.py; stop it with: cli service prune app.py ${URI}\n`);
    expect([exit, stderr]).toEqual([
      1,
      expect.stringMatching(/done: second\nfailed as well: third\nerror: The first did not get ready\.\n/),
    ]);
  });
});

describe("cli service of hosted services", () => {
  test("list prints addresses, states and routes, optionally filtered", async () => {
    const certificate: ReturnType<typeof service>["certificate"] = {
      issued_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2026-04-01T00:00:00.000Z",
      state: "ended",
      error: "DNS problem",
      next_order_at: "2026-04-01T06:00:00.000Z",
    };
    at.answers.serviceList = () => ({
      items: [
        service({ certificate, update_pending: true }),
        service({ name: "reports/daily", uri: `${URI}/reports/daily` }),
      ],
      next: null,
    });
    const { stdout } = await at.run(`service list ${URI}`);
    expect(stdout).toContain(`${URI}/ingest  ${ENDPOINT}  AVAILABLE  release 3  1 worker  app.py\n`);
    expect(stdout).toContain(
      "its certificate ended at 2026-04-01T00:00:00.000Z, and clients refuse it: DNS problem\n    It is",
    );
    expect(stdout).toContain(`the database has newer files or another image: cli service update app.py ${URI}\n`);
    expect(stdout).toContain("    POST  /docs  insert  in: title  out: id\n");
    expect((await at.run(`service list ${URI}/reports`)).stdout).not.toContain(`${URI}/ingest  `);
    const { services } = JSON.parse((await at.run(`service list ${URI}/ingest --json`)).stdout);
    expect(services).toMatchObject([{ name: "ingest" }]);
    expect((await at.run(`service list ${URI}/ingst`)).stdout).toBe(
      `No service named ${URI}/ingst, and none below it. See all: cli service list ${URI}\n`,
    );
    at.answers.serviceList = () => ({ items: [], next: null });
    expect((await at.run(`service list ${URI}`)).stdout).toContain(`cli service update app.py ${URI}`);
  });

  test("stop, restart and retry wait for the new state", async () => {
    const change = () => ({ service: service({}), operation: ASKED });
    at.answers.serviceStop = change;
    at.answers.serviceRestart = change;
    at.answers.serviceRetry = change;
    expect((await at.run(`service stop ${URI}/ingest`)).stdout).toBe(`stopped  ${URI}/ingest\n`);
    expect((await at.run(`service restart ${URI}/reports/daily`)).stdout).toContain("AVAILABLE");
    expect((await at.run(`service retry ${URI}/ingest`)).exit).toBe(0);
    expect(at.asked().filter((name) => name === "operationShow")).toHaveLength(3);
    expect(at.server.asked.find(({ name }) => name === "serviceRestart")?.params.service).toBe("reports/daily");
  });

  test("rollback asks and restores the named or previous release", async () => {
    at.answers.serviceRollback = () => ({ service: service({}), operation: ASKED });
    at.answers.serviceRollbackPlan = () => ({ from: 3, to: 2, ops: [GONE] });
    expect(await at.run(`service rollback ${URI}/ingest -n`)).toMatchObject({
      exit: 2,
      stdout: "    - route 'GET /new' will be removed  [DESTRUCTIVE]\n\n",
    });
    expect((await at.run(`service rollback ${URI}/ingest`)).exit).toBe(3);
    expect(at.asked()).not.toContain("serviceRollback");
    expect((await at.run(`service rollback ${URI}/ingest --to 2 -f`)).exit).toBe(0);
    expect(at.bodyOf("serviceRollback")).toEqual({ release: 2 });
    at.answers.serviceRollbackPlan = () => ({ from: 2, to: 2, ops: [] });
    at.answers.serviceRollback = () => ({ service: service({}), operation: null });
    expect(await at.run(`service rollback ${URI}/ingest --to 2`)).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining(`${URI}/ingest runs release 2 already.`),
    });
    expect((await at.run("service rollback main/ingest -f")).stderr).toContain("without releases");
  });

  test("releases marks the running one", async () => {
    at.answers.releaseList = () => ({
      items: [3, 2].map((number) => ({
        number,
        app_file: "app.py",
        files: sha256("tree"),
        image: null,
        workers: 1,
        created_at: AT,
        created_by: "ann@example.com",
        served_at: AT,
        changes: ["route 'POST /docs' will be added"],
      })),
      next: null,
    });
    const lines = (await at.run(`service releases ${URI}/ingest`)).stdout.split("\n");
    expect(lines[0]).toMatch(/^\* 3 .*ann@example\.com .*base library .*POST \/docs/);
    expect(lines[1]).toMatch(/^ {2}2 /);
  });

  test("filters hosted logs and refuses these options for local ones", async () => {
    at.answers.serviceLogs = async function* () {
      yield { number: 0, at: AT, level: "info", line: "POST /docs 200" };
    };
    const ran = await at.run(`service logs ${URI}/ingest --since 1h --route /docs --request-id r1 --search POST`);
    expect(ran.stdout).toBe(`${AT} info   POST /docs 200\n`);
    expect(at.server.asked.at(-1)?.query).toEqual({
      tail: "200",
      since_s: "3600",
      route: "/docs",
      request_id: "r1",
      search: "POST",
      follow: "0",
      include_health: "0",
    });
    expect((await at.run("service logs main/ingest --route /docs")).stderr).toContain("--route: for hosted services");
  });
});

function plan(more: { destructive?: number; blocked?: number; status?: "applied" }): ServicePlan {
  const { blocked = 0, destructive = 0, status = null } = more;
  const change = destructive > 0 ? "update_destructive" : "create";
  return {
    app_file: "app.py",
    target: URI,
    extras: [],
    ops: [],
    status,
    in_agreement: status !== null,
    services: [
      {
        name: "ingest",
        catalog_path: URI,
        exists: status !== null,
        state: null,
        endpoint: null,
        ops: [],
        status,
        resolution: blocked > 0 ? "blocked" : change,
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
      blocked,
      destructive,
      restarts: 0,
    },
  };
}
