import { type ClientRequest, request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import type { PsqlSessionLine } from "@appdb/contract/routes/psql";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { tcpDsn } from "@appdb/postgres/client/socket-dsn";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 180_000;
const ROLES = "select count(*) from pg_roles where rolname like 'psql\\_%'";

let pods: TestPods;
let pod: StartedPod;
let spec: DatabasePodSpec;

beforeAll(async () => {
  pods = openTestPods();
  spec = await pods.spec();
  pod = pods.start(spec);
  await pod.ready();
}, TIMEOUT);
afterAll(async () => {
  await pods[Symbol.asyncDispose]();
});

function send(path: string, type: string): ClientRequest {
  const headers = { authorization: `Bearer ${spec.token}`, "content-type": type };
  return request({ socketPath: join(spec.run_folder, "pod.sock"), method: "POST", path, headers, agent: false });
}

/** A session, and a port that leads to its connections as that of the command does. */
async function openSession(path = "/v1/psql") {
  const held = send(path, "application/json");
  held.on("error", () => undefined);
  const session = await new Promise<PsqlSessionLine>((resolve, reject) => {
    held.on("response", (response) => {
      response.on("error", () => undefined);
      const lines = createInterface({ input: response }).once("line", (line) => resolve(JSON.parse(line)));
      // the test ends the response
      lines.on("error", () => undefined);
    });
    held.once("error", reject);
    held.end("{}");
  });
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    const tunnel = send(`/v1/psql/${session.session}`, "application/octet-stream");
    tunnel.on("error", () => socket.destroy());
    tunnel.on("response", (response) => {
      response.on("error", () => socket.destroy());
      response.pipe(socket);
    });
    tunnel.flushHeaders();
    socket.pipe(tunnel);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dsnOf = (user: string, password: string) =>
    tcpDsn({ host: "127.0.0.1", port, database: session.database, user, password });
  const pool = createPgPool({
    dsn: dsnOf(session.user, session.password),
    max: 2,
    application_name: "test",
    log: createSilentLog(),
  });
  return {
    ...session,
    query: async (text: string) => (await pool.query({ text })).rows,
    as: (user: string, password: string) =>
      createPgPool({ dsn: dsnOf(user, password), max: 1, application_name: "test", log: createSilentLog() }),
    leave: () => held.destroy(),
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      held.destroy();
      server.close();
    },
  };
}

test("a session carries bytes in both directions, also many", { timeout: TIMEOUT }, async () => {
  await using session = await openSession();
  expect(await session.query("select current_user")).toEqual([[session.user]]);
  const [[long] = []] = await session.query("select repeat('x', 20000000)");
  expect(long?.length).toBe(20_000_000);
  const [[counted] = []] = await session.query(`select length('${"y".repeat(1_900_000)}')`);
  expect(counted).toBe("1900000");
  await expect(session.query(`select length('${"y".repeat(2_000_000)}')`)).rejects.toBeDefined();
  expect(await session.query("select 1")).toEqual([["1"]]);
});

test("only the role of the session connects, with its password", { timeout: TIMEOUT }, async () => {
  await using session = await openSession();
  for (const [user, password] of [
    ["postgres", session.password],
    ["appdb_owner", session.password],
    [session.user, "wrong"],
  ] as const) {
    await using other = session.as(user, password);
    await expect(other.query({ text: "select 1" })).rejects.toMatchObject({ code: "database_unavailable" });
  }
  const unknown = await pod.ask("POST", "/v1/psql/0123", "", { "content-type": "application/octet-stream" });
  expect([unknown.status, unknown.json()["code"]]).toEqual([404, "not_found"]);
});

test("the role ends with its client, and with the next start after a crash", { timeout: TIMEOUT }, async () => {
  await using watcher = await openSession();
  const left = await openSession("/v1/psql/write");
  expect(await watcher.query(ROLES)).toEqual([["2"]]);
  left.leave();
  await eventually(async () => expect(await watcher.query(ROLES)).toEqual([["1"]]));
  pod.child.kill("SIGKILL");
  await pod.ended();
  pod = pods.start(spec);
  await pod.ready();
  await using after = await openSession();
  await eventually(async () => expect(await after.query(ROLES)).toEqual([["1"]]));
});
