import type { Manifest, ManifestRoute, ManifestRowRoute } from "@appdb/contract/manifest";
import type { Runtime } from "@appdb/contract/runtime";
import { VERSION } from "@appdb/contract/version";
import { expect, test } from "vitest";
import {
  type PlanLocalServicesInput,
  type PresentLocalService,
  planLocalServices,
  refuseServicesInTerminals,
  refuseServicesOfOthers,
} from "./plan-local-services.ts";
import type { LocalServiceState } from "./service-state.ts";
import type { TerminalServices } from "./terminal-services.ts";

const source = { file: "app.py", line: 1 };

function makeRoute(changes: Partial<ManifestRowRoute> = {}): ManifestRoute {
  return {
    kind: "insert",
    method: "post",
    path: "/docs",
    table: "docs",
    inputs: ["title"],
    outputs: ["id"],
    on_error: "abort",
    handler: null,
    source,
    ...changes,
  };
}

function makeManifest(routes: ManifestRoute[], changes: Partial<Manifest> = {}): Manifest {
  const column = (name: string, nullable: boolean) => ({
    name,
    type: { kind: "string" as const },
    nullable,
    primary_key: false,
    computed: null,
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    source,
  });
  return {
    manifest_version: 1,
    library_version: VERSION,
    warnings: [],
    python_version: "3.11.7",
    app_file: "app.py",
    tables: [
      {
        name: "docs",
        model: "Docs",
        comment: null,
        custom_metadata: null,
        columns: [column("id", true), column("title", false), column("note", true)],
        primary_key: [],
        indexes: [],
        renamed_from: null,
        has_default_idxs: true,
        source,
      },
    ],
    functions: [],
    queries: [],
    resource_pools: [],
    services: [{ name: "ingest", prefix: "", routes, source }],
    modules: [{ path: "app.py", sha256: "1" }],
    ...changes,
  };
}

function makeRuntime(changes: Partial<Runtime> = {}): Runtime {
  return {
    python: "/venv/bin/python",
    python_source: "virtual environment",
    project_root: "/project",
    library_paths: [],
    env: { KEY: "secret-value", PWD: "/here" },
    ...changes,
  };
}

function makePresent(
  manifest: Manifest,
  state: LocalServiceState = "AVAILABLE",
  runtime = makeRuntime(),
): PresentLocalService {
  return {
    stored: {
      format: 1,
      target: "main",
      service: "ingest",
      port: 8001,
      desired: "running",
      manifest,
      runtime,
      updated_at: "",
    },
    state,
    endpoint: "http://127.0.0.1:8001",
    is_file_there: true,
    is_project_there: true,
  };
}

function plan(changes: Partial<PlanLocalServicesInput>) {
  return planLocalServices({
    manifest: makeManifest([makeRoute()]),
    runtime: makeRuntime(),
    target: "main",
    service: null,
    port: null,
    present: [],
    differing_tables: [],
    ...changes,
  });
}

test("creates a missing service with its routes", () => {
  const found = plan({});
  expect(found.services[0]).toMatchObject({
    name: "ingest",
    catalog_path: "main",
    exists: false,
    resolution: "create",
    destructive: false,
  });
  expect(found.services[0]?.ops).toMatchObject([
    { op: "add", target: "route", severity: "additive", name: "POST /docs" },
  ]);
  expect(found).toMatchObject({ in_agreement: false, summary: { create: 1, restarts: 0 } });
});

test("leaves an unchanged service alone, even from another terminal", () => {
  const manifest = makeManifest([makeRoute()]);
  const runtime = makeRuntime({ env: { KEY: "secret-value", PWD: "/elsewhere", SHLVL: "3" } });
  const found = plan({ manifest, runtime, present: [makePresent(manifest)] });
  expect(found.services[0]).toMatchObject({ resolution: "up_to_date", ops: [], requires_restart: false });
  expect(found).toMatchObject({ in_agreement: true, summary: { restarts: 0, up_to_date: 1 } });
});

test.each([
  ["an added route", [makeRoute(), makeRoute({ path: "/more" })], "update_additive", 0],
  ["a removed output", [makeRoute({ outputs: [] })], "update_destructive", 1],
] as const)("classifies %s by its effect on clients", (_what, routes, resolution, destructive) => {
  const found = plan({ manifest: makeManifest([...routes]), present: [makePresent(makeManifest([makeRoute()]))] });
  expect(found).toMatchObject({ services: [{ resolution }], summary: { destructive, restarts: 1 } });
});

test("refuses a route that could not serve a request", () => {
  const manifest = makeManifest([makeRoute({ inputs: ["note"] })]);
  expect(() => plan({ manifest })).toThrow(
    expect.objectContaining({ code: "app_invalid", message: expect.stringContaining("Column title is required") }),
  );
});

test("restarts a service after changes of imported files and names them", () => {
  const before = makeManifest([makeRoute()], {
    modules: [
      { path: "app.py", sha256: "1" },
      { path: "udfs.py", sha256: "1" },
    ],
  });
  const after = makeManifest([makeRoute()], {
    modules: [
      { path: "app.py", sha256: "1" },
      { path: "udfs.py", sha256: "2" },
    ],
  });
  const found = plan({ manifest: after, present: [makePresent(before)] });
  expect(found.services[0]?.ops).toMatchObject([
    { target: "project", severity: "additive", description: "udfs.py changed" },
  ]);
});

test("names a changed variable without its value", () => {
  const manifest = makeManifest([makeRoute()]);
  const found = plan({
    manifest,
    runtime: makeRuntime({ env: { KEY: "other-secret" } }),
    present: [makePresent(manifest)],
  });
  expect(found.services[0]?.ops).toMatchObject([{ description: "environment: KEY changed" }]);
  expect(JSON.stringify(found)).not.toMatch(/secret/);
});

test("says that a limit of services applies after a restart of the daemon", () => {
  const manifest = makeManifest([makeRoute()]);
  const { env } = makeRuntime();
  const runtime = makeRuntime({ env: { ...env, SERVICE_UPLOAD_BYTES: "5000000" } });
  const [op] = plan({ manifest, runtime, present: [makePresent(manifest)] }).services[0]?.ops ?? [];
  expect(op?.description).toBe("environment: SERVICE_UPLOAD_BYTES added; limits apply after cli daemon restart");
});

test("restarts the service when its access to a hosted media store changes, and shows no key", () => {
  const manifest = makeManifest([makeRoute()]);
  const hosted = {
    url: "https://cloud.example.com",
    url_source: "SERVICE_API_URL",
    home: "/home",
    api_key: "sk_hidden",
  };
  const changed = plan({ manifest, runtime: makeRuntime({ hosted }), present: [makePresent(manifest)] });
  const [service] = changed.services;
  expect(service?.ops).toMatchObject([{ description: "access to the media store of a hosted database" }]);
  expect(JSON.stringify(changed)).not.toContain("sk_hidden");
});

test("restarts the service when its number of workers changes", () => {
  const manifest = makeManifest([makeRoute()]);
  const changed = plan({ manifest, runtime: makeRuntime({ workers: 3 }), present: [makePresent(manifest)] });
  expect(changed.services[0]).toMatchObject({
    resolution: "update_additive",
    requires_restart: true,
    ops: [{ description: "3 workers, set in the configuration", details: { workers: 3 } }],
  });
});

test("--port moves a running service, and the same port does nothing", () => {
  const manifest = makeManifest([makeRoute()]);
  const present = [makePresent(manifest)];
  expect(plan({ manifest, present, port: 9000 }).services[0]).toMatchObject({
    resolution: "update_additive",
    ops: [{ description: "port 8001 becomes 9000", requires_restart: true }],
  });
  expect(plan({ manifest, present, port: 8001 }).services[0]?.resolution).toBe("up_to_date");
});

test("starts a stopped or failed service that did not change", () => {
  const manifest = makeManifest([makeRoute()]);
  for (const state of ["STOPPED", "FAILED"] as const) {
    expect(plan({ manifest, present: [makePresent(manifest, state)] }).services[0]).toMatchObject({
      resolution: "update_additive",
      ops: [{ description: `it is ${state} and will be started` }],
    });
  }
});

test("differing tables block every service and name the command", () => {
  const found = plan({ differing_tables: ["main/docs"] });
  expect(found.services[0]).toMatchObject({ resolution: "blocked", ops: [{ severity: "blocked" }] });
  expect(found.services[0]?.ops[0]?.description).toContain("cli schema update app.py main");
});

test("refuses a name of another file unless that file is gone", () => {
  const other = makeManifest([makeRoute()], { app_file: "other.py" });
  const present = makePresent(other);
  expect(() => plan({ present: [present] })).toThrow(expect.objectContaining({ code: "service_conflict" }));
  const elsewhere = makePresent(makeManifest([makeRoute()]), "AVAILABLE", makeRuntime({ project_root: "/other" }));
  expect(() => plan({ present: [elsewhere] })).toThrow(expect.objectContaining({ code: "service_conflict" }));
  expect(plan({ present: [{ ...present, is_file_there: false }] }).services).toHaveLength(1);
});

test("refuses to run a service whose name another project has", () => {
  const manifest = makeManifest([makeRoute()]);
  const elsewhere = makePresent(manifest, "STOPPED", makeRuntime({ project_root: "/other" }));
  const run = (present: PresentLocalService, names = ["ingest"]) =>
    refuseServicesOfOthers({ manifest, runtime: makeRuntime(), target: "main", present: [present] }, names);
  expect(() => run(elsewhere)).toThrow(
    expect.objectContaining({
      code: "service_conflict",
      message: "The service main/ingest belongs to app.py of /other; app.py of /project claims the same name.",
      hint: expect.stringMatching(
        /^Use a database of its own: cli schema update app.py project && cli service run app.py project {3}or rename/,
      ),
    }),
  );
  run(elsewhere, ["reports"]);
  run(makePresent(manifest));
  run({ ...elsewhere, is_file_there: false });
});

test("refuses a service that cli service run serves for another file", () => {
  const manifest = makeManifest([makeRoute()]);
  const served = { target: "main", services: ["ingest"], app_file: "app.py", project_root: "/other" };
  const refuse = (running: TerminalServices, place = "/home/ada/My-Shop", target = "main") =>
    refuseServicesInTerminals(
      { manifest, runtime: makeRuntime({ project_root: place }), target },
      ["ingest"],
      [running],
      "update",
    );
  expect(() => refuse(served)).toThrow(
    expect.objectContaining({
      code: "service_conflict",
      message:
        "The service main/ingest belongs to app.py of /other, which serves it in a terminal; app.py of /home/ada/My-Shop claims the same name.",
      hint: 'Use a database of its own: cli schema update app.py my_shop && cli service update app.py my_shop   or rename this service: Router(name="...")   or press Ctrl-C in the terminal of the other one',
    }),
  );
  const second = { ...served, app_file: "second.py" };
  expect(() => refuse(second, "/other")).toThrow(/second\.py of \/other, which .*; app\.py claims/);
  expect(() => refuse(served, "/", "own_/a")).toThrow(
    expect.objectContaining({ hint: expect.stringContaining("cli service update app.py own__2 ") }),
  );
  refuse(served, "/other");
  refuse({ ...served, services: ["reports"] });
});

test("refuses an unknown service and --port with several services", () => {
  expect(() => plan({ service: "ingst" })).toThrow(
    expect.objectContaining({ code: "service_not_found", hint: "Did you mean ingest?" }),
  );
  const two = makeManifest([makeRoute()]);
  two.services.push({ name: "other", prefix: "", routes: [], source });
  expect(() => plan({ manifest: two, port: 9000 })).toThrow(expect.objectContaining({ code: "invalid_request" }));
  expect(plan({ manifest: two, port: 9000, service: "other" }).services).toHaveLength(1);
});

test("services that the file no longer defines are extras", () => {
  const manifest = makeManifest([makeRoute()], { services: [] });
  const found = plan({ manifest, present: [makePresent(makeManifest([makeRoute()]))] });
  expect(found).toMatchObject({ services: [], extras: ["ingest"], in_agreement: true });
});

test("leaves services of another project out of the extras, like a prune", () => {
  const manifest = makeManifest([], { services: [] });
  const present = makePresent(makeManifest([makeRoute()]), "AVAILABLE", makeRuntime({ project_root: "/other" }));
  const found = plan({ manifest, present: [present] });
  expect(found).toMatchObject({
    extras: [],
    ops: [{ name: "ingest", severity: "blocked", description: "service 'ingest' belongs to /other and stays" }],
    summary: { extras: 0, destructive: 0 },
    in_agreement: true,
  });
  const deleted = plan({ manifest, present: [{ ...present, is_project_there: false }] });
  expect(deleted).toMatchObject({ extras: ["ingest"], ops: [] });
});

test("leaves services of another file of the project out of the extras", () => {
  const manifest = makeManifest([], { services: [], app_file: "app2.py" });
  const present = makePresent(makeManifest([makeRoute()]));
  expect(plan({ manifest, present: [present] })).toMatchObject({
    extras: [],
    ops: [{ name: "ingest", severity: "blocked", description: "service 'ingest' belongs to app.py and stays" }],
  });
  expect(plan({ manifest, present: [{ ...present, is_file_there: false }] })).toMatchObject({ extras: ["ingest"] });
});
