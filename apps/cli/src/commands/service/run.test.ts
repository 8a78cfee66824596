import { appError } from "@appdb/contract/errors";
import type { ServiceMessage, ServiceSpec } from "@appdb/contract/service-spec";
import { describe, expect, test } from "vitest";
import type { RunningService } from "../../context.ts";
import { APPLICATION, CONFIG, MANIFEST, runCli, SERVICE } from "../../testing/fake-context.ts";

describe("service run", () => {
  function input(first: ServiceMessage, end: number | null = 1) {
    const specs: ServiceSpec[] = [];
    const opened: { services: readonly string[] }[] = [];
    const interrupt = new AbortController();
    let stopped = false;
    let finish: (code: number | null) => void = () => undefined;
    const ended = new Promise<number | null>((resolve) => {
      finish = resolve;
    });
    const running: RunningService = {
      ready: Promise.resolve(first),
      ended,
      stop: async () => {
        stopped = true;
        finish(0);
      },
    };
    if (first.event === "failed") finish(end);
    return {
      specs,
      opened,
      interrupt,
      finish,
      wasStopped: () => stopped,
      client: {
        openTarget: async (sent: { services: readonly string[] }) => {
          opened.push(sent);
          return { dsn: "postgres://x", catalog_version: 3 };
        },
      },
      context: {
        signal: interrupt.signal,
        startService: async (spec: ServiceSpec) => {
          specs.push(spec);
          return running;
        },
      },
    };
  }
  const LISTENING = { event: "listening", address: "127.0.0.1", port: 8000 } as const;

  test("prints address, routes and docs and exits with 130 after Ctrl-C", async () => {
    const given = input(LISTENING);
    setTimeout(() => given.interrupt.abort(), 5);
    const ran = await runCli("service run app.py main --port 8000", given);
    expect(ran.stdout).toBe(
      "main/ingest at http://127.0.0.1:8000\n  Routes: 1\n  API docs: http://127.0.0.1:8000/docs\n",
    );
    expect(ran.exit).toBe(130);
    expect(given.wasStopped()).toBe(true);
    expect(given.opened).toMatchObject([{ services: ["ingest"], target: "main", pid: process.pid }]);
    expect(given.specs[0]).toMatchObject({ services: ["ingest"], target: "main", host: "127.0.0.1", port: 8000 });
  });

  test("--json prints one object, also after Ctrl-C", async () => {
    const given = input(LISTENING);
    setTimeout(() => given.interrupt.abort(), 5);
    const ran = await runCli("service run app.py main --json", given);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      endpoint: "http://127.0.0.1:8000",
      services: ["ingest"],
      routes: 1,
    });
  });

  test("reports a port in use without claiming to run", async () => {
    const problem = { code: "port_taken", detail: "Port 8000 is taken.", hint: "Choose another one: --port 0" };
    const ran = await runCli("service run app.py main", input({ event: "failed", problem }));
    expect(ran).toMatchObject({ exit: 1, stdout: "" });
    expect(ran.stderr).toBe("error: Port 8000 is taken.\nhint: Choose another one: --port 0\n");
  });

  test("names the background service that uses the port", async () => {
    const problem = { code: "port_taken", detail: "Port 28079 is in use.", meta: { port: SERVICE.port } };
    const client = { ...input(LISTENING).client, serviceList: async () => [SERVICE] };
    const ran = await runCli("service run app.py main", { ...input({ event: "failed", problem }), client });
    expect(ran.stderr).toContain(`error: Port ${SERVICE.port} is in use by your service main/ingest.`);
    expect(ran.stderr).toContain("cli service stop main/ingest");
  });

  test("fails when the service ends on its own", async () => {
    const given = input(LISTENING);
    setTimeout(() => given.finish(null), 5);
    const ran = await runCli("service run app.py main", given);
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("ended unexpectedly (it was killed)");
  });

  test("reports differing tables in one line and starts nothing", async () => {
    const client = {
      openTarget: async () => {
        throw appError("schema_mismatch", {
          detail: "The tables of main differ.",
          hint: "cli schema update app.py main",
        });
      },
    };
    const ran = await runCli("service run app.py main", { client });
    expect(ran).toMatchObject({
      exit: 1,
      stderr: "error: The tables of main differ.\nhint: cli schema update app.py main\n",
    });
  });

  test("refuses a hosted target", async () => {
    expect((await runCli("service run app.py cloud://acme:main")).stderr).toContain("is not for hosted databases");
  });

  test("passes limits to the service and refuses all invalid ones together", async () => {
    const given = input(LISTENING);
    const config = { ...CONFIG, daemon_env: { SERVICE_WORKERS: "3" } };
    setTimeout(() => given.interrupt.abort(), 5);
    await runCli("service run app.py main", { ...given, context: { ...given.context, config } });
    expect(given.specs[0]?.limits.workers).toBe(3);
    const wrong = { ...config, daemon_env: { SERVICE_WORKERS: "0", SERVICE_BODY_BYTES: "x" } };
    const ran = await runCli("service run app.py main", { ...given, context: { ...given.context, config: wrong } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toMatch(/SERVICE_WORKERS is '0'.*SERVICE_BODY_BYTES is 'x'/);
  });
});

describe("service check", () => {
  test("refuses a file without a service", async () => {
    const application = { ...APPLICATION, manifest: { ...MANIFEST, services: [] } };
    const ran = await runCli("service check app.py", { context: { readApplication: async () => application } });
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("app.py defines no service.");
    expect(ran.stderr).toContain("hint: Add one: ingest = Router()");
  });
});
