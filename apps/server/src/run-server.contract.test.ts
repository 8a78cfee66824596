import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { identifyProcess } from "@appdb/system/processes/process-identity";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { startTestPostgres } from "@appdb/testkit/test-postgres";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { doorFolder } from "./edge/admin-socket.ts";
import { runProcess, type ServerProcess } from "./testing/run-process.ts";

let home: string;
let database: TestDatabase | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-run-"));
});

afterEach(async () => {
  await database?.drop();
  database = undefined;
  // a killed server leaves its initdb running
  await removeFolder(home);
  // left by a killed gateway if a test failed before its replacement
  rmSync(doorFolder({ home, runtime_base: process.env.XDG_RUNTIME_DIR }), { recursive: true, force: true });
});

/** On a busy machine, starting a process from source is slow. */
const SEVERAL_STARTS_MS = 180_000;

/** Without the reconciler, which would wait for the same rows. */
const ALONE = { SERVICE_ROLES: "control-plane" };

const address = (server: ServerProcess) => server.printed(/^Dashboard: (\S+)$/m);
const setUpToken = (server: ServerProcess) => server.printed(/setup\?token=(\S+)/);

/** Creates the first account and an organization. Returns the owner's cookie. */
async function begin(server: ServerProcess): Promise<string> {
  const url = await address(server);
  const token = await setUpToken(server);
  const made = await send(url, "POST", "/v1/setup", "", {
    token,
    email: "ann@example.com",
    name: "Ann",
    password: "correct horse",
  });
  const cookie = made.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  expect((await send(url, "POST", "/v1/orgs", cookie, { name: "acme" })).status).toBe(201);
  return cookie;
}

const METRICS_TOKEN = "a-token-of-the-operator-that-is-long-enough";

function send(url: string, method: string, path: string, cookie: string, body?: unknown): Promise<Response> {
  const authorization = /^\/(metrics|health)$/.test(path) ? { authorization: `Bearer ${METRICS_TOKEN}` } : {};
  return fetch(url + path, {
    method,
    headers: { "content-type": "application/json", cookie, origin: url, ...authorization },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Holds a lock on the organization, so that a change waits. */
async function hold(dsn: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: dsn });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("begin");
  await client.query("select 1 from control.organizations for update");
  return client;
}

/** Resolves when a statement waits for a lock. */
async function untilWaiting(client: pg.Client): Promise<void> {
  await expect
    .poll(async () => {
      const found = await client.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return found.rowCount;
    })
    .toBe(1);
}

describe("with the embedded PostgreSQL", () => {
  test(
    "starts, keeps its address and secrets, refuses a second one, resets a password, stops",
    async () => {
      const env = { SERVICE_HOME: home, SERVICE_PODS: "process" };
      let url: string;
      let cookie: string;
      {
        // as in a shell that has made a backup
        const previous = process.umask(0o077);
        await using server = runProcess(env);
        process.umask(previous);
        url = await address(server);
        if (process.platform === "linux") {
          expect(readFileSync(`/proc/${server.pid}/status`, "utf8")).toMatch(/^Umask:\s*0022$/m);
        }
        cookie = await begin(server);
        expect(JSON.parse(readFileSync(join(home, "server.json"), "utf8"))).toEqual({ url, pid: server.pid });
        expect(statSync(join(home, "server/auth-secret")).mode & 0o777).toBe(0o600);
        await using second = runProcess(env);
        expect(await second.ended()).toBe(1);
        expect(second.output()).toContain(`process ${server.pid}`);
        await using link = runProcess(env, ["reset-link", "Ann@example.com"]);
        expect(await link.ended()).toBe(0);
        const token = /\/reset\?token=(\S+)/.exec(link.output())?.[1];
        const reset = await send(url, "POST", "/v1/auth/reset-password", "", {
          token,
          newPassword: "another password",
        });
        expect(reset.status).toBe(200);
        const again = await send(url, "POST", "/v1/auth/sign-in/email", "", {
          email: "ann@example.com",
          password: "another password",
        });
        cookie = again.headers.getSetCookie()[0]?.split(";")[0] ?? "";
        server.kill("SIGTERM");
        expect(await server.ended()).toBe(0);
        // it prints its gateway's log to the end
        expect(server.output()).toContain('"msg":"the gateway is stopping"');
        expect(existsSync(join(home, "server.json"))).toBe(false);
        expect(server.output().split("setup?token=")).toHaveLength(2);
      }
      await using server = runProcess(env);
      expect(await address(server)).toBe(url);
      const whoami = await send(url, "GET", "/v1/whoami", cookie);
      expect(await whoami.json()).toMatchObject({ email: "ann@example.com", organization: { name: "acme" } });
      expect(server.output()).not.toContain("setup?token=");
      server.kill("SIGINT");
      expect(await server.ended()).toBe(0);
    },
    SEVERAL_STARTS_MS,
  );

  test("prints no password reset link when the server does not run", async () => {
    await using link = runProcess({ SERVICE_HOME: home }, ["reset-link", "ann@example.com"]);
    expect(await link.ended()).toBe(1);
    expect(link.output()).toContain("error: No server of the home");
  });
});

describe("with an external PostgreSQL", () => {
  test("two servers create one set of tables at once, and accept each other's sessions", async () => {
    database = await createTestDatabase();
    const env = {
      SERVICE_HOME: home,
      SERVICE_DATABASE_URL: database.dsn,
      ...ALONE,
      SERVICE_AUTH_SECRET: "x".repeat(40),
      SERVICE_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    await using one = runProcess(env);
    const url = await address(one);
    const cookie = await begin(one);
    await using two = runProcess({
      ...env,
      SERVICE_PUBLIC_URL: url,
      SERVICE_PORT: "0",
      SERVICE_HOME: join(home, "two"),
    });
    await address(two);
    const port = readFileSync(join(home, "two/server/port"), "utf8").trim();
    const whoami = await send(`http://127.0.0.1:${port}`, "GET", "/v1/whoami", cookie);
    expect(await whoami.json()).toMatchObject({ email: "ann@example.com" });
    const atHome = { SERVICE_HOME: join(home, "alone"), SERVICE_METRICS_TOKEN: METRICS_TOKEN };
    await using alone = runProcess({ ...env, ...atHome, SERVICE_ROLES: "gateway" });
    const at = await alone.printed(/"url":"(http:[^"]+)"/);
    expect(await (await send(at, "GET", "/ready", "")).json()).toEqual({ status: "ready" });
    expect(await (await send(at, "GET", "/metrics", "")).text()).toContain("appdb_gateway_in_flight 0");
    expect((await fetch(`${at}/metrics`)).status).toBe(401);
    expect((await send(at, "GET", "/about", "")).status).toBe(404);
  });

  test("restarts a killed gateway, and adopts the gateway of a killed server", async () => {
    database = await createTestDatabase();
    const settings = { SERVICE_PODS: "process", SERVICE_METRICS_TOKEN: METRICS_TOKEN };
    const env = { SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...settings };
    const gateway = () => findLockOwner(join(home, "server", "locks"), "gateway.")?.pid;
    const isOver = (pid: number) => identifyProcess(pid) === undefined;
    let last: number;
    {
      await using server = runProcess(env);
      const url = await address(server);
      const first = gateway() ?? 0;
      const health = async () => {
        const answer = await send(url, "GET", "/health", "");
        const { problems } = (await answer.json()) as { problems: { code: string; since: string }[] };
        return [answer.status, problems.map(({ code }) => code)];
      };
      const ofPods = [process.getuid?.() === 0 ? "pods_run_as_root" : "pods_not_isolated"];
      process.kill(first, "SIGSTOP");
      await expect.poll(health).toEqual([503, [...ofPods, "gateway_down"]]);
      // a hanging gateway holds its ports, so it is killed automatically
      await server.printed(/"the gateway does not answer; killing and restarting it"/);
      await server.printed(/"the gateway ended; starting it again"/);
      await expect.poll(health).toEqual([200, ofPods]);
      for (const words of ["began", "ended"]) {
        // its answer may arrive before its log
        await server.printed(new RegExp(`"code":"gateway_down".*"a problem of the server ${words}"`));
      }
      expect(server.output()).toMatch(/"signal":"SIGKILL".*"the gateway ended; starting it again"/);
      last = gateway() ?? 0;
      const metrics = await (await send(url, "GET", "/metrics", "")).text();
      for (const line of ["appdb_gateway_up 1", "appdb_gateway_in_flight 0"]) expect(metrics).toContain(line);
      const names = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
      expect(names).toHaveLength(new Set(names).size);
      server.kill("SIGKILL");
      await server.ended();
    }
    {
      await using server = runProcess(env);
      await address(server);
      expect(gateway()).toBe(last);
      server.kill("SIGKILL");
      await server.ended();
    }
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const port = String((taken.address() as AddressInfo).port);
    await using failing = runProcess({ ...env, SERVICE_PORT: port, SERVICE_ROLES: "control-plane,gateway" });
    expect(await failing.ended()).toBe(1);
    taken.close();
    expect(gateway(), "an adopted gateway survives a failed start of the server").toBe(last);
    await using server = runProcess({ ...env, SERVICE_ACCESS_LOG: "all", SERVICE_KEEP_PODS: "1" });
    await address(server);
    expect(isOver(last), "a gateway with other settings is not adopted").toBe(true);
    last = gateway() ?? 0;
    server.kill("SIGTERM");
    expect(await server.ended()).toBe(0);
    expect(isOver(last), "the gateway of kept pods has ended").toBe(false);
    // rename first: the server may write into the folder, which would prevent its removal
    renameSync(home, `${home}.gone`);
    await removeFolder(`${home}.gone`);
    await expect.poll(() => isOver(last)).toBe(true);
  }, 180_000);

  test("does not start if its gateway cannot, and says why", async () => {
    database = await createTestDatabase();
    const tls = { SERVICE_TLS_CERT: join(home, "none.pem"), SERVICE_TLS_KEY: join(home, "none.key") };
    const roles = { SERVICE_ROLES: "control-plane,gateway", SERVICE_DOMAIN: "apps.example.com" };
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...roles, ...tls });
    expect(await server.ended()).toBe(1);
    expect(server.output()).toMatch(/error: .*none\.pem/);
  });

  test("finishes running requests when it stops, and accepts no more", async () => {
    database = await createTestDatabase();
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...ALONE });
    const url = await address(server);
    const cookie = await begin(server);
    const holder = await hold(database.dsn);
    const waiting = send(url, "PATCH", "/v1/orgs/acme", cookie, { display_name: "Acme" });
    await untilWaiting(holder);
    server.kill("SIGTERM");
    await server.printed(/the server is stopping/);
    // of an impatient user, or of a supervisor and its terminal at once
    server.kill("SIGINT");
    server.kill("SIGTERM");
    await server.printed(/"first":"SIGTERM","msg":"a stop was requested already: this signal has no effect"/);
    await expect
      .poll(() =>
        send(url, "GET", "/health", "").then(
          () => "answered",
          () => "refused",
        ),
      )
      .toBe("refused");
    await holder.query("commit");
    await holder.end();
    const answer = await waiting;
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ display_name: "Acme" });
    expect(await server.ended()).toBe(0);
  });

  test("reports a PostgreSQL that is killed during a request, and continues when it is back", async () => {
    await using postgres = await startTestPostgres();
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_DATABASE_URL: postgres.dsn, ...ALONE });
    const url = await address(server);
    const cookie = await begin(server);
    const holder = await hold(postgres.dsn);
    const waiting = send(url, "PATCH", "/v1/orgs/acme", cookie, { display_name: "Never" });
    await untilWaiting(holder);
    await postgres.kill();
    const answer = await waiting;
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: "database_unavailable" });
    expect((await send(url, "GET", "/ready", "")).status).toBe(503);
    await expect.poll(async () => (await send(url, "GET", "/health", "")).status).toBe(503);
    await postgres.start();
    await expect.poll(async () => (await send(url, "GET", "/ready", "")).status).toBe(200);
    const org = await send(url, "GET", "/v1/orgs/acme", cookie);
    expect(await org.json()).toMatchObject({ display_name: "acme" });
  });

  test("is refused if the home has a server with the same role", async () => {
    database = await createTestDatabase();
    const env = { SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...ALONE };
    await using server = runProcess(env);
    await address(server);
    await using second = runProcess(env);
    expect(await second.ended()).toBe(1);
    expect(second.output()).toContain(`with the role control-plane: process ${server.pid}`);
  });

  test("is refused on a copy of a home in use, and leaves the original's gateway alone", async () => {
    database = await createTestDatabase();
    const env = { SERVICE_DATABASE_URL: database.dsn, SERVICE_ROLES: "control-plane,gateway" };
    await using server = runProcess({ ...env, SERVICE_HOME: home });
    await address(server);
    const gateway = findLockOwner(join(home, "server", "locks"), "gateway.")?.pid;
    const copy = `${home}-copy`;
    onTestFinished(() => removeFolder(copy));
    cpSync(home, copy, { recursive: true });
    await using second = runProcess({ ...env, SERVICE_HOME: copy });
    expect(await second.ended()).toBe(1);
    expect(second.output()).toContain(`The home ${copy} is a copy of ${home}, which is in use by process`);
    expect(second.output()).toContain(`Stop the server of ${home}`);
    expect(findLockOwner(join(home, "server", "locks"), "gateway.")?.pid).toBe(gateway);
  });

  test("ends when its home is removed, so that another server can use it", async () => {
    database = await createTestDatabase();
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_DATABASE_URL: database.dsn, ...ALONE });
    await address(server);
    await removeFolder(home);
    expect(await server.ended()).toBe(0);
    expect(server.output()).toMatch(/"reason":"the home was removed","msg":"the server is stopping"/);
  });

  test("names the setting if PostgreSQL does not answer", async () => {
    const url = "postgresql://nobody@127.0.0.1:1/control";
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_DATABASE_URL: url, ...ALONE });
    expect(await server.ended()).toBe(1);
    expect(server.output()).toMatch(
      /error: The PostgreSQL of SERVICE_DATABASE_URL cannot be used: connect ECONNREFUSED/,
    );
    expect(server.output()).not.toContain("    at ");
  });

  test("reports all invalid settings and starts nothing", async () => {
    await using server = runProcess({ SERVICE_HOME: home, SERVICE_PORT: "x", SERVICE_SIGN_UP: "all" });
    expect(await server.ended()).toBe(1);
    expect(server.output()).toMatch(/error: .*SERVICE_PORT.*SERVICE_SIGN_UP/);
    expect(server.output()).toContain("hint: ");
  });
});
