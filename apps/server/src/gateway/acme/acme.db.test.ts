import { mkdtempSync, rmSync, statSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type PeerCertificate } from "node:tls";
import { Secret } from "@appdb/system/secret";
import { eventually } from "@appdb/testkit/eventually";
import { findFreePorts } from "@appdb/testkit/free-ports";
import { aManifest } from "@appdb/testkit/manifest-builder";
import { PEBBLE_BINDING, type Pebble, pebbleProblem, startPebble } from "@appdb/testkit/pebble";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addRelease } from "../../control-plane/services/releases.ts";
import { findService } from "../../control-plane/services/services-store.ts";
import { createNotifications } from "../../database/notifications.ts";
import { openControlDatabase } from "../../database/pool.ts";
import { createKeySnapshots } from "../../edge/key-snapshots.ts";
import { makeDatabase } from "../../testing/databases.ts";
import { openServer, type TestServer, testMasterKey } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { openTestGateway } from "../../testing/test-gateway.ts";

const DOMAIN = "apps.test";
const why = pebbleProblem();
const METRICS_TOKEN = "a-token-of-the-operator-that-is-long-enough";

describe.skipIf(why !== undefined)("ordered certificates", () => {
  let server: TestServer;
  let people: TestPeople;
  let folder: string;
  let port: number;
  let httpPort: number;
  let lasting: Pebble;
  const log = createSilentLog();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "appdb-acme-"));
    [port = 0, httpPort = 0] = await findFreePorts(2);
    [server, lasting] = await Promise.all([
      openServer({ env: { SERVICE_METRICS_TOKEN: METRICS_TOKEN } }),
      startPebble({ tls_port: port, http_port: httpPort }),
    ]);
    people = await makePeople(server);
  }, 90_000);
  afterAll(async () => {
    await lasting?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  function settings(pebble: Pebble, more: { http_port?: number; with_binding?: boolean } = {}) {
    const eab =
      more.with_binding === true ? { kid: PEBBLE_BINDING.kid, key: new Secret(PEBBLE_BINDING.key) } : undefined;
    const { directory, ca_file: caFile } = pebble;
    return {
      domain: DOMAIN,
      host: "127.0.0.1",
      port,
      tls: undefined,
      acme: { directory, ca_file: caFile, eab, email: "ops@apps.test", http_port: more.http_port },
    };
  }

  async function stored() {
    const { rows } = await sql<{
      host: string;
      chain: string | null;
      version: number;
      failure: string | null;
      text: string;
    }>`
      select host, chain, version, failure, c::text as text from control.gateway_certificates c order by host`.execute(
      server.deps.db,
    );
    return rows;
  }

  /** The host's certificate state as shown to a person. */
  async function told(pebble: Pebble) {
    const config = { gateway: { ...server.deps.config.gateway, ...settings(pebble) } };
    return (await findService({ db: server.deps.db, config }, people.org, "main", "ingest")).certificate;
  }

  /** The certificate in a client's handshake. */
  async function shown(servername: string, more: ConnectionOptions = {}, to = port): Promise<PeerCertificate> {
    return await new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: to, servername, ca: lasting.root, ...more }, () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
      socket.on("error", reject);
    });
  }

  async function get(host: string, headers: Record<string, string>): Promise<number> {
    return await new Promise((resolve, reject) => {
      const about = { host: "127.0.0.1", port, path: "/ingest/docs", ca: lasting.root, servername: host, agent: false };
      const call = request({ ...about, headers: { host, ...headers } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      call.on("error", reject).end();
    });
  }

  test("a host of a database with a service gets one without a second port; others get none", async () => {
    await using gateway = await openTestGateway(server, { config: settings(lasting), deps: { log } });
    const key = await makeKey(server, people.org, people.owner, { name: "caller" });
    const id = await makeDatabase(server, people.org);
    const empty = await makeDatabase(server, people.org, { name: "empty" });
    const hostOf = (database: string) =>
      eventually(() => {
        const label = gateway.table.byId(database)?.label;
        expect(label).toBeDefined();
        return `${label}.${DOMAIN}`;
      });
    const host = await hostOf(id);
    const service = await gateway.makeService(people.org, id);
    const release = { app_file: "app.py", manifest: aManifest(), workers: 1, changes: [], created_by: "ann" };
    await server.deps.db
      .transaction()
      .execute((tx) => addRelease(tx, service.id, { tree: null, environment: null, ...release }));
    await gateway.runPod(service, 1);
    await gateway.serve(service, 1);
    // host-certificates.test.ts checks how long a handshake waits; an order may take longer on a busy machine
    await eventually(async () => expect(await get(host.toUpperCase(), { host, "x-api-key": key })).toBe(200), {
      timeout_ms: 45_000,
    });
    expect(await get(host, { "x-api-key": key })).toBe(200);
    await expect(shown(`made-up.${DOMAIN}`)).rejects.toThrow(/handshake failure/);
    await expect(shown(await hostOf(empty))).rejects.toThrow(/handshake failure/);
    const rows = await eventually(async () => {
      const found = await stored();
      expect(found[0]?.chain).toContain("BEGIN CERTIFICATE");
      return found;
    });
    expect(rows.map((row) => row.host)).toEqual([host]);
    expect(rows[0]?.text).not.toContain("PRIVATE KEY");
    expect(gateway.problems()).toEqual([]);
    const validTo = new Date((await shown(host)).valid_to).toISOString();
    expect(await told(lasting)).toMatchObject({ state: "good", expires_at: validTo, error: null });
    const metrics = await gateway.metrics.metrics();
    expect(metrics).toContain('appdb_gateway_certificates{state="good"} 1');
    expect(metrics).toContain('appdb_gateway_certificate_orders_total{outcome="issued"} 1');
    expect(metrics).not.toContain(host);
    expect(log.lines.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
    await sql`delete from control.databases where id = ${empty}`.execute(server.deps.db);
  });

  test("another gateway uses the same one without an order, and keeps it for a start without PostgreSQL", async () => {
    const [otherPort = 0] = await findFreePorts(1);
    const config = { ...settings(lasting), port: otherPort };
    const [before] = await stored();
    const host = before?.host ?? "";
    const stateFile = join(folder, "gateway.json");
    const serial = await (async () => {
      await using _first = await openTestGateway(server, { config, deps: { state_file: stateFile } });
      return (await shown(host, {}, otherPort)).serialNumber;
    })();
    expect((await stored())[0]).toEqual(before);
    expect(statSync(stateFile).mode & 0o077).toBe(0);
    const quiet = createSilentLog();
    await using down = openControlDatabase("postgresql:///none?host=/nowhere", quiet);
    await using notifications = createNotifications(down.pool.options, quiet);
    const { config: serverConfig } = server.deps;
    const masterKey = testMasterKey(serverConfig);
    const snapshots = createKeySnapshots({ db: down.db, log: quiet, notifications, master_key: masterKey });
    const deps = { state_file: stateFile, db: down.db, notifications, snapshots, log: quiet };
    await using _second = await openTestGateway(server, { config, deps });
    expect((await shown(host, {}, otherPort)).serialNumber).toBe(serial);
  });

  test("a new authority is used at once; renewal is in time; an expired certificate is reported", async () => {
    await using passing = await startPebble({ tls_port: 1, http_port: httpPort, life_s: 20, needs_binding: true });
    const said = createSilentLog();
    const [before] = await stored();
    const host = before?.host ?? "";
    await using gateway = await openTestGateway(server, {
      config: settings(passing, { http_port: httpPort, with_binding: true }),
      deps: { log: said, certificates: { retry: { first_s: 0.2, max_s: 0.5 } } },
    });
    const look = (rejectUnauthorized = true) => shown(host, { ca: passing.root, rejectUnauthorized });
    let latest = await eventually(() => look(), { timeout_ms: 60_000, interval_ms: 100 });
    // a busy machine may be late with one of them
    await eventually(
      async () => {
        const [former, found] = [latest, await look(false)];
        latest = found;
        expect(found.serialNumber).not.toBe(former.serialNumber);
        expect(Date.parse(found.valid_from), "Expected a renewal in time.").toBeLessThanOrEqual(
          Date.parse(former.valid_to),
        );
      },
      { timeout_ms: 120_000, interval_ms: 100 },
    );
    passing.setNamesFound(false);
    await eventually(() => expect(look()).rejects.toMatchObject({ code: "CERT_HAS_EXPIRED" }), {
      timeout_ms: 60_000,
      interval_ms: 200,
    });
    const refused = "a host's certificate has expired and could not be renewed: clients refuse it";
    await eventually(() => expect(said.lines.map(({ message }) => message)).toContain(refused), {
      timeout_ms: 20_000,
    });
    server.deps.problems.push(() => gateway.problems());
    const { json } = await server.send("GET", "/health", { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
    const ended = "The certificates of 1 hosts of the gateway have expired.";
    expect(json.problems).toMatchObject([{ code: "certificate_ended", what: ended, since: expect.any(String) }]);
    expect(await gateway.metrics.metrics()).toContain('appdb_gateway_certificates{state="ended"} 1');
    expect((await stored())[0]?.failure).toContain(host);
    expect(await told(passing)).toMatchObject({ state: "ended", error: expect.stringContaining(host) });
    // an order before the authority refused may have failed on a busy machine: that is a failure of its own
    const events = server.deps.db.selectFrom("control.events").select(["org_id", "outcome"]).distinct();
    expect(await events.where("action", "=", "certificate.failed").execute()).toEqual([
      { org_id: people.org.id, outcome: "failed" },
    ]);
    expect(JSON.stringify(said.lines)).not.toContain(PEBBLE_BINDING.key);
    passing.setNamesFound(true);
    await eventually(() => look(), { timeout_ms: 60_000, interval_ms: 50 });
    await eventually(() => expect(gateway.problems()).toEqual([]), { timeout_ms: 20_000 });
    const plain = (path: string, asked: string, method = "GET") =>
      new Promise<[number, string | undefined]>((resolve, reject) => {
        const headers = { host: asked };
        requestHttp({ host: "127.0.0.1", port: httpPort, path, method, headers, agent: false }, (answer) => {
          answer.resume();
          resolve([answer.statusCode ?? 0, answer.headers.location]);
        })
          .on("error", reject)
          .end();
      });
    expect(await plain("/ingest/docs?a=b", host)).toEqual([308, `https://${host}:${port}/ingest/docs?a=b`]);
    expect(await plain("/x", `made-up.${DOMAIN}`)).toEqual([308, `https://made-up.${DOMAIN}:${port}/x`]);
    expect(await plain("/x", "evil.test")).toEqual([404, undefined]);
    expect(await plain("/x", host, "POST")).toEqual([404, undefined]);
    expect(await plain("/.well-known/acme-challenge/none", host)).toEqual([404, undefined]);
  }, 400_000);
});
