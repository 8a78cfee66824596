import type { Logger } from "@appdb/engine/ports";
import type { RequestTracer } from "@appdb/engine/request-tracer";
import { createDocsFiles } from "@appdb/http/docs-files";
import type { PodAccess } from "@appdb/pods/driver/pod-driver";
import { createTurnShares } from "@appdb/system/network/turn-shares";
import { withinTime } from "@appdb/system/processes/within-time";
import type { Registry } from "prom-client";
import type { RecordEvent } from "../audit/event.ts";
import type { GatewayConfig } from "../config/config-gateway.ts";
import type { Notifications } from "../database/notifications.ts";
import type { KeySnapshots } from "../edge/key-snapshots.ts";
import { createKeyUses } from "../edge/key-uses.ts";
import type { HealthProblem } from "../health/problems.ts";
import type { PodServerPaths } from "../pods/database-paths.ts";
import type { PodTokenDeps } from "../pods/pod-token.ts";
import type { MasterKey } from "../secrets/master-key.ts";
import type { MediaBucket } from "../storage/media-bucket.ts";
import { openAcmeOrders } from "./acme/acme-orders.ts";
import { CertificateStore } from "./acme/certificate-store.ts";
import { type Certificates, type CertificatesDeps, startCertificates } from "./acme/certificates.ts";
import { findByPort, openAdminSocket, readDoorForwarded } from "./admin-socket.ts";
import { addBudgetMetrics, createByteBudget } from "./admission/byte-budget.ts";
import { createConnectionBounds } from "./admission/connection-bounds.ts";
import { createOpenAnswers } from "./admission/open-answers.ts";
import { createRateLimits } from "./admission/rate-limits.ts";
import { createStrangers, STRANGER_TIMES } from "./admission/strangers.ts";
import { createIsTrusted, createReadForwarded } from "./admission/trusted-proxies.ts";
import { openChallengeServer } from "./challenge-server.ts";
import { openDomainServer } from "./domain-server.ts";
import type { Exchange } from "./exchange/exchange.ts";
import { createGatewayMetrics } from "./exchange/gateway-metrics.ts";
import { createTraffic } from "./exchange/gateway-traffic.ts";
import { createRequestCounts } from "./exchange/request-counts.ts";
import { followAnswer } from "./forward/follow-answer.ts";
import { createPodLinks } from "./forward/pod-links.ts";
import { createWaking } from "./forward/waking.ts";
import { type HandleDeps, handleRequest } from "./handle-request.ts";
import { openObjectSockets } from "./objects/object-sockets.ts";
import { createDatabaseKeys } from "./routing/database-keys.ts";
import { createDatabasePorts } from "./routing/database-ports.ts";
import { followRoutes } from "./routing/follow-routes.ts";
import { type KeptState, openKeptState } from "./routing/kept-state.ts";
import { createKnownEndpoints } from "./routing/pod-endpoints.ts";
import { createFindPodToken } from "./routing/pod-tokens.ts";
import { createRoutingTable, type RoutingTable } from "./routing/routing-table.ts";
import { createStorePermits } from "./routing/store-permits.ts";
import { createAccept, createPlainServer } from "./serve-requests.ts";
export interface GatewayDeps extends PodTokenDeps {
  readonly config: GatewayConfig;
  readonly paths: PodServerPaths;
  readonly pod_access: Pick<PodAccess, "endpoints">;
  readonly log: Logger;
  readonly notifications: Notifications;
  readonly snapshots: Pick<KeySnapshots, "publicKey" | "follow">;
  readonly recordEvent: RecordEvent;
  /** Addresses, networks and network names whose X-Forwarded-For, -Proto and -Host are trusted. */
  readonly trusted_proxies?: readonly string[];
  readonly metrics: Registry;
  /** Traces requests that are sent to services. */
  readonly tracer?: RequestTracer | undefined;
  /** State file for a start without PostgreSQL. Undefined if the gateway needs PostgreSQL to start. */
  readonly state_file?: string | undefined;
  /** The bucket of all media stores, which ends with the gateway. Undefined: they are in the home. */
  readonly bucket?: MediaBucket | undefined;
  /** Decrypts the account key of the ACME authority. */
  readonly master_key: MasterKey;
  /** For tests, which cannot wait for days. */
  readonly certificates?: Pick<CertificatesDeps, "retry" | "now">;
}

export interface Gateway extends AsyncDisposable {
  readonly table: RoutingTable;
  /** Set with a domain. */
  readonly port: number | undefined;
  /** Problems for the operator, without names of tenants. */
  problems(): HealthProblem[];
}

/** Maximum wait for running requests when the gateway stops. */
const STOP_MS = 10_000;

/** Maximum wait for writing the last uses of keys. Without PostgreSQL they are lost. */
const LAST_USES_MS = 1_000;

/** Serves the services of all databases. Resolves when every existing database has its address. */
export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { config, log, db } = deps;
  const table = createRoutingTable();
  const stored = deps.state_file === undefined ? undefined : openKeptState(deps.state_file, log);
  table.replace(stored?.databases ?? []);
  const keys = createDatabaseKeys({ ...deps, stored });
  const openAnswers = createOpenAnswers({ log, keys, table });
  const keyUses = createKeyUses(db, log);
  const budget = createByteBudget(config.limits.memory_bytes);
  const findToken = createFindPodToken(deps, stored);
  const links = createPodLinks({ log, budget, findToken });
  const endpoints = createKnownEndpoints(deps.pod_access);
  const counts = createRequestCounts(config.limits);
  const metrics = createGatewayMetrics(deps.metrics, () => counts.total);
  addBudgetMetrics(deps.metrics, budget);
  const handling: HandleDeps = {
    log,
    table,
    keys,
    permits: createStorePermits(findToken),
    open_answers: openAnswers,
    key_uses: keyUses,
    links,
    counts,
    budget,
    endpoints,
    limits: config.limits,
    tracer: deps.tracer,
    strangers: createStrangers(config.limits.client_ms * STRANGER_TIMES),
    shares: createTurnShares(),
    rates: createRateLimits(config.limits.key_rate),
    waking: createWaking({ ...deps, table }),
    docs: createDocsFiles(),
  };
  const handle = (exchange: Exchange) => handleRequest(handling, exchange);
  const { access_log: accessLog, domain } = config;
  const traffic = createTraffic({ db, log });
  const follow = (exchange: Exchange) => followAnswer(exchange, budget, config.limits);
  const accepting = { log, metrics, traffic, access_log: accessLog, handle, follow };
  const findByHost = (host: string) => table.byLabel(labelOf(host, domain ?? ""));
  const readForwarded = createReadForwarded(deps.trusted_proxies ?? []);
  const bounds = createConnectionBounds(config.limits, createIsTrusted(deps.trusted_proxies ?? []));
  const ports =
    domain === undefined
      ? createDatabasePorts({
          db,
          log,
          table,
          host: config.host,
          createServer: (id) =>
            createPlainServer(
              createAccept({ ...accepting, readForwarded, is_secure: false, findDatabase: () => table.byId(id) }),
              metrics,
              config.limits.client_ms,
              bounds,
            ),
        })
      : undefined;
  const { bucket } = deps;
  const objects = bucket === undefined ? undefined : openObjectSockets({ ...deps, bucket, table, findToken });
  let isDue = false;
  const following = await followRoutes({ ...deps, table });
  let certificates: Certificates | undefined;
  const look = () => {
    isDue = false;
    certificates?.reload();
    stored?.keepRoutes(table.all());
    const serving = endpoints.follow(table);
    links.keepOnly(new Set(serving.map(({ link }) => link)));
    return Promise.all([ports?.follow(), objects?.follow()]);
  };
  // one run for many changes at once
  table.onChange(() => {
    if (!isDue) setImmediate(() => void look());
    isDue = true;
  });
  await look();
  const ordered = domain === undefined ? undefined : await openCertificates(deps, { domain, table, stored });
  const whole =
    domain === undefined
      ? undefined
      : await openDomainServer({
          log,
          metrics,
          config,
          bounds,
          hosts: ordered?.hosts,
          accept: createAccept({ ...accepting, readForwarded, is_secure: true, findDatabase: findByHost }),
        });
  const door = await openAdminSocket(
    deps.paths,
    createPlainServer(
      createAccept({
        ...accepting,
        readForwarded: readDoorForwarded,
        is_secure: false,
        findDatabase: domain === undefined ? (host) => findByPort(table, host) : findByHost,
      }),
      metrics,
      config.limits.client_ms,
    ),
    log,
  );
  const { acme } = config;
  const challenges =
    ordered === undefined || domain === undefined || whole === undefined || acme?.http_port === undefined
      ? undefined
      : await openChallengeServer({
          host: config.host,
          port: acme.http_port,
          domain,
          https_port: config.port,
          findToken: (token) => ordered.findToken(token),
        });
  // an authority may connect at once
  certificates = ordered;
  certificates?.reload();
  const stop = async () => {
    await Promise.all([certificates?.[Symbol.asyncDispose](), challenges?.[Symbol.asyncDispose]()]);
    await Promise.all([following[Symbol.asyncDispose](), door[Symbol.asyncDispose]()]);
    await Promise.all([whole?.stop(STOP_MS), ports?.stop(STOP_MS)]);
    // running requests may need their files
    await objects?.stop();
    await traffic[Symbol.asyncDispose]();
    await withinTime(Promise.resolve(keyUses[Symbol.asyncDispose]()), LAST_USES_MS);
    openAnswers[Symbol.dispose]();
    keys[Symbol.dispose]();
    links[Symbol.dispose]();
    stored?.[Symbol.dispose]();
  };
  let stopped: Promise<void> | undefined;
  const problems = () =>
    [whole, certificates, objects].flatMap((part): readonly HealthProblem[] => part?.problems() ?? []);
  return { table, port: whole?.port, problems, [Symbol.asyncDispose]: () => (stopped ??= stop()) };
}

/** Undefined if the certificate is read from files. */
async function openCertificates(
  deps: GatewayDeps,
  certificateDeps: Pick<CertificatesDeps, "domain" | "table"> & { readonly stored: KeptState | undefined },
): Promise<Certificates | undefined> {
  const { acme } = deps.config;
  const { domain, stored, table } = certificateDeps;
  if (acme === undefined) return undefined;
  return await startCertificates({
    ...deps,
    ...deps.certificates,
    domain,
    table,
    store: new CertificateStore(deps, acme.directory),
    orders: await openAcmeOrders(acme),
    stored: stored?.certificates ?? {},
    keep: (certificates) => stored?.keepCertificates(certificates),
  });
}

/** The label before the domain, in lower case, without a port. Empty for another host. */
function labelOf(host: string, domain: string): string {
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : "";
}
