import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { startTraceCollector, type TraceCollector } from "@appdb/testkit/trace-collector";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Hosted, startHosted } from "./support/hosted.ts";
import { INSERTED_APP, startInserters } from "./support/inserters.ts";
import { MAKE_WHEEL } from "./support/organizations.ts";
import { editFile, expectExit, expectProblem, makeProject, post, writeFile } from "./support/served.ts";

const MAIN = "cloud://acme:main";
const INGEST = `${MAIN}/ingest`;
const CLIENTS = 8;

/** From routes behind keys to updates under load. Each test continues from the previous one. */
describe("a user who serves an application from a hosted database", () => {
  let project: TestProject;
  let hosted: Hosted;
  let key: string;
  let address: string;
  let traces: TraceCollector;

  beforeAll(async () => {
    traces = await startTraceCollector();
    // requests without a trace are not sampled
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: traces.url, OTEL_TRACES_SAMPLER_ARG: "0" };
    project = await makeProject(INSERTED_APP, { env });
    hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    expect(await hosted.browse("POST", "/v1/orgs", { name: "acme" })).toMatchObject({ status: 201 });
    key = (await hosted.browse("POST", "/v1/orgs/acme/keys", { name: "backend" })).json.api_key;
    project.env.SERVICE_API_KEY = key;
    await eventually(async () => expect(await json("db", "status", MAIN)).toMatchObject({ state: "AVAILABLE" }), {
      timeout_ms: 60_000,
    });
    await expectExit(project, 0, "db", "update", MAIN, "-f");
  });
  afterAll(async () => {
    await project[Symbol.asyncDispose]();
    await traces[Symbol.asyncDispose]();
  });

  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  const service = async () => (await json("service", "list", MAIN)).services[0];
  const insert = (token: string, headers: Record<string, string> = { "x-api-key": key }) =>
    post(`${address}/docs`, { token }, headers);

  test("learns that tables come first, starts the services and calls them with a key", async () => {
    const blocked = await expectProblem(project, 1, "service", "update", "app.py", MAIN, "-f");
    expect(blocked).toMatchObject({ code: "schema_mismatch", hint: expect.stringContaining("cli schema update") });
    await expectExit(project, 0, "schema", "update", "app.py", MAIN);
    expect((await expectExit(project, 2, "service", "diff", "app.py", MAIN)).stdout).toContain("+ ingest");
    const updated = await expectExit(project, 0, "service", "update", "app.py", MAIN, "-f");
    address = (await service()).endpoint;
    expect(updated.stdout).toContain(address);
    expect((await expectExit(project, 0, "service", "diff", "app.py", MAIN)).stdout).toContain("up to date");
    expect(await insert("a")).toMatchObject({ status: 200, json: { token: "a", shout: "A", size: 1 } });
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    expect(await insert("a", { authorization: `Bearer ${key}`, traceparent })).toMatchObject({ status: 200 });
    await eventually(() => expect(traces.spans).toMatchObject([{ name: "POST /ingest/*", service: "gateway" }]), {
      timeout_ms: 60_000,
    });
    for (const headers of [{}, { "x-api-key": "sk_none" }, { "x-api-key": `${key}x` }]) {
      expect(await insert("a", headers)).toMatchObject({ status: 401, json: { status: 401 } });
    }
    expect(await post(`${address}/none`, {}, { "x-api-key": key })).toMatchObject({ status: 404 });
    expect(await post(`${address}x/docs`, {}, { "x-api-key": key })).toMatchObject({ status: 404 });
  });

  test("refuses a foreign key, and a deleted one", async () => {
    const other = await json("key", "create", "other", "--grant", `access:${MAIN}/services/other`);
    expect(await insert("a", { "x-api-key": other.api_key })).toMatchObject({ status: 403 });
    const own = await json(
      "key",
      "create",
      "own",
      "--grant",
      `access:${INGEST.replace("/ingest", "/services/ingest")}`,
    );
    expect(await insert("a", { "x-api-key": own.api_key })).toMatchObject({ status: 200 });
    await expectExit(project, 0, "key", "delete", "own");
    await eventually(async () => expect((await insert("a", { "x-api-key": own.api_key })).status).toBe(401));
  });

  test("updates code and tables under load and back without refusing a request", async () => {
    const { stop } = startInserters(`${address}/docs`, CLIENTS, { "x-api-key": key });
    editFile(project, "app.py", "return text.upper()", "return text.upper() + '!'");
    const differ = await expectProblem(project, 1, "service", "update", "app.py", MAIN, "-f");
    expect(differ).toMatchObject({ code: "project_files_differ", hint: expect.stringContaining("cli db update") });
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    expect((await insert("b")).json).toMatchObject({ shout: "B" });
    await expectExit(project, 0, "service", "update", "app.py", MAIN, "-f");
    expect((await insert("b")).json).toMatchObject({ shout: "B!" });
    editFile(project, "app.py", "    size =", "    twice = token + token\n    size =");
    editFile(project, "app.py", "Docs.size]", "Docs.size, Docs.twice]");
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    await expectExit(project, 0, "schema", "update", "app.py", MAIN);
    await expectExit(project, 0, "service", "update", "app.py", MAIN, "-f");
    expect((await insert("c")).json).toMatchObject({ twice: "cc" });
    expect(await service()).toMatchObject({ state: "AVAILABLE", release: 3, update_pending: false });
    await expectExit(project, 0, "service", "rollback", INGEST, "-f");
    expect(await service()).toMatchObject({ release: 2, endpoint: address });
    await expectExit(project, 0, "service", "restart", INGEST);
    const { acknowledged, refused, unknown } = await stop();
    expect([...refused, ...unknown]).toEqual([]);
    expect(acknowledged.size).toBeGreaterThan(CLIENTS * 10);
    const { rows } = (await hosted.browse("GET", "/v1/orgs/acme/databases/main/tables/docs")).json;
    expect(rows).toBeGreaterThanOrEqual(acknowledged.size);
  });

  test("deploys changed files, tables and routes together", async () => {
    editFile(project, "app.py", "Docs.size, Docs.twice]", "Docs.size, Docs.twice, Docs.thrice]");
    editFile(project, "app.py", "    size =", "    thrice = token + token + token\n    size =");
    const shown = await expectExit(project, 2, "deploy", "app.py", MAIN, "-n");
    for (const part of ["app.py", "thrice", "~ ingest"]) expect(shown.stdout).toContain(part);
    await expectExit(project, 0, "deploy", "app.py", MAIN, "-f");
    expect((await insert("c")).json).toMatchObject({ thrice: "ccc" });
    expect((await expectExit(project, 0, "deploy", "app.py", MAIN, "-n")).stdout).toContain("up to date");
  });

  test("undoes that deployment together and keeps the tables", async () => {
    const { stop } = startInserters(`${address}/docs`, CLIENTS, { "x-api-key": key });
    const { release } = await service();
    const planned = await expectExit(project, 2, "rollback", MAIN, "-n");
    expect(planned.stdout).toContain(`from release ${release} to release`);
    expect(planned.stdout).toContain("the project files will be those from before");
    await expectExit(project, 0, "rollback", MAIN, "-f");
    const { acknowledged, refused, unknown } = await stop();
    expect([...refused, ...unknown]).toEqual([]);
    expect(acknowledged.size).toBeGreaterThan(CLIENTS);
    expect((await insert("c")).json).not.toHaveProperty("thrice");
    const diff = await expectExit(project, 2, "db", "diff", MAIN);
    expect(diff.stdout).toContain("app.py");
    expect(await expectProblem(project, 1, "rollback", MAIN, "-f")).toMatchObject({ code: "deploy_not_found" });
  });

  test("keeps serving when a release fails, until a deployment completes it", async () => {
    editFile(project, "app.py", "ingest = Router()", "import tiny\n\ningest = Router()");
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    const failed = await expectProblem(project, 1, "service", "update", "app.py", MAIN, "-f");
    expect(failed.detail).toContain("tiny");
    expect(await insert("d")).toMatchObject({ status: 200 });
    writeFile(project, "requirements.txt", "./tiny-1-py3-none-any.whl\n");
    writeFile(project, "tiny-1-py3-none-any.whl", "no archive");
    const before = await json("db", "status", MAIN);
    const unbuilt = await expectProblem(project, 1, "deploy", "app.py", MAIN, "-f");
    expect(unbuilt).toMatchObject({
      code: "build_failed",
      meta: { output: expect.arrayContaining([expect.stringContaining("tiny")]) },
    });
    const started = ({ pods }: { pods: { started_at: string }[] }) =>
      pods.map(({ started_at: startedAt }) => startedAt);
    const { generation, image, project: files } = before;
    const after = await json("db", "status", MAIN);
    expect(after).toMatchObject({ state: "AVAILABLE", generation, image, project: files });
    expect(started(after)).toEqual(started(before));
    writeFile(project, "wheel.py", MAKE_WHEEL);
    expect(await project.type("python3 wheel.py")).toMatchObject({ code: 0 });
    const deployed = await expectExit(project, 0, "deploy", "app.py", MAIN, "-f");
    expect(deployed.stdout).toMatch(/image will be one that was built before(.|\n)*up to date(.|\n)*~ ingest/);
    expect(await insert("d")).toMatchObject({ status: 200, json: { thrice: "ddd" } });
  });

  test("stops and starts the service and its database and reports which is asleep", async () => {
    await expectExit(project, 0, "service", "stop", INGEST);
    expect(await insert("e")).toMatchObject({ status: 503, json: { code: "service_not_available" } });
    await expectExit(project, 0, "service", "restart", INGEST);
    expect(await insert("e")).toMatchObject({ status: 200 });
    await expectExit(project, 0, "db", "stop", MAIN);
    expect(await insert("e")).toMatchObject({ status: 503, json: { code: "database_asleep" } });
    expect(await service()).toMatchObject({ state: "STOPPED", reason: expect.stringContaining("sleeps") });
    await expectExit(project, 0, "db", "start", MAIN);
    await eventually(async () => expect(await insert("e")).toMatchObject({ status: 200 }), { timeout_ms: 60_000 });
    await expectExit(project, 0, "db", "restart", MAIN);
    await eventually(async () => expect(await insert("e")).toMatchObject({ status: 200 }), { timeout_ms: 60_000 });
  });

  test("reads its log by route and by request", async () => {
    const headers = { "x-api-key": key, "x-request-id": "req-of-this-test" };
    expect(await insert("f", headers)).toMatchObject({ status: 200 });
    await eventually(async () => {
      const found = await expectExit(project, 0, "service", "logs", INGEST, "--request-id", "req-of-this-test");
      expect(found.stdout).toContain("/docs");
    });
    const { stdout } = await expectExit(project, 0, "service", "logs", INGEST, "--route", "/none");
    expect(stdout).not.toContain("/docs");
    expect((await expectExit(project, 0, "service", "logs", INGEST)).stdout).not.toContain(key);
  });

  test("removes a service that the file no longer defines", async () => {
    editFile(project, "app.py", "ingest = Router()\ningest.", "renamed = Router()\nrenamed.");
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    const pruned = await expectExit(project, 0, "service", "prune", "app.py", MAIN, "-f");
    expect(pruned.stdout).toContain("ingest");
    expect((await json("service", "list", MAIN)).services).toEqual([]);
    expect(await insert("g")).toMatchObject({ status: 404 });
  });
});
