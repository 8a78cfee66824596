import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import { answerAsHttp, type HttpListener, type HttpOfLink } from "@appdb/pods/link/as-http";
import type { LinkAnswer, LinkRequest } from "@appdb/pods/link/link";
import { type LinkAsked, serveLink } from "@appdb/pods/link/serve-link";
import type { Secret } from "@appdb/system/secret";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { Registry } from "prom-client";
import { expect } from "vitest";
import type { GatewayConfig, GatewayLimits } from "../config/config-gateway.ts";
import { type Gateway, type GatewayDeps, startGateway } from "../gateway/gateway.ts";
import { databasePod } from "../pods/database-paths.ts";
import { createLocateVolume } from "../pods/locate-volume.ts";
import { ensurePodToken } from "../pods/pod-token.ts";
import { type ServiceLocation, servicePod } from "../pods/service-paths.ts";
import { serviceTokenOf } from "../pods/service-token.ts";
import { type MadeDatabase, makeDatabase } from "./databases.ts";
import { type TestServer, testMasterKey } from "./open-server.ts";
import type { TestOrg } from "./people.ts";

/** A gateway of a test server's database, with pods that the test answers for. */
export interface TestGateway extends Gateway {
  readonly metrics: Registry;
  /** Creates a database of the organization. Resolves once the gateway serves it. */
  makeDatabase(org: TestOrg, made?: MadeDatabase): Promise<{ readonly id: string; readonly url: string }>;
  /** Creates a service of the database that does not run. */
  makeService(org: TestOrg, databaseId: string, name?: string): Promise<ServiceLocation>;
  /** Runs an instance, which answers with its name and the request. */
  runPod(service: ServiceLocation, instance: number, answer?: Answer): Promise<StubPod>;
  /** Runs an instance that answers requests of the link. */
  runLinkPod(service: ServiceLocation, instance: number, handle: LinkHandler): Promise<LinkPod>;
  /** Makes the folder of an instance that the test runs itself. */
  placePod(service: ServiceLocation, instance: number): Promise<PlacedPod>;
  /** Lets the instance serve. Resolves once the gateway routes requests to it. */
  serve(service: ServiceLocation, instance: number | null): Promise<void>;
}

export type Answer = HttpListener;
export type LinkHandler = (request: LinkRequest, link: LinkAsked) => Promise<LinkAnswer>;

export interface PlacedPod {
  readonly folder: string;
  readonly link_socket: string;
  readonly token: Secret;
}

export interface LinkPod extends AsyncDisposable {
  /** Stops accepting requests. Resolves when all have ended. */
  drain(): Promise<void>;
}

export interface StubPod extends LinkPod {
  readonly requests: readonly HttpOfLink[];
}

export async function openTestGateway(
  server: TestServer,
  given: {
    readonly config?: Partial<Omit<GatewayConfig, "limits">>;
    readonly limits?: Partial<GatewayLimits>;
    readonly deps?: Partial<GatewayDeps>;
  } = {},
): Promise<TestGateway> {
  const { config, db } = server.deps;
  const paths = { home: server.home, runtime_base: undefined };
  const locate = createLocateVolume(paths);
  const metrics = new Registry();
  const gateway = await startGateway({
    ...server.deps,
    metrics,
    master_key: testMasterKey(config),
    paths,
    pod_access: createLocalAccess(locate),
    ...given.deps,
    config: { ...config.gateway, ...given.config, limits: { ...config.gateway.limits, ...given.limits } },
  });
  const pods = new Set<LinkPod>();
  const folders = new Set<string>();
  const placePod: TestGateway["placePod"] = async (service, instance) => {
    const { org_id: orgId } = await db
      .selectFrom("control.databases")
      .select("org_id")
      .where("id", "=", service.database_id)
      .executeTakeFirstOrThrow();
    const token = await ensurePodToken(server.deps, { id: service.database_id, org_id: orgId });
    // a media store is served by the database's own pod
    const isStore = service.id === service.database_id;
    const pod = isStore ? databasePod(service.database_id) : servicePod(service, instance);
    const folder = locate({ kind: "sockets", pod });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    folders.add(folder);
    return { folder, link_socket: join(folder, "link.sock"), token: serviceTokenOf(token, service.id, instance) };
  };
  const runLinkPod: TestGateway["runLinkPod"] = async (service, instance, handle) => {
    const pod = await startPod(await placePod(service, instance), handle);
    pods.add(pod);
    return pod;
  };
  return {
    ...gateway,
    metrics,
    async makeDatabase(org, made) {
      const id = await makeDatabase(server, org, made);
      return { id, url: await addressOf(server, id) };
    },
    async makeService(org, databaseId, name = "ingest") {
      const desired = { release: 1, is_running: true, restarts: 0 };
      const row = await db
        .insertInto("control.services")
        .values({ org_id: org.id, database_id: databaseId, name, desired: JSON.stringify(desired) })
        .returning("id")
        .executeTakeFirstOrThrow();
      return { id: row.id, database_id: databaseId };
    },
    placePod,
    runLinkPod,
    async runPod(service, instance, answer = answerInstance(instance)) {
      const requests: HttpOfLink[] = [];
      const { name } = await db
        .selectFrom("control.services")
        .select("name")
        .where("id", "=", service.id)
        .executeTakeFirstOrThrow();
      const pod = await runLinkPod(service, instance, (request, link) =>
        answerAsHttp(request, link, `/${name}`, (req, res) => {
          requests.push(req);
          answer(req, res);
        }),
      );
      return { ...pod, requests };
    },
    async serve({ id, database_id: databaseId }, instance) {
      const observed = instance === null ? null : JSON.stringify({ release: 1, restarts: 0, instance });
      await db
        .updateTable("control.services")
        .set({ observed, state: instance === null ? "STOPPED" : "AVAILABLE" })
        .where("id", "=", id)
        .execute();
      await eventually(() => {
        const services = gateway.table.byId(databaseId)?.services;
        expect(services?.find((service) => service.id === id)?.instance).toBe(instance);
      });
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      for (const pod of pods) await pod[Symbol.asyncDispose]();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
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

async function startPod({ folder, link_socket: socket, token }: PlacedPod, handle: LinkHandler): Promise<LinkPod> {
  const link = await serveLink({ socket, token, log: createSilentLog(), handle });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= Promise.resolve(link[Symbol.asyncDispose]()));
  return {
    async drain() {
      link.drain();
      await link.whenIdle();
      await close();
    },
    async [Symbol.asyncDispose]() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
