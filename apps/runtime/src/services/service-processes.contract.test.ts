import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Manifest } from "@appdb/contract/manifest";
import { VERSION } from "@appdb/contract/version";
import { identifyProcess } from "@appdb/system/processes/process-identity";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseFreePort, isPortFree } from "./free-port.ts";
import { Services } from "./service-processes.ts";
import { createServiceStore, type StoredService } from "./service-store.ts";

/** Replaces `pod service`: a process that answers by IPC and HTTP, or fails as its service's name says. */
const PROGRAM = `import { createServer } from "node:http";
const [port, name] = process.argv.slice(2);
process.on("disconnect", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
if (name === "crashing") { console.error("boom: no such thing"); process.exit(3); }
if (name === "mismatch") {
  process.send({ event: "failed", problem: { code: "schema_mismatch", detail: "The tables differ" } }, () => process.exit(1));
} else {
  const server = createServer((_request, response) => response.end(String(process.pid)));
  server.listen(Number(port), "127.0.0.1", () => {
    console.log("hello from " + name);
    process.send({ event: "listening", address: "http://127.0.0.1:" + port, port: Number(port) });
  });
}`;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
let folder: string;
const opened: Services[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-services-"));
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
});

afterEach(async () => {
  for (const services of opened.splice(0)) await services[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function openServices(): Services {
  const services = new Services({
    store: createServiceStore(join(folder, "services")),
    clock: Date,
    log: silent,
    log_folder: join(folder, "logs"),
    fork: async (service): Promise<ChildProcess> =>
      fork(join(folder, "program.mjs"), [String(service.port), service.service], {
        execArgv: [],
        stdio: ["ignore", "pipe", "pipe", "ipc"],
      }),
  });
  opened.push(services);
  return services;
}

async function makeStored(service: string): Promise<StoredService> {
  const manifest: Manifest = {
    manifest_version: 1,
    library_version: VERSION,
    warnings: [],
    python_version: "3.11.7",
    app_file: "app.py",
    tables: [],
    functions: [],
    queries: [],
    resource_pools: [],
    services: [{ name: service, prefix: "", routes: [], source: { file: "app.py", line: 1 } }],
    modules: [],
  };
  const runtime = { python: "", python_source: "", project_root: folder, library_paths: [], env: { SECRET: "s3cret" } };
  const port = await chooseFreePort(`${folder}/${service}`, new Set());
  return { format: 1, target: "main/reports", service, port, desired: "running", manifest, runtime, updated_at: "" };
}

async function answers(port: number): Promise<string | undefined> {
  return await fetch(`http://127.0.0.1:${port}/`).then(
    (response) => response.text(),
    () => undefined,
  );
}

test("a started service listens, is listed and writes its log", async () => {
  const services = openServices();
  const stored = await makeStored("ingest");
  await services.replace(stored);
  const record = await services.settled("main/reports/ingest");
  expect(record).toMatchObject({
    name: "ingest",
    catalog_path: "main/reports",
    state: "AVAILABLE",
    endpoint: `http://127.0.0.1:${stored.port}`,
    restarts: 0,
    error: null,
  });
  expect(await answers(stored.port)).toBe(String(record.pid));
  expect(services.log("main/reports/ingest").tail(10)).toEqual(["hello from ingest"]);
  expect(JSON.stringify(services.list(undefined))).not.toContain("s3cret");
  for (const target of ["main", "main/reports", "main/reports/ingest"]) expect(services.list(target)).toEqual([record]);
  for (const target of ["mai", "main/rep", "main/reports/ing", "other"]) expect(services.list(target)).toEqual([]);
});

test("a killed service restarts on the same port every time", async () => {
  const services = openServices();
  const stored = await makeStored("ingest");
  await services.replace(stored);
  let record = await services.settled("main/reports/ingest");
  for (let round = 1; round <= 3; round++) {
    const killed = record.pid ?? 0;
    process.kill(killed, "SIGKILL");
    await expect
      .poll(() => {
        record = services.record("main/reports/ingest");
        return record.state === "AVAILABLE" && record.pid !== killed;
      })
      .toBe(true);
    expect(record.restarts).toBe(round);
    expect(await answers(stored.port)).toBe(String(record.pid));
  }
  expect(services.log("main/reports/ingest").tail(100).join("\n")).toContain("SIGKILL");
});

test("a service that always ends at once is FAILED with its output", async () => {
  const services = openServices();
  await services.replace(await makeStored("crashing"));
  const record = await services.settled("main/reports/crashing");
  expect(record).toMatchObject({ state: "FAILED", endpoint: null, pid: null });
  expect(record.error).toMatch(/code 3.*boom: no such thing/);
  expect(services.countRunning()).toBe(0);
  expect(services.list(undefined)).toHaveLength(1);
});

test("a permanent problem fails at once", async () => {
  const services = openServices();
  await services.replace(await makeStored("mismatch"));
  const record = await services.settled("main/reports/mismatch");
  expect(record).toMatchObject({ state: "FAILED", error: "The tables differ", restarts: 0 });
});

test("a stopped service frees its port and later gets it again", async () => {
  const services = openServices();
  const stored = await makeStored("ingest");
  await services.replace(stored);
  const started = await services.settled("main/reports/ingest");
  expect(await services.stop("main/reports/ingest")).toMatchObject({ state: "STOPPED", port: stored.port, pid: null });
  expect(await isPortFree(stored.port)).toBe(true);
  expect(identifyProcess(started.pid ?? 0)).toBeUndefined();
  expect(await services.restart("main/reports/ingest")).toMatchObject({ state: "AVAILABLE", port: stored.port });
});

test("concurrent commands take turns", async () => {
  const services = openServices();
  const stored = await makeStored("ingest");
  const name = "main/reports/ingest";
  await services.replace(stored);
  await Promise.all([services.restart(name), services.restart(name), services.stop(name), services.restart(name)]);
  const record = await services.settled(name);
  expect(record.state).toBe("AVAILABLE");
  expect(await answers(stored.port)).toBe(String(record.pid));
});

test("the next daemon restores services and ends leftovers", async () => {
  const first = openServices();
  const running = await makeStored("running");
  const stopped = await makeStored("stopped");
  for (const stored of [running, stopped]) await first.replace(stored);
  const before = await first.settled("main/reports/running");
  await first.stop("main/reports/stopped");
  // simulates a killed first daemon, whose process still exists
  const second = openServices();
  await second.startAll();
  const after = await second.settled("main/reports/running");
  expect(after).toMatchObject({ state: "AVAILABLE", port: running.port });
  expect(await answers(running.port)).toBe(String(after.pid));
  expect(after.pid).not.toBe(before.pid);
  expect(second.record("main/reports/stopped")).toMatchObject({ state: "STOPPED", port: stopped.port });
});

test("a service that must run is STARTING while its daemon starts", async () => {
  const store = createServiceStore(join(folder, "services"));
  store.save(await makeStored("waits"));
  store.save({ ...(await makeStored("stays")), desired: "stopped" });
  const services = openServices();
  const states = () => services.list(undefined).map(({ name, pid, state }) => [name, state, pid === null]);
  expect(states()).toEqual([
    ["stays", "STOPPED", true],
    ["waits", "STARTING", true],
  ]);
  expect(services.countRunning()).toBe(0);
  await services.startAll();
  await services.stop("main/reports/waits");
  expect(states()).toEqual([
    ["stays", "STOPPED", true],
    ["waits", "STOPPED", true],
  ]);
});

test("a removed service is gone from the disk except its log", async () => {
  const services = openServices();
  await services.replace(await makeStored("ingest"));
  const { log_file: logFile } = await services.settled("main/reports/ingest");
  await services.forget("main/reports/ingest");
  expect(services.list(undefined)).toEqual([]);
  expect(existsSync(join(folder, "services", "main"))).toBe(false);
  expect(readFileSync(logFile, "utf8")).toContain("hello");
  expect(() => services.resolve("ingest")).toThrow(expect.objectContaining({ code: "service_not_found" }));
});

test("finds a service by a unique name and suggests the nearest one", async () => {
  const services = openServices();
  await services.replace(await makeStored("ingest"));
  expect(services.resolve("ingest")).toBe("main/reports/ingest");
  expect(() => services.resolve("main/reports/ingst")).toThrow(
    expect.objectContaining({ code: "service_not_found", hint: "Did you mean main/reports/ingest?" }),
  );
});
