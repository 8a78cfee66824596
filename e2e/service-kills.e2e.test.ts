import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type Started, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startHosted } from "./support/hosted.ts";
import { INSERTED_APP, type Inserters, startInserters } from "./support/inserters.ts";
import { commandOf, descendants } from "./support/process-tree.ts";
import { connectCluster, editFile, expectExit, makeProject, post } from "./support/served.ts";
import { kill, seeded } from "./support/victims.ts";

/** All cells with `npm run test:faults`; otherwise one per victim, selected by `APPDB_SEED`. */
const LONG = process.env.APPDB_FAULTS === "long";
const seed = Number(process.env.APPDB_SEED ?? 1);
const MAIN = "cloud://acme:main";
const INGEST = `${MAIN}/ingest`;
const CLIENTS = 4;
const PAUSE_MS = 10;
const CONNECTIONS = 10_000;

const VICTIMS = ["gateway", "service pod", "worker", "PostgreSQL", "database pod", "control plane"] as const;
type Victim = (typeof VICTIMS)[number];
/** Operation during which the victim is killed. */
const WHILE = ["load", "service update", "service restart", "db restart"] as const;
const CELLS = VICTIMS.flatMap((victim) => WHILE.map((during) => ({ victim, during })));
const random = seeded(seed);
const chosen = LONG
  ? CELLS
  : VICTIMS.map((victim) => ({ victim, during: WHILE[Math.floor(random() * WHILE.length)] ?? "load" }));

/** A normally started server, whose gateway is a separate process: neither stops the other. */
describe("a service under constant load", () => {
  let project: TestProject;
  let server: Started;
  let key: string;
  let address: string;
  let inserters: Inserters;
  const told: string[] = [];

  beforeAll(async () => {
    project = await makeProject(INSERTED_APP);
    const hosted = await startHosted(project);
    server = hosted.server;
    await hosted.setUp("ann@example.com");
    expect(await hosted.browse("POST", "/v1/orgs", { name: "acme" })).toMatchObject({ status: 201 });
    key = (await hosted.browse("POST", "/v1/orgs/acme/keys", { name: "backend" })).json.api_key;
    project.env.SERVICE_API_KEY = key;
    await settled("db", "status", MAIN);
    await expectExit(project, 0, "deploy", "app.py", MAIN, "-f");
    address = (await list())[0]?.endpoint ?? "";
    await eventually(async () => expect((await insert("first")).status).toBe(200), { timeout_ms: 60_000 });
    inserters = startInserters(`${address}/docs`, CLIENTS, { "x-api-key": key }, PAUSE_MS);
  });
  afterAll(async () => {
    await inserters?.stop();
    await project?.[Symbol.asyncDispose]();
    process.stdout.write(
      `\n| killed | while | seconds | not answered by a row |\n|---|---|---|---|\n${told.join("\n")}\n`,
    );
  });

  const insert = (token: string) => post(`${address}/docs`, { token }, { "x-api-key": key });
  const json = async (...words: string[]) => JSON.parse((await expectExit(project, 0, ...words, "--json")).stdout);
  const list = async () => (await json("service", "list", MAIN)).services;
  const settled = (...words: string[]) =>
    eventually(async () => expect(await json(...words)).toMatchObject({ state: "AVAILABLE", operation: null }), {
      timeout_ms: 60_000,
    });

  /** The holder of the gateway's lock. */
  const gatewayPid = () => findLockOwner(join(project.home, "server", "locks"), "gateway.")?.pid ?? 0;

  /** Processes of pods that a pod driver recorded. */
  function podPids(kind: "db" | "svc"): number[] {
    const folder = join(project.home, "server", "pods");
    return readdirSync(folder)
      .filter((name) => name.startsWith(`${kind}-`))
      .flatMap((name) => {
        const file = join(folder, name, "pod.json");
        const { process: found } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { process: null };
        return found === null ? [] : [found.pid as number];
      });
  }

  function find(victim: Victim): number[] {
    if (victim === "gateway") return [gatewayPid()];
    if (victim === "control plane") return [server.child.pid ?? 0];
    if (victim === "service pod") return podPids("svc");
    if (victim === "database pod") return podPids("db");
    const below = descendants(podPids(victim === "worker" ? "svc" : "db"));
    const wanted = victim === "worker" ? /\bappdb\.worker\b/ : /\/bin\/postgres .*-D /;
    return below.filter((pid) => wanted.test(commandOf(pid)));
  }

  async function stored(): Promise<Map<string, number>> {
    const databases = join(project.home, "server", "databases");
    const [id = ""] = readdirSync(databases);
    const client = await connectCluster(join(databases, id, "data", "postgres"), "main");
    try {
      const { rows } = await client.query("select token, count(*)::int as times from docs group by token");
      return new Map(rows.map(({ times, token }) => [token, times]));
    } finally {
      await client.end();
    }
  }

  /** Checks that the service responds with each acknowledged row once. */
  async function isSound(): Promise<void> {
    const { acknowledged } = inserters.outcome;
    const before = acknowledged.size;
    await eventually(() => expect(acknowledged.size, "no row is answered any more").toBeGreaterThan(before + 20), {
      timeout_ms: 40_000,
    });
    await eventually(
      async () => expect(await list()).toMatchObject([{ state: "AVAILABLE", operation: null, endpoint: address }]),
      { timeout_ms: 40_000 },
    );
    const wanted = [...acknowledged.keys()];
    const found = await eventually(stored, { timeout_ms: 60_000 });
    expect(wanted.filter((token) => found.get(token) !== 1)).toEqual([]);
  }

  /** Starts an operation during the load; an interrupted one is repeated once the victim is back. */
  async function begin(
    during: (typeof WHILE)[number],
  ): Promise<{ readonly words: readonly string[]; readonly done: Promise<number> }> {
    if (during === "service update") {
      editFile(project, "app.py", "ingest = Router()", `# ${told.length}\ningest = Router()`);
      await expectExit(project, 0, "db", "update", MAIN, "-f");
    }
    const words = {
      load: ["service", "list", MAIN],
      "service update": ["service", "update", "app.py", MAIN, "-f"],
      "service restart": ["service", "restart", INGEST],
      "db restart": ["db", "restart", MAIN],
    }[during];
    const done = project.cli(...words).then(({ code }) => code);
    // after the command has started and before it has ended
    await new Promise((resolve) => setTimeout(resolve, 100 + random() * 500));
    return { words, done };
  }

  async function isServedMeanwhile(): Promise<void> {
    const { acknowledged, refused, unknown } = inserters.outcome;
    const [failed, before] = [refused.size + unknown.size, acknowledged.size];
    await eventually(() => expect(acknowledged.size).toBeGreaterThan(before + 50), { timeout_ms: 60_000 });
    expect([...refused, ...unknown].slice(failed)).toEqual([]);
  }

  test.each(chosen.map(({ victim, during }) => [victim, during] as const))(
    "recovers from a kill of the %s during %s with every row once",
    { timeout: 180_000 },
    async (victim, during) => {
      const since = Date.now();
      const { refused, unknown } = inserters.outcome;
      const failed = refused.size + unknown.size;
      const { words, done } = await begin(during);
      const gateway = gatewayPid();
      await eventually(() => expect(find(victim).map(kill), `no ${victim} runs`).toContain(true), {
        timeout_ms: 60_000,
      });
      if (victim === "control plane") {
        if (during === "load" || during === "service update") await isServedMeanwhile();
        server = await startServer();
        expect(gatewayPid(), "the gateway was another one's before").toBe(gateway);
      }
      if ((await done) !== 0) await eventually(() => expectExit(project, 0, ...words), { timeout_ms: 60_000 });
      await isSound();
      const lost = refused.size + unknown.size - failed;
      told.push(`| ${victim} | ${during} | ${((Date.now() - since) / 1_000).toFixed(1)} | ${lost} |`);
    },
  );

  test("ten thousand idle connections use little memory and block no one", {
    timeout: 180_000,
  }, async () => {
    const { hostname, port } = new URL(address);
    const before = residentBytes(gatewayPid());
    const idle: Socket[] = [];
    try {
      while (idle.length < CONNECTIONS) {
        // connections per address are limited
        const localAddress = `127.0.1.${1 + idle.length / 500}`;
        const more = Array.from({ length: 500 }, () => connect({ port: Number(port), host: hostname, localAddress }));
        idle.push(...more);
        await Promise.all(more.map((socket) => once(socket, "connect")));
      }
      for (let row = 0; row < 20; row += 1) expect((await insert(`beside the idle ${row}`)).status).toBe(200);
      expect(idle.filter(({ destroyed }) => destroyed)).toEqual([]);
      expect(residentBytes(gatewayPid()) - before).toBeLessThan(400_000_000);
    } finally {
      for (const socket of idle) socket.destroy();
    }
  });

  test("of two concurrent updates both end and the later one is reported", {
    timeout: 180_000,
  }, async () => {
    editFile(project, "app.py", "return text.upper()", 'return text.upper() + "!"');
    await expectExit(project, 0, "db", "update", MAIN, "-f");
    const before = (await list())[0].release;
    const both = await Promise.all([1, 2].map(() => project.cli("service", "update", "app.py", MAIN, "-f", "--json")));
    expect(both.map(({ code }) => code)).toContain(0);
    for (const { code, stdout } of both)
      if (code !== 0) expect(JSON.parse(stdout)).toMatchObject({ code: "generation_moved" });
    expect(await list()).toMatchObject([{ state: "AVAILABLE", release: before + 1, operation: null }]);
    expect((await insert("b")).json).toMatchObject({ shout: "B!" });
  });

  test("replaces a port taken by another program and lists the new one", {
    timeout: 180_000,
  }, async () => {
    await inserters.stop();
    // no process starts a new one before the port is taken
    process.kill(server.child.pid ?? 0, "SIGSTOP");
    const taken = createServer();
    try {
      expect(kill(gatewayPid())).toBe(true);
      await eventually(async () => {
        taken.listen(Number(new URL(address).port), "127.0.0.1");
        await once(taken, "listening");
      });
      process.kill(server.child.pid ?? 0, "SIGCONT");
      const other = await eventually(async () => {
        const { endpoint } = (await list())[0];
        expect(endpoint).not.toBe(address);
        return endpoint;
      });
      address = other;
      expect((await insert("c")).status).toBe(200);
      expect(server.output()).toMatch(/"level":"warn".*"msg":"a database gets another port/);
    } finally {
      taken.close();
    }
  });

  /** Starts the server as its operator does; it adopts existing pods. */
  async function startServer(): Promise<Started> {
    const started = project.start(`node '${join(ROOT, "dist", "server.js")}'`);
    await eventually(() => expect(started.output()).toMatch(/^Dashboard: /m), { timeout_ms: 60_000 });
    return started;
  }
});

function residentBytes(pid: number): number {
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}
