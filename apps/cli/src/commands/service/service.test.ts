import { appError } from "@appdb/contract/errors";
import type { PlanOp, ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import { describe, expect, test } from "vitest";
import { APPLICATION, MANIFEST, runCli, SERVICE, servicePlan } from "../../testing/fake-context.ts";

function item(resolution: ServicePlanItem["resolution"], ops: PlanOp[] = []): ServicePlanItem {
  return {
    name: "ingest",
    catalog_path: "main",
    exists: resolution !== "create",
    state: null,
    endpoint: resolution === "create" ? null : SERVICE.endpoint,
    resolution,
    ops,
    status: null,
    destructive: ops.some((op) => op.destructive),
    requires_restart: resolution.startsWith("update"),
  };
}

function op(severity: PlanOp["severity"], description: string): PlanOp {
  return {
    name: null,
    op: "alter",
    severity,
    description,
    requires_restart: true,
    status: null,
    target: "route",
    details: {},
    destructive: severity === "destructive",
  };
}

const AGREED = servicePlan({
  services: [{ ...item("up_to_date"), endpoint: SERVICE.endpoint }],
  summary: { up_to_date: 1 },
});
const START = servicePlan({ in_agreement: false, services: [item("create")], summary: { create: 1 } });
const BREAKING = servicePlan({
  in_agreement: false,
  services: [item("update_destructive", [op("destructive", "route 'POST /docs' will be replaced: outputs changed")])],
  summary: { update_destructive: 1, destructive: 1, restarts: 1 },
});
const BLOCKED = servicePlan({
  in_agreement: false,
  services: [item("blocked", [op("blocked", "the tables have to change first (docs)")])],
  summary: { blocked: 1 },
});

function daemon(plan: ServicePlan, after: ServicePlan = AGREED) {
  const applied: unknown[] = [];
  const client = {
    servicePlan: async () => plan,
    serviceApply: async (request: { service: string | null; port: number | null; allow_destructive: boolean }) => {
      applied.push({ service: request.service, port: request.port, allow_destructive: request.allow_destructive });
      return after;
    },
  };
  return { client, applied };
}

describe("service diff", () => {
  test("exits with 0 for nothing, 2 for a start and 1 when blocked", async () => {
    expect((await runCli("service diff app.py main", daemon(AGREED))).exit).toBe(0);
    const start = await runCli("service diff app.py main", daemon(START));
    expect(start.exit).toBe(2);
    expect(start.stdout).toContain("+ ingest            will be started");
    const blocked = await runCli("service diff app.py main --json", daemon(BLOCKED));
    expect(blocked.exit).toBe(1);
    expect(JSON.parse(blocked.stdout)).toEqual(BLOCKED);
  });

  test("suggests the nearest name for an unknown service", async () => {
    const ran = await runCli("service diff app.py main ingset", daemon(START));
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("does not define the service 'ingset'; it defines ingest");
    expect(ran.stderr).toContain("Did you mean: ingest");
  });
});

describe("service update", () => {
  test("a start needs an answer, or -f without a terminal", async () => {
    const given = daemon(START);
    const unanswered = await runCli("service update app.py main", given);
    expect(unanswered.exit).toBe(3);
    expect(unanswered.stderr).toContain("hint: To confirm in advance: cli service update app.py main -f\n");
    expect(given.applied).toEqual([]);
    const ran = await runCli("service update app.py main -f", given);
    expect(ran.exit).toBe(0);
    expect(ran.stdout).toContain("started    ingest            http://127.0.0.1:42697");
  });

  test("sends port and service to the daemon", async () => {
    const given = daemon(START);
    await runCli("service update app.py main ingest --port 8000 -f", given);
    expect(given.applied).toEqual([{ service: "ingest", port: 8000, allow_destructive: false }]);
  });

  test("an invalid port is a usage error", async () => {
    for (const port of ["0", "65536", "http", "80.5"]) {
      const ran = await runCli(`service update app.py main --port ${port} -f`, daemon(START));
      expect(ran.exit).toBe(1);
      expect(ran.stderr).toContain("a port is a whole number from 1 to 65535");
    }
  });

  test("refuses one port for several services and names a command", async () => {
    const second = {
      ...MANIFEST.services[0],
      name: "admin",
      prefix: "",
      routes: [],
      source: { file: "app.py", line: 9 },
    };
    const app = { ...APPLICATION, manifest: { ...MANIFEST, services: [...MANIFEST.services, second] } };
    const ran = await runCli("service update app.py main --port 8000", { ...daemon(START), app });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("cli service update app.py main ingest --port 8000");
  });

  test("breaking changes need --allow-destructive", async () => {
    const given = daemon(BREAKING);
    const ran = await runCli("service update app.py main -f", given);
    expect(ran.exit).toBe(3);
    expect(ran.stderr).toContain("cli service update app.py main --allow-destructive -f");
    expect(given.applied).toEqual([]);
    expect((await runCli("service update app.py main -f --allow-destructive", given)).exit).toBe(0);
  });

  test("names the command for tables that must change first", async () => {
    const ran = await runCli("service update app.py main -f", daemon(BLOCKED));
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("hint: Update the tables first: cli schema update app.py main\n");
  });

  test("fails when a service does not start", async () => {
    const failed = servicePlan({ services: [{ ...item("create"), state: "FAILED" }] });
    const ran = await runCli("service update app.py main -f", daemon(START, failed));
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("cli service logs main/ingest");
  });

  test("--dry-run applies nothing", async () => {
    const given = daemon(START);
    expect((await runCli("service update app.py main -n", given)).exit).toBe(2);
    expect(given.applied).toEqual([]);
  });
});

describe("service list", () => {
  test("prints addresses, states and routes", async () => {
    const ran = await runCli("service list main", { client: { serviceList: async () => [SERVICE] } });
    expect(ran.stdout).toBe(
      "main/ingest  http://127.0.0.1:42697  AVAILABLE  pid 7920  app.py\n    POST  /docs  insert  in: title  out: title\n",
    );
  });

  test("says that a service waits for its starting daemon", async () => {
    const first = { pid: null, endpoint: null, started_at: null, restarts: 0 };
    const waiting = { ...SERVICE, ...first, state: "STARTING" as const };
    const ran = await runCli("service list", { client: { serviceList: async () => [waiting] } });
    expect(ran.stdout).toContain("main/ingest  -  STARTING  waits for the daemon, which is starting  app.py\n");
  });

  test("explains a failed service", async () => {
    const failed = { ...SERVICE, state: "FAILED" as const, error: "port 8000 is taken", pid: null, endpoint: null };
    const ran = await runCli("service list", { client: { serviceList: async () => [failed] } });
    expect(ran.stdout).toContain("main/ingest  -  FAILED  app.py\n    error: port 8000 is taken\n");
  });

  test("--json prints the format for tools", async () => {
    const ran = await runCli("service list --json", { client: { serviceList: async () => [SERVICE] } });
    expect(JSON.parse(ran.stdout)).toEqual({ services: [SERVICE] });
  });
});

describe("service logs", () => {
  async function* lines() {
    yield '{"level":"info","time":"2026-11-20T10:00:00.000Z","msg":"service listens","port":8000}';
    yield '{"level":"info","time":"2026-11-20T10:00:01.000Z","msg":"output","line":"printed by the app"}';
    yield "Traceback";
  }

  test("prints readable lines", async () => {
    const ran = await runCli("service logs main/ingest", { client: { serviceLogs: lines } });
    expect(ran.stdout).toBe(
      "2026-11-20T10:00:00.000Z info   service listens  port=8000\n2026-11-20T10:00:01.000Z printed by the app\nTraceback\n",
    );
  });

  test("--json prints one object, with --follow one per line", async () => {
    const once = await runCli("service logs main/ingest --json", { client: { serviceLogs: lines } });
    expect(JSON.parse(once.stdout)).toMatchObject({
      name: "ingest",
      catalog_path: "main",
      lines: [expect.any(String), expect.any(String), "Traceback"],
    });
    const followed = await runCli("service logs main/ingest --json -f", { client: { serviceLogs: lines } });
    expect(
      followed.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toHaveLength(3);
  });

  test("Ctrl-C ends following silently with exit 130", async () => {
    const interrupt = new AbortController();
    const serviceLogs = async function* () {
      yield "a line";
      interrupt.abort();
      throw appError("interrupted", { detail: "The command was interrupted." });
    };
    const given = { client: { serviceLogs }, context: { signal: interrupt.signal } };
    expect(await runCli("service logs main/ingest -f", given)).toEqual({ stdout: "a line\n", stderr: "", exit: 130 });
  });

  test("--tail requires a number", async () => {
    const ran = await runCli("service logs main/ingest --tail all");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("expected a whole number from 1 to 10000");
  });
});

describe("service restart and stop", () => {
  test("changes each named service, or none when a name is wrong", async () => {
    const stopped: string[] = [];
    const client = {
      serviceStop: async ({ name }: { readonly name: string }) => {
        stopped.push(name);
        return { ...SERVICE, name: name.replace("main/", "") };
      },
    };
    const wrong = await runCli("service stop main/ingest ingest", { client });
    expect(wrong.exit).toBe(1);
    expect(wrong.stderr).toContain("hint: Write for example: main/ingest");
    expect(stopped).toEqual([]);
    const ran = await runCli("service stop main/ingest main/admin", { client });
    expect(ran.stdout).toBe("stopped  main/ingest\nstopped  main/admin\n");
  });

  test("an unknown service is an error", async () => {
    const client = {
      serviceRestart: async () => {
        throw appError("service_not_found", { detail: "There is no service 'main/x'.", hint: "cli service list" });
      },
    };
    expect((await runCli("service restart main/x", { client })).exit).toBe(1);
  });

  test("a missing name is a usage error", async () => {
    expect((await runCli("service stop")).exit).toBe(1);
  });
});

describe("service prune", () => {
  const drop = {
    ...op("destructive", "service 'old' will be stopped and removed"),
    op: "drop" as const,
    name: "old",
  };

  test("asks first and lists what it removes", async () => {
    const calls: boolean[] = [];
    const client = {
      servicePrune: async (request: { dry_run: boolean }) => {
        calls.push(request.dry_run);
        return servicePlan({ ops: [drop] });
      },
    };
    const unanswered = await runCli("service prune app.py main", { client });
    expect(unanswered.exit).toBe(3);
    expect(unanswered.stderr).toContain("- old");
    expect(calls).toEqual([true]);
    const ran = await runCli("service prune app.py main -f", { client });
    expect(ran).toMatchObject({ exit: 0, stdout: "stopped  old\n" });
  });

  test("--dry-run exits with 2 for changes and 0 for none", async () => {
    const some = { client: { servicePrune: async () => servicePlan({ ops: [drop] }) } };
    expect(await runCli("service prune app.py main -n", some)).toMatchObject({ exit: 2, stdout: "would stop  old\n" });
    const none = { client: { servicePrune: async () => servicePlan() } };
    expect(await runCli("service prune app.py main -n", none)).toMatchObject({
      exit: 0,
      stdout: "main: nothing to prune\n",
    });
  });
});
