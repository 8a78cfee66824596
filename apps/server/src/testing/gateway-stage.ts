import { mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import { Registry } from "prom-client";
import type { GatewayConfig, GatewayLimits } from "../config/config-gateway.ts";
import { type Gateway, type GatewayDeps, startGateway } from "../gateway/gateway.ts";
import { createLocateVolume } from "../pods/locate-volume.ts";
import { servicePod } from "../pods/service-paths.ts";
import { type MadeDatabase, makeDatabase } from "./databases.ts";
import { type TestServer, testMasterKey } from "./open-server.ts";
import type { TestOrg, TestPerson } from "./people.ts";

/** A gateway of a test server's database, with plain servers as pods. */
export interface GatewayStage extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly metrics: Registry;
  /** Creates a database of the organization. Resolves once the gateway serves it. */
  makeDatabase(org: TestOrg, made?: MadeDatabase): Promise<{ readonly id: string; readonly url: string }>;
  /** Like `makeDatabase`, without waiting for an address. */
  addDatabase(org: TestOrg, made?: MadeDatabase): Promise<string>;
  /** Creates a service of the database that does not run. */
  makeService(org: TestOrg, databaseId: string, name: string): Promise<string>;
  /** Runs an instance, which answers with its name and the request. */
  runPod(
    service: { readonly id: string; readonly database_id: string },
    instance: number,
    answer?: Answer,
  ): Promise<StubPod>;
  /** Routes requests to the instance. */
  serve(serviceId: string, instance: number | null): Promise<void>;
  makeKey(org: TestOrg, as: TestPerson, name: string, grants?: readonly string[]): Promise<string>;
}

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

export interface StubPod extends AsyncDisposable {
  readonly link_socket: string;
  readonly requests: readonly IncomingMessage[];
  /** Stops accepting connections. Resolves when all have ended. */
  drain(): Promise<void>;
}

export async function openGatewayStage(
  server: TestServer,
  given: {
    readonly config?: Partial<Omit<GatewayConfig, "limits">>;
    readonly limits?: Partial<GatewayLimits>;
    readonly deps?: Partial<GatewayDeps>;
  } = {},
): Promise<GatewayStage> {
  const { config, db } = server.deps;
  const paths = { home: server.home, runtime_base: undefined };
  const locate = createLocateVolume(paths);
  const metrics = new Registry();
  const gateway = await startGateway({
    ...server.deps,
    metrics,
    master_key: testMasterKey(config),
    ...given.deps,
    paths,
    pod_access: createLocalAccess(locate),
    config: { ...config.gateway, ...given.config, limits: { ...config.gateway.limits, ...given.limits } },
  });
  const pods = new Set<StubPod>();
  return {
    gateway,
    metrics,
    async makeDatabase(org, made) {
      const id = await makeDatabase(server, org, made);
      return { id, url: await addressOf(server, id) };
    },
    addDatabase: (org, made) => makeDatabase(server, org, made),
    async makeService(org, databaseId, name) {
      const desired = { release: 1, is_running: true, restarts: 0 };
      const row = await db
        .insertInto("control.services")
        .values({ org_id: org.id, database_id: databaseId, name, desired: JSON.stringify(desired) })
        .returning("id")
        .executeTakeFirstOrThrow();
      return row.id;
    },
    async runPod(service, instance, answer = answerInstance(instance)) {
      const pod = await startPod(locate({ kind: "sockets", pod: servicePod(service, instance) }), answer);
      pods.add(pod);
      return pod;
    },
    async serve(serviceId, instance) {
      const observed = instance === null ? null : JSON.stringify({ release: 1, restarts: 0, instance });
      await db
        .updateTable("control.services")
        .set({ observed, state: instance === null ? "STOPPED" : "AVAILABLE" })
        .where("id", "=", serviceId)
        .execute();
    },
    async makeKey(org, as, name, grants) {
      const body = { name, ...(grants === undefined ? {} : { grants }) };
      const made = await server.ask("keyCreate", { as, params: { org: org.name }, body } as never);
      if (made.status !== 201) throw new Error(made.text);
      return made.json.api_key;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      for (const pod of pods) await pod[Symbol.asyncDispose]();
    },
  };
}

async function addressOf(server: TestServer, id: string): Promise<string> {
  for (;;) {
    const row = await server.deps.db
      .selectFrom("control.databases")
      .select("gateway_port")
      .where("id", "=", id)
      .executeTakeFirst();
    if (row?.gateway_port != null) return `http://127.0.0.1:${row.gateway_port}`;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function answerInstance(instance: number): Answer {
  return (req, res) => {
    let body = "";
    req.on("data", (chunk) => (body += chunk));
    req.on("end", () => {
      res.setHeader("content-type", "application/json");
      res.end(JSON.stringify({ instance, method: req.method, url: req.url, headers: req.headers, body }));
    });
  };
}

async function startPod(runFolder: string, answer: Answer): Promise<StubPod> {
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  const requests: IncomingMessage[] = [];
  const server: Server = createServer({ keepAliveTimeout: 72_000 }, (req, res) => {
    requests.push(req);
    answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(join(runFolder, "http.sock"), resolve));
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= new Promise((resolve) => void server.close(() => resolve())));
  return {
    link_socket: join(runFolder, "link.sock"),
    requests,
    drain: close,
    async [Symbol.asyncDispose]() {
      const ended = close();
      server.closeAllConnections();
      await ended;
      rmSync(runFolder, { recursive: true, force: true });
    },
  };
}
